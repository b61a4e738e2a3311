// What a manifest must say, whoever wrote it. For this room only.
#ifndef CAPBENCH_SCHEMA_BUNDLE_MANIFEST_H_
#define CAPBENCH_SCHEMA_BUNDLE_MANIFEST_H_

#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/bundle/archive.h"
#include "schema/bundle/bundle.h"
#include "schema/bundle/fields.h"

namespace capbench::bundle {

// Its list of replacements: sorted, each of a member that it lists, once for each kind, with a count.
Status check_manifest(const Manifest& manifest);

// The manifest among `members`, which are sorted: its form, and that it lists all the others as they are, and no more.
Result<Manifest> read_manifest(const std::vector<Member>& members, const Limits& limits);

}  // namespace capbench::bundle

#endif  // CAPBENCH_SCHEMA_BUNDLE_MANIFEST_H_
