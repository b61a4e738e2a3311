#include "harness/observe/ggml_log_llama.h"

#include <algorithm>
#include <set>

#include "harness/observe/log_lines.h"

namespace capbench::observe {
namespace {

bool is_kernel_name(std::string_view name) {
  constexpr std::size_t kMaxBytes = 200;
  return !name.empty() && name.size() <= kMaxBytes && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

}  // namespace

std::optional<std::string> resolved_flash_attention(std::string_view log) {
  bool on = false;
  bool off = false;
  bool asked_on = false;
  bool asked_off = false;
  for_each_line(log, [&](std::string_view line) {
    // "resolve_fused_ops: Flash Attention enabled"; before it was one of several such operations the function had
    // another name.
    if (const auto said = after(line, ": Flash Attention ")) {
      on |= said->starts_with("enabled");
      off |= said->starts_with("not supported, set to disabled");
    } else if (const auto setting = after(line, ": flash_attn ")) {
      const auto value = after(*setting, "= ");
      if (!value) return;
      asked_on |= *value == "enabled" || *value == "1";
      asked_off |= *value == "disabled" || *value == "0";
    }
  });
  if (!on && !off) {
    on = asked_on;
    off = asked_off;
  }
  if (on && off) return "mixed";
  if (on) return "on";
  if (off) return "off";
  return std::nullopt;
}

std::vector<std::string> metal_kernels(std::string_view log) {
  std::set<std::string, std::less<>> kernels;
  for_each_line(log, [&](std::string_view line) {
    const auto pipeline = after(line, "compiling pipeline: ");
    if (!pipeline || kernels.size() == kMaxKernels) return;
    const auto base = after(*pipeline, "base = '");
    if (!base || base->find('\'') == std::string_view::npos) return;
    const std::string_view name = base->substr(0, base->find('\''));
    if (is_kernel_name(name)) kernels.emplace(name);
  });
  return {kernels.begin(), kernels.end()};
}

}  // namespace capbench::observe
