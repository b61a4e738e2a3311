// Whether a bundle is whole, whoever made it. For this room only.
#ifndef CAPBENCH_SCHEMA_BUNDLE_CHECK_H_
#define CAPBENCH_SCHEMA_BUNDLE_CHECK_H_

#include <cstddef>

#include "base/result.h"
#include "schema/bundle/bundle.h"

namespace capbench::bundle {

// Ids that are those of the content, words from the closed sets of schema/schema.md, JSON texts of at most
// `json_depth`, references that resolve, nothing that nobody refers to, at least one trial. The digests of raw bytes
// are taken for granted. The error names the member.
Status check(const Bundle& bundle, std::size_t json_depth);

}  // namespace capbench::bundle

#endif  // CAPBENCH_SCHEMA_BUNDLE_CHECK_H_
