// Lists of digests as sha256sum and shasum write them, and what a folder holds beside them. Pure; takes any bytes.
#ifndef CAPBENCH_HARNESS_IMPORT_EVIDENCE_SUMS_H_
#define CAPBENCH_HARNESS_IMPORT_EVIDENCE_SUMS_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::imports::evidence {

struct SumLine {
  std::size_t line = 0;  // from 1
  std::string sha256;    // lowercase
  std::string name;      // as written
};

// Nothing if any line is something else: "DIGEST  NAME", "DIGEST *NAME", "SHA256 (NAME) = DIGEST". Line ends of either
// kind, blank lines and a byte-order mark are passed over.
std::optional<std::vector<SumLine>> parse_sums(std::string_view text);

struct SummedFile {
  std::string name;  // path within the folder
  std::string sha256;
  std::string sha256_with_lf;  // of its bytes with CRLF made LF
};

struct SumsCheck {
  std::vector<std::string> notes;
  std::vector<std::string> findings;
  std::vector<std::string> altered;  // names of files whose digest differs
};

// `list` is the path of the list; its names are relative to where it lies.
SumsCheck check_sums(const std::string& list, const std::vector<SumLine>& lines, const std::vector<SummedFile>& files);

}  // namespace capbench::imports::evidence

#endif  // CAPBENCH_HARNESS_IMPORT_EVIDENCE_SUMS_H_
