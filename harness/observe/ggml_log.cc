#include "harness/observe/ggml_log.h"

#include "harness/observe/log_lines.h"

namespace capbench::observe {

std::vector<LoadedBackend> loaded_backends(std::string_view log) {
  constexpr std::string_view kStart = "load_backend: loaded ";
  constexpr std::string_view kMiddle = " backend from ";
  std::vector<LoadedBackend> backends;
  for_each_line(log, [&](std::string_view line) {
    const std::size_t start = line.find(kStart);
    if (start == std::string_view::npos) return;
    line.remove_prefix(start + kStart.size());
    const std::size_t middle = line.find(kMiddle);
    if (middle == std::string_view::npos) return;
    backends.push_back(
        {std::string(line.substr(0, middle)), std::string(trimmed(line.substr(middle + kMiddle.size())))});
  });
  return backends;
}

std::string last_words(std::string_view log) {
  constexpr std::size_t kMaxBytes = 300;
  std::string last;
  for_each_line(log, [&](std::string_view line) {
    std::string clean;
    for (const char c : line) {
      if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) clean += c;
    }
    // A shim's banner is evidence, not a complaint.
    if (clean.find_first_not_of(' ') != std::string::npos && !clean.starts_with("capshim:")) last = std::move(clean);
  });
  if (last.size() > kMaxBytes) last = last.substr(0, kMaxBytes) + "...";
  return last;
}

}  // namespace capbench::observe
