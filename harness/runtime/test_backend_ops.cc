#include "harness/runtime/test_backend_ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "harness/observe/log_lines.h"

namespace capbench::runtime {
namespace {

using observe::leading_number;

bool multiplies(const std::string& name) {
  return name == "MUL_MAT" || name == "MUL_MAT_ID";
}

// A regular expression over a case's parameters; empty: all cases.
std::string filter_of(const std::string& name, const OperatorNeeds& needs) {
  if (multiplies(name) && !needs.weight_types.empty()) {
    return fmt::format("type_a=({}),type_b=f32", fmt::join(needs.weight_types, "|"));
  }
  if (name == "GET_ROWS" && !needs.weight_types.empty()) {
    return fmt::format("type=({}),n=", fmt::join(needs.weight_types, "|"));
  }
  // Of the hundreds of ways to rotate, the plain two: neighbours or halves, whole heads.
  if (name == "ROPE") return "type=f32,ne_a=.*mode=[02],.*ff=0";
  if (name == "FLASH_ATTN_EXT" && needs.head_size != 0) {
    // Without sinks, sparse masks or soft caps, over the F16 cache that llama-bench has by default.
    return fmt::format("hsk={0},hsv={0},.*sinks=0,max_bias=0\\.0+,logit_softcap=0\\.0+,.*type_K=f16,.*n_kv_max=0",
                       needs.head_size);
  }
  return "";
}

// The text without terminal colours and other control characters.
std::string plain(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1B' && i + 1 < line.size() && line[i + 1] == '[') {
      i = std::min(line.find('m', i), line.size() - 1);
      continue;
    }
    const auto byte = static_cast<unsigned char>(line[i]);
    if (byte >= 0x20 && byte != 0x7F) text += line[i];
  }
  return text;
}

struct Share {
  std::uint64_t passed = 0;
  std::uint64_t total = 0;
};

// "61/61 tests passed".
std::optional<Share> share_of(std::string_view line) {
  constexpr std::string_view kEnd = " tests passed";
  if (!line.ends_with(kEnd)) return std::nullopt;
  line.remove_suffix(kEnd.size());
  const std::size_t slash = line.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const auto passed = leading_number<std::uint64_t>(line.substr(0, slash));
  const auto total = leading_number<std::uint64_t>(line.substr(slash + 1));
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (!passed || !total || *passed > *total || *total > kMost) return std::nullopt;
  return Share{*passed, *total};
}

class Reader {
 public:
  explicit Reader(std::string_view device) : device_(device) {}

  void line(std::string_view raw) {
    const std::string text = plain(raw);
    const std::string_view words = observe::trimmed(text);
    if (words.starts_with("Backend ")) return backend(words);
    if (!ours_) return;
    if (words == "Skipping" || words.starts_with("Skipping ")) {
      figures_.device_found = false;
      ours_ = false;
    } else if (const auto share = share_of(words)) {
      figures_.passed += share->passed;
      figures_.total += share->total;
      figures_.whole = true;
    } else if (words == "Failing tests:") {
      in_failing_ = true;
    } else if (in_failing_) {
      failing(words);
    } else if (words.find("): not supported [") != std::string_view::npos) {
      ++figures_.not_supported;
    }
  }

  OperatorFigures take() { return std::move(figures_); }

 private:
  // "Backend 1/2: Vulkan0" starts a device, "Backend Vulkan0: OK" ends it.
  void backend(std::string_view words) {
    const auto index = observe::after(words, "/");
    const std::size_t colon = words.find(": ");
    in_failing_ = false;
    if (!index || !leading_number<std::uint64_t>(*index) || colon == std::string_view::npos) {
      ours_ = false;
      return;
    }
    ours_ = words.substr(colon + 2) == device_;
    figures_.device_found = figures_.device_found || ours_;
  }

  void failing(std::string_view words) {
    if (words.find('(') == std::string_view::npos) {
      in_failing_ = false;
    } else if (figures_.failing.size() < kMaxFailing) {
      figures_.failing.emplace_back(words.substr(0, 300));
    }
  }

  std::string_view device_;
  OperatorFigures figures_;
  bool ours_ = false;
  bool in_failing_ = false;
};

}  // namespace

std::vector<std::string> model_operators(bool experts) {
  std::vector<std::string> names{"RMS_NORM", "MUL",      "ADD",      "ROPE",    "SWIGLU",
                                 "SOFT_MAX", "GET_ROWS", "SET_ROWS", "MUL_MAT", "FLASH_ATTN_EXT"};
  if (experts) names.emplace_back("MUL_MAT_ID");
  return names;
}

std::vector<std::vector<std::string>> test_backend_ops_argvs(const std::string& executable, const std::string& device,
                                                             const std::vector<std::string>& operators,
                                                             const OperatorNeeds& needs) {
  std::vector<std::vector<std::string>> commands;
  std::string unfiltered;
  for (const std::string& name : operators) {
    if (filter_of(name, needs).empty()) unfiltered += (unfiltered.empty() ? "" : ",") + name;
  }
  if (!unfiltered.empty()) commands.push_back({executable, "test", "-b", device, "-o", unfiltered});
  for (const std::string& name : operators) {
    std::string filter = filter_of(name, needs);
    if (filter.empty()) continue;
    commands.push_back({executable, "test", "-b", device, "-o", name, "-p", std::move(filter)});
  }
  return commands;
}

OperatorFigures parse_test_backend_ops(std::string_view out, std::string_view device) {
  Reader reader(device);
  observe::for_each_line(out, [&](std::string_view line) { reader.line(line); });
  return reader.take();
}

}  // namespace capbench::runtime
