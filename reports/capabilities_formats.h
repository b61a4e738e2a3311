// The capabilities report in its formats.
#ifndef CAPBENCH_REPORTS_CAPABILITIES_FORMATS_H_
#define CAPBENCH_REPORTS_CAPABILITIES_FORMATS_H_

#include <string>

#include "reports/capabilities.h"
#include "reports/document.h"

namespace capbench::reports {

Document capabilities_document(const CapabilityReport& report);

// In the shape of reports/json/capabilities.schema.json.
std::string capabilities_json(const CapabilityReport& report);

// A header, then one line for each capability of each arm.
std::string capabilities_csv(const CapabilityReport& report);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_CAPABILITIES_FORMATS_H_
