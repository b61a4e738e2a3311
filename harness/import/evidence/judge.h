// What one process launch was: its mode, what proves it, and why it may not count. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_EVIDENCE_JUDGE_H_
#define CAPBENCH_HARNESS_IMPORT_EVIDENCE_JUDGE_H_

#include <string>
#include <string_view>
#include <vector>

#include "harness/import/evidence/document.h"
#include "harness/import/evidence/launches.h"
#include "harness/suite/structs.h"

namespace capbench::imports::evidence {

// Of a shim's profile that its publisher gave up: it put one ceiling over all kinds of families (`familyMax`).
inline constexpr std::string_view kSuperseded = "superseded";
// Where neither a log nor a name says the mode.
inline constexpr std::string_view kUnknownMode = "unknown";
// Where a name says unlocked, and nothing says what the shim was told.
inline constexpr std::string_view kUnstated = "unlocked (unstated)";

// Fills mode, guest, set, arm_suffix, and what excludes or fails the launch on its own account. Remarks go to `notes`.
void judge_mode(Launch& launch, const std::vector<Document>& documents, std::vector<std::string>& notes);

// Gives launches that are unlocked by their name alone the folder's only treatment: that of its logs, else the one that
// its texts set. If there is none, or are several, they get a mode of their own: nothing can be claimed of them.
void guess_treatments(std::vector<Launch>& launches, const std::vector<Document>& documents,
                      std::vector<std::string>& notes);

// Names the arms: by mode, with the treatment behind it where a mode was treated in several ways.
void name_arms(std::vector<Launch>& launches);

// The launch's arm as a suite has it.
suite::Arm arm_of(const Launch& launch);

// Fills treatment, doubt, capabilities, and the status of a launch whose log contradicts its arm.
void judge_treatment(Launch& launch, const std::vector<Document>& documents);

// Of launches of one arm, model and workload, those marked final exclude the others.
void exclude_superseded(std::vector<Launch>& launches, const std::vector<Document>& documents);

// "Apple M1 Ultra" of "Accelerate, Apple M1 Ultra (Virtual)".
std::string chip_of(const std::string& cpu_info);

}  // namespace capbench::imports::evidence

#endif  // CAPBENCH_HARNESS_IMPORT_EVIDENCE_JUDGE_H_
