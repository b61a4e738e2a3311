#include "harness/observe/ggml_log.h"

namespace capbench::observe {
namespace {

template <class F>
void for_each_line(std::string_view text, F f) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    f(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

}  // namespace

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
    std::string_view path = line.substr(middle + kMiddle.size());
    while (!path.empty() && (path.back() == '\r' || path.back() == ' ')) path.remove_suffix(1);
    backends.push_back({std::string(line.substr(0, middle)), std::string(path)});
  });
  return backends;
}

std::string cpu_variant(std::string_view library_path) {
  constexpr std::string_view kMark = "ggml-cpu-";
  std::string_view name = library_path.substr(library_path.find_last_of('/') + 1);
  const std::size_t at = name.find(kMark);
  if (at == std::string_view::npos) return "";
  name.remove_prefix(at + kMark.size());
  return std::string(name.substr(0, name.find('.')));
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
