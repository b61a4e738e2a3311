#include "harness/quality/text.h"

#include <fmt/format.h>

#include <utility>

#include "base/digest.h"
#include "harness/quality/english.h"
#include "models/synth.h"

namespace capbench::quality {

Text own_text(std::string name, std::string bytes) {
  std::string digest = sha256(bytes);
  return {std::move(name), std::move(bytes), std::move(digest)};
}

Text sequence_text(std::int64_t tokens) {
  // Something to spare, whatever the tokenizer adds or takes at the ends.
  constexpr std::int64_t kSpare = 64;
  return own_text("sequence", models::sequence_text(static_cast<std::size_t>(tokens + kSpare)));
}

Result<Text> english_text(std::int64_t tokens) {
  const auto bytes = static_cast<std::int64_t>(english().size());
  if (tokens > bytes / kBytesPerToken) {
    return Error{ErrorKind::kUsage, "quality",
                 fmt::format("the built-in text has only {} tokens or so, not {}", bytes / kBytesPerToken, tokens),
                 "fewer chunks, a smaller ctx, or a text of your own"};
  }
  return own_text("english", std::string(english()));
}

}  // namespace capbench::quality
