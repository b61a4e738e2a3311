// Which of many things is the one looked for: their places in a list, found by hash. The things stay in the list; a
// slot here is eight bytes, so that a million take one miss of the cache each. Adding is for one thread; afterwards any
// number may look.
#ifndef CAPBENCH_REPORTS_PLACE_INDEX_H_
#define CAPBENCH_REPORTS_PLACE_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace capbench::reports {

class PlaceIndex {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // `is(place)` says whether the thing at a place is the one; kNone if none is.
  template <class Is>
  std::uint32_t find(std::size_t hash, const Is& is) const {
    return slots_.empty() ? kNone : slots_[slot_of(mixed(hash), is)].place;
  }
  // The place of the one that is there, or `place`, which is then its own: and whether it is new.
  template <class Is>
  std::pair<std::uint32_t, bool> add(std::size_t hash, std::uint32_t place, const Is& is) {
    if (4 * (size_ + 1) > 3 * slots_.size()) grow();
    const std::uint64_t mix = mixed(hash);
    Slot& slot = slots_[slot_of(mix, is)];
    if (slot.place != kNone) return {slot.place, false};
    slot = {static_cast<std::uint32_t>(mix), place};
    ++size_;
    return {place, true};
  }

 private:
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t place = kNone;
  };

  // Multiplicative (Knuth): the upper half is where to look, the lower is kept to compare.
  static std::uint64_t mixed(std::size_t hash) {
    const std::uint64_t product = std::uint64_t{hash} * 0x9e3779b97f4a7c15ULL;
    return product ^ (product >> 32U);
  }
  std::size_t home(std::uint32_t hash) const { return (std::uint64_t{hash} * slots_.size()) >> 32U; }
  template <class Is>
  std::size_t slot_of(std::uint64_t mix, const Is& is) const {
    const auto hash = static_cast<std::uint32_t>(mix);
    for (std::size_t i = home(hash);; i = i + 1 == slots_.size() ? 0 : i + 1) {
      const Slot& slot = slots_[i];
      if (slot.place == kNone || (slot.hash == hash && is(slot.place))) return i;
    }
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.place != kNone) slots_[slot_of(slot.hash, [](std::uint32_t) { return false; })] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_PLACE_INDEX_H_
