// Where a series changes: the margin, changes of level, and steps between neighbours. Internal to histories; pure.
#ifndef CAPBENCH_REPORTS_HISTORY_CHANGES_H_
#define CAPBENCH_REPORTS_HISTORY_CHANGES_H_

#include "reports/history.h"

namespace capbench::reports {

// Sets margin, changes and decisions of a series whose points are there.
void find_changes(Series& series, const Decisions& decisions);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_HISTORY_CHANGES_H_
