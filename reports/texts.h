// Each text once, by number: a million results say the same few thousand words. Adding is for one thread; afterwards
// any number may read.
#ifndef CAPBENCH_REPORTS_TEXTS_H_
#define CAPBENCH_REPORTS_TEXTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "reports/place_index.h"

namespace capbench::reports {

class Texts {
 public:
  using Id = std::uint32_t;

  // 0 is the empty text.
  Texts() { add(""); }
  Texts(Texts&&) noexcept = default;
  Texts& operator=(Texts&&) noexcept = default;

  Id add(std::string_view text) {
    const auto is = [&](Id id) { return all_[id] == text; };
    const auto [id, is_new] = index_.add(std::hash<std::string_view>{}(text), static_cast<Id>(all_.size()), is);
    if (is_new) all_.emplace_back(text);
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
  PlaceIndex index_;
};

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_TEXTS_H_
