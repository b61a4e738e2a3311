// catalog.json, as it was when the program was built.
#ifndef CAPBENCH_MODELS_EMBEDDED_CATALOG_H_
#define CAPBENCH_MODELS_EMBEDDED_CATALOG_H_

#include <string_view>

namespace capbench::models {

std::string_view embedded_catalog();

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_EMBEDDED_CATALOG_H_
