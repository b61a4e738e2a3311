// The fixed texts that a quality check runs over. They ship with the program and are named by their SHA-256.
#ifndef CAPBENCH_HARNESS_QUALITY_TEXT_H_
#define CAPBENCH_HARNESS_QUALITY_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::quality {

struct Text {
  std::string name;  // "sequence", "english", or the file's
  std::string bytes;
  std::string sha256;
};

// For planted twins: runs of ascending characters (models::sequence_text), as long as `tokens` needs. A planted twin's
// vocabulary has a token per byte.
Text sequence_text(std::int64_t tokens);

// For real models: plain English prose, written for this. An error if it cannot fill `tokens`, counted carefully.
Result<Text> english_text(std::int64_t tokens);
inline constexpr std::int64_t kBytesPerToken = 6;  // English has fewer with every tokenizer of a language model

// A user's own text.
Text own_text(std::string name, std::string bytes);

}  // namespace capbench::quality

#endif  // CAPBENCH_HARNESS_QUALITY_TEXT_H_
