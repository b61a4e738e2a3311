// A folder of published evidence becomes suites with real arms: what was measured, in which mode, and what proves it.
// Pure: files come through reader functions, records go out. Safe to call from several threads.
//
// Content decides, not layout: which files are results, which log belongs to which result, which list digests, which
// are tables of somebody's own figures. Where content says nothing (MLX-LM prints no device), the file's name does, and
// the treatment stays unproven.
#ifndef CAPBENCH_HARNESS_IMPORT_EVIDENCE_EVIDENCE_H_
#define CAPBENCH_HARNESS_IMPORT_EVIDENCE_EVIDENCE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "schema/records.h"

namespace capbench::imports {

// One file of the folder.
struct EvidenceFile {
  std::string name;  // path within the folder, parts between '/'
  std::function<Result<std::string>()> read;
  std::uint64_t size = 0;  // bytes
};

// Larger files are not read; a note names them.
inline constexpr std::uint64_t kMaxEvidenceFile = 64U << 20U;
inline constexpr std::size_t kMaxEvidenceFiles = 10000;

struct EvidenceOptions {
  std::string machine;          // the physical host; empty: the chip names it
  std::string harness_version;  // of the program that imports
  bool keep_raw = false;        // also the files' bytes, unredacted
};

// What became of one file.
struct FileFate {
  std::string name;
  std::string fate;  // "results of stock: ok, proven"
};

// Runs, trials and their parts are named by content: the same folder gives the same ones again, wherever its files lie.
struct EvidenceImport {
  std::vector<schema::SuiteRecord> suites;  // one; two where the folder holds results of two runtimes
  std::vector<schema::EnvironmentRecord> environments;
  std::vector<schema::RunRecord> runs;
  std::vector<schema::TrialRecord> trials;
  std::vector<schema::SourceRecord> sources;  // every file that was read, once per content
  std::vector<schema::QuarantineRecord> quarantine;
  std::map<std::string, std::string> raw;  // bytes by digest, if they are kept
  std::vector<FileFate> files;             // by name
  std::vector<std::string> findings;       // something contradicts something; sentences without their full stops
  std::vector<std::string> notes;          // what a reader of the results should know
};

// By names alone: a list of digests, a result with its log, or results whose names say two modes.
bool looks_like_evidence(const std::vector<std::string>& names);

// `folder` names the suite. Quality of every trial is "unchecked". Personal details (home folders and the like) are
// replaced in all that goes out, `raw` excepted. Errors: a reader's; no results at all; too many files.
Result<EvidenceImport> import_evidence(const std::string& folder, const std::vector<EvidenceFile>& files,
                                       const EvidenceOptions& options = {});

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_EVIDENCE_EVIDENCE_H_
