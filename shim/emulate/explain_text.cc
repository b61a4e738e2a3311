#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "shim/emulate/explain.h"
#include "shim/emulate/text_layout.h"

namespace capbench::emulate {
namespace {

constexpr std::size_t kDigestShown = 16;

std::string heading(std::string_view text) {
  return fmt::format("\n{}\n", text);
}

// Lines about single kernels say nothing of capabilities, and there are hundreds.
bool about_kernels(std::string_view line) {
  return line.find(": loaded kernel_") != std::string_view::npos ||
         line.find("_compile_all: compiled '") != std::string_view::npos ||
         line.find(": loaded dummy_kernel") != std::string_view::npos;
}

std::string log_text(const Explanation& explanation) {
  std::string out = heading("What ggml prints");
  std::size_t left_out = 0;
  for (const std::string& line : explanation.log) {
    if (line.starts_with("capshim: ")) {
      continue;
    } else if (about_kernels(line)) {
      ++left_out;
    } else {
      out += wrapped("  ", line);
    }
  }
  if (left_out > 0) out += fmt::format("  ({} lines about single kernels left out)\n", left_out);
  return out;
}

std::string questions_text(const Explanation& explanation) {
  std::string out = heading("What it asks the device");
  std::map<std::string, std::string> families;  // answer to numbers, in the order asked
  for (const Question& question : explanation.questions) {
    if (question.selector != "supportsFamily:") continue;
    std::string answer = question.told == "true" ? "yes" : "no";
    if (question.told != question.device)
      answer += ", the device itself: " + std::string(question.device == "true" ? "yes" : "no");
    std::string& numbers = families[answer];
    if (numbers.find(question.argument) == std::string::npos)
      numbers += (numbers.empty() ? "" : " ") + question.argument;
  }
  for (auto entry = families.rbegin(); entry != families.rend(); ++entry) {
    out += wrapped("  supportsFamily:                 ", fmt::format("{}: {}", entry->first, entry->second));
  }
  for (const Question& question : explanation.questions) {
    if (question.selector == "supportsFamily:") continue;
    std::string answer = with_unit(question.told);
    if (question.told != question.device) answer += fmt::format(", the device itself: {}", with_unit(question.device));
    const std::string selector =
        question.selector + std::string(question.selector.size() < 31 ? 31 - question.selector.size() : 1, ' ');
    out += wrapped("  " + selector + " ", answer);
  }
  return out;
}

std::string properties_text(const Explanation& explanation) {
  std::string out = heading("What it derives");
  for (const auto& [name, value] : explanation.properties) out += fmt::format("  {:<31} {}\n", name, with_unit(value));
  return out;
}

std::string operators_text(const Explanation& explanation) {
  std::string out = heading(fmt::format("Where the operators of {} run", explanation.model));
  out += fmt::format("  {:<16} {:<15} {:<16}", "", "", "");
  for (const Situation& situation : explanation.situations)
    out += fmt::format(" {:>6}", situation.flash_attention ? "fa on" : "fa off");
  out += fmt::format("\n  {:<16} {:<15} {:<16}", "ROLE", "OPERATOR", "TYPES");
  for (const Situation& situation : explanation.situations) out += fmt::format(" {:>6}", situation.name);
  out += "\n";
  std::vector<std::size_t> gpu(explanation.situations.size());
  std::vector<std::size_t> all(explanation.situations.size());
  for (const OperatorAnswer& answer : explanation.operators) {
    out += fmt::format("  {:<16.16} {:<15.15} {:<16.16}", answer.role, answer.op, answer.types);
    for (std::size_t i = 0; i < answer.on_gpu.size(); ++i) {
      out += fmt::format(" {:>6}", !answer.on_gpu[i] ? "-" : *answer.on_gpu[i] ? "GPU" : "CPU");
      if (!answer.on_gpu[i]) continue;
      ++all[i];
      if (*answer.on_gpu[i]) ++gpu[i];
    }
    out += "\n";
  }
  out += fmt::format("  {:<49}", "on the GPU");
  for (std::size_t i = 0; i < gpu.size(); ++i) out += fmt::format(" {:>6}", fmt::format("{}/{}", gpu[i], all[i]));
  out += "\n";
  std::set<std::string> on_cpu;
  for (const OperatorAnswer& answer : explanation.operators) {
    if (std::find(answer.on_gpu.begin(), answer.on_gpu.end(), std::optional<bool>(false)) != answer.on_gpu.end()) {
      on_cpu.insert(answer.op);
    }
  }
  std::string names;
  for (const std::string& name : on_cpu) names += (names.empty() ? "" : ", ") + name;
  out += wrapped("\n", names.empty() ? "The GPU takes every operator." : "Falls back to the CPU: " + names + ".");
  if (!explanation.not_covered.empty()) {
    std::string weights;
    for (const std::string& name : explanation.not_covered) weights += (weights.empty() ? "" : ", ") + name;
    out += wrapped("Not built: ", "what the model does with " + weights + ".");
  }
  return out;
}

}  // namespace

std::string explain_text(const Explanation& explanation) {
  const LibraryIdentity& library = explanation.library;
  std::string release = library.release.empty() ? std::string() : "llama.cpp " + library.release;
  if (!library.ggml.empty()) release += (release.empty() ? "" : ", ") + library.ggml;
  std::string out =
      wrapped("library  ", fmt::format("{}, SHA-256 {}...", library.name, library.sha256.substr(0, kDigestShown)));
  if (!release.empty()) out += wrapped("release  ", release);
  out += wrapped("guest    ", fmt::format("{}: {} ({})", explanation.guest.name, explanation.guest.device,
                                          explanation.guest.source));
  if (!library.shim.empty()) {
    out += wrapped("shim     ",
                   fmt::format("{}, SHA-256 {}...", library.shim, library.shim_sha256.substr(0, kDigestShown)));
  }
  if (!explanation.set.empty()) out += wrapped("set      ", explanation.set);
  for (const std::string& line : explanation.log) {
    if (line.starts_with("capshim: ") && line.find("\"error\"") != std::string::npos) out += wrapped("         ", line);
  }
  return out + log_text(explanation) + questions_text(explanation) + properties_text(explanation) +
         operators_text(explanation);
}

}  // namespace capbench::emulate
