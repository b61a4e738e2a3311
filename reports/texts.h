// Each text once, by number: a million results say the same few thousand words. Adding is for one thread; afterwards
// any number may read.
#ifndef CAPBENCH_REPORTS_TEXTS_H_
#define CAPBENCH_REPORTS_TEXTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace capbench::reports {

class Texts {
 public:
  using Id = std::uint32_t;

  // 0 is the empty text.
  Texts() { add(""); }
  Texts(Texts&&) noexcept = default;
  Texts& operator=(Texts&&) noexcept = default;

  Id add(std::string_view text) {
    if (const auto found = index_.find(text); found != index_.end()) return found->second;
    const auto id = static_cast<Id>(all_.size());
    all_.emplace_back(text);
    index_.emplace(all_.back(), id);
    return id;
  }
  // `last` is what this column's row before had: most often it is the same.
  Id add(std::string_view text, Id& last) {
    if (all_[last] != text) last = add(text);
    return last;
  }
  const std::string& operator[](Id id) const { return all_[id]; }
  std::size_t size() const { return all_.size(); }

 private:
  std::deque<std::string> all_;  // elements stay where they are
  std::unordered_map<std::string_view, Id> index_;
};

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_TEXTS_H_
