// The ablation report as headings, tables and sentences.
#ifndef CAPBENCH_REPORTS_ABLATION_DOCUMENT_H_
#define CAPBENCH_REPORTS_ABLATION_DOCUMENT_H_

#include "reports/ablation.h"
#include "reports/document.h"

namespace capbench::reports {

// A section for all tests of the same trials: the sentences, a table of arms and one of factors for each test, what the
// device reported, notes.
Document ablation_document(const AblationReport& report);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_ABLATION_DOCUMENT_H_
