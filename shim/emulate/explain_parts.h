// Parts of the JSON that explanations and maps share.
#ifndef CAPBENCH_SHIM_EMULATE_EXPLAIN_PARTS_H_
#define CAPBENCH_SHIM_EMULATE_EXPLAIN_PARTS_H_

#include <nlohmann/json.hpp>
#include <string>

#include "shim/emulate/explain.h"

namespace capbench::emulate {

using Json = nlohmann::ordered_json;

Json library_json(const LibraryIdentity& library);
Json guest_json(const DeviceProfile& guest);
std::string dump_json(const Json& json);

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_EXPLAIN_PARTS_H_
