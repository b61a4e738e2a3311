// How a file was read where its content alone does not tell: as a sentence that the store keeps with the source, and
// that whoever reads the file again goes by. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_READING_H_
#define CAPBENCH_HARNESS_IMPORT_READING_H_

#include <string>
#include <vector>

#include "harness/import/import_file.h"

namespace capbench::imports {

// "read as mlx-lm"; "read with --columns 'avg_ts=tok/s;test=Test'"; empty: as its content tells. Options that give the
// same rows give the same sentence.
std::string reading_of(const ImportOptions& options);

// The sentence among a source's notes, or empty.
std::string reading_among(const std::vector<std::string>& notes);

// What such a sentence says; nothing if it is none. Empty is how the content tells.
std::optional<ImportOptions> parse_reading(const std::string& sentence);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_READING_H_
