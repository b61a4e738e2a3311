// How near a speed of a bundle comes to what its device can do, by the reports' table of devices. Pure.
#ifndef CAPBENCH_HARNESS_CLI_SPEED_SHARE_H_
#define CAPBENCH_HARNESS_CLI_SPEED_SHARE_H_

#include <functional>
#include <memory>

#include "harness/verify/verify.h"

namespace capbench::cli {

// What of the catalog's models is read for each token, worked out once; for a program that verifies many bundles.
// Thread-safe.
class CatalogReads;
std::shared_ptr<CatalogReads> make_catalog_reads();

// For the results of one bundle; one thread at a time.
std::function<verify::SpeedShare(const verify::SpeedQuestion&)> make_speed_share(std::shared_ptr<CatalogReads> catalog);

}  // namespace capbench::cli

#endif  // CAPBENCH_HARNESS_CLI_SPEED_SHARE_H_
