// `capbench inspect`: a binary's facts, the questions it holds, and whether a shim gets into it.
#ifndef CAPBENCH_SHIM_INSPECT_INSPECT_H_
#define CAPBENCH_SHIM_INSPECT_INSPECT_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shim/inspect/facts.h"
#include "shim/inspect/verdict.h"

namespace capbench::shim::inspect {

struct InspectedImage {
  ImageFacts facts;
  Verdict verdict;
};

struct Inspection {
  std::string file;    // as the caller named it
  std::string sha256;  // of the whole file
  std::uint64_t size = 0;
  Format format = Format::kElf;
  std::vector<InspectedImage> images;  // at least one
  std::size_t runs = 0;                // the image that macOS on Apple silicon would run; 0 for ELF

  const InspectedImage& running() const { return images[runs]; }
};

// Pure. An image of a fat file that cannot be read makes the whole file unreadable.
Result<Inspection> inspect(Bytes bytes, const FileStatus& status, const ShimFacts& shim);

// Reads the file and asks the file system. Errors name the file; they are of kind kUsage for what is no readable
// binary.
Result<Inspection> inspect_file(const std::filesystem::path& path, const ShimFacts& shim);

// Of a shim library: its architectures, and the team that signed it.
Result<ShimFacts> read_shim(const std::filesystem::path& path);

// For people, within 80 columns.
std::string inspection_text(const Inspection& inspection);
// As json/inspect.schema.json says.
std::string inspection_json(const Inspection& inspection);

}  // namespace capbench::shim::inspect

#endif  // CAPBENCH_SHIM_INSPECT_INSPECT_H_
