// The one shape of an error about a bundle. For this room only.
#ifndef CAPBENCH_SCHEMA_BUNDLE_REFUSE_H_
#define CAPBENCH_SCHEMA_BUNDLE_REFUSE_H_

#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace capbench::bundle {

inline constexpr std::string_view kAskAgain = "ask its author for it again: it was damaged or altered on its way";
inline constexpr std::string_view kMakeAgain = "make it again with `capbench submit --out FILE`";

// `what` is a member, or "the bundle". A refused bundle is a finding: the program worked, the file is no good.
inline Error refuse(std::string_view what, std::string cause, std::string_view remedy) {
  return {ErrorKind::kFinding, std::string(what), std::move(cause), std::string(remedy)};
}

}  // namespace capbench::bundle

#endif  // CAPBENCH_SCHEMA_BUNDLE_REFUSE_H_
