// Bundles that differ, made from one real run. For tests and benchmarks.
#ifndef CAPBENCH_REPORTS_SERVER_TESTING_BUNDLES_H_
#define CAPBENCH_REPORTS_SERVER_TESTING_BUNDLES_H_

#include <cstddef>
#include <cstdint>

#include "schema/bundle/bundle.h"

namespace capbench::server::testing {

// Another run with other raw output for every `number`, consistent all the same. Its log goes on with `noise` bytes
// that do not compress well.
bundle::Bundle numbered_bundle(std::uint64_t number, std::size_t noise = 0);

// Throws where it cannot be sealed.
bundle::Sealed sealed(const bundle::Bundle& bundle, std::string_view signature = {});
bundle::Sealed numbered(std::uint64_t number, std::size_t noise = 0);

}  // namespace capbench::server::testing

#endif  // CAPBENCH_REPORTS_SERVER_TESTING_BUNDLES_H_
