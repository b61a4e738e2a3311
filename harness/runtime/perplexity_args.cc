#include "harness/runtime/perplexity_args.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace capbench::runtime {
namespace {

enum class Kind {
  kMeasures,    // has a value; changes nothing that is computed
  kFlag,        // has none; changes nothing that is computed
  kSame,        // one value, the same for both programs
  kSlashes,     // a list that llama-bench separates with '/', llama-perplexity with ','
  kSemicolons,  // the same with ';'
  kSwitch,      // 0 or 1 for llama-bench; for llama-perplexity there or not
  kFlash,       // -fa: numbers for older releases of llama-bench, words for llama-perplexity
};

struct Argument {
  std::string_view short_name;  // llama-bench's
  std::string_view long_name;
  std::string_view name;  // llama-perplexity's; empty if it gets none
  Kind kind;
};

// Source: the usage text of llama-bench and common/arg.cpp, llama.cpp v0.5.0 and earlier.
constexpr auto kArguments = std::to_array<Argument>({
    {"-p", "--n-prompt", "", Kind::kMeasures},
    {"-n", "--n-gen", "", Kind::kMeasures},
    {"-pg", "-pg", "", Kind::kMeasures},
    {"-d", "--n-depth", "", Kind::kMeasures},
    {"-b", "--batch-size", "", Kind::kMeasures},
    {"-ub", "--ubatch-size", "", Kind::kMeasures},
    {"-r", "--repetitions", "", Kind::kMeasures},
    {"--prio", "--prio", "", Kind::kMeasures},
    {"--poll", "--poll", "", Kind::kMeasures},
    {"--delay", "--delay", "", Kind::kMeasures},
    {"-o", "--output", "", Kind::kMeasures},
    {"-oe", "--output-err", "", Kind::kMeasures},
    {"-mmp", "--mmap", "", Kind::kMeasures},
    {"-dio", "--direct-io", "", Kind::kMeasures},
    {"-lm", "--load-mode", "", Kind::kMeasures},
    {"-lzm", "--lazy-mode", "", Kind::kMeasures},
    {"-v", "--verbose", "", Kind::kFlag},
    {"--progress", "--progress", "", Kind::kFlag},
    {"--no-warmup", "--no-warmup", "", Kind::kFlag},
    {"-t", "--threads", "-t", Kind::kSame},
    {"-ngl", "--n-gpu-layers", "-ngl", Kind::kSame},
    {"-ctk", "--cache-type-k", "-ctk", Kind::kSame},
    {"-ctv", "--cache-type-v", "-ctv", Kind::kSame},
    {"-sm", "--split-mode", "-sm", Kind::kSame},
    {"-mg", "--main-gpu", "-mg", Kind::kSame},
    {"-ncmoe", "--n-cpu-moe", "-ncmoe", Kind::kSame},
    {"-C", "--cpu-mask", "-C", Kind::kSame},
    {"--cpu-strict", "--cpu-strict", "--cpu-strict", Kind::kSame},
    {"--numa", "--numa", "--numa", Kind::kSame},
    {"-dev", "--device", "-dev", Kind::kSlashes},
    {"-ts", "--tensor-split", "-ts", Kind::kSlashes},
    {"-ot", "--override-tensor", "-ot", Kind::kSemicolons},
    {"-nkvo", "--no-kv-offload", "-nkvo", Kind::kSwitch},
    {"-nopo", "--no-op-offload", "--no-op-offload", Kind::kSwitch},
    {"--no-host", "--no-host", "--no-host", Kind::kSwitch},
    {"-fa", "--flash-attn", "-fa", Kind::kFlash},
});

Error refused(const std::string& argument, std::string cause) {
  return {ErrorKind::kUsage, fmt::format("argument '{}'", argument), std::move(cause),
          "leave the argument out, or the quality check"};
}

// Appends what llama-perplexity gets; the cause if there is nothing it could get.
std::string translate(const Argument& argument, const std::string& value, std::vector<std::string>& out) {
  const bool lists = argument.kind == Kind::kSemicolons;
  if (argument.kind != Kind::kMeasures && !lists && value.find(',') != std::string::npos) {
    return "several values in one arm, and a quality check can be of one only";
  }
  const auto add = [&](std::string text) {
    out.emplace_back(argument.name);
    out.push_back(std::move(text));
  };
  std::string text = value;
  switch (argument.kind) {
    case Kind::kMeasures:
    case Kind::kFlag:
      break;
    case Kind::kSame:
      add(text);
      break;
    case Kind::kSlashes:
      std::replace(text.begin(), text.end(), '/', ',');
      add(text);
      break;
    case Kind::kSemicolons:
      std::replace(text.begin(), text.end(), ';', ',');
      add(text);
      break;
    case Kind::kSwitch:
      if (value == "1") {
        out.emplace_back(argument.name);
      } else if (value != "0") {
        return fmt::format("'{}' is neither 0 nor 1", value);
      }
      break;
    case Kind::kFlash:
      add(value == "1" ? "on" : value == "0" ? "off" : text);
      break;
  }
  return "";
}

}  // namespace

Result<std::vector<std::string>> perplexity_args(std::span<const std::string> llama_bench_args) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < llama_bench_args.size(); ++i) {
    const std::string& given = llama_bench_args[i];
    const auto* const known = std::find_if(kArguments.begin(), kArguments.end(), [&](const Argument& a) {
      return a.short_name == given || a.long_name == given;
    });
    if (known == kArguments.end()) return refused(given, "llama-perplexity has no such argument");
    std::string value;
    if (known->kind != Kind::kFlag) {
      if (++i == llama_bench_args.size()) return refused(given, "its value is missing");
      value = llama_bench_args[i];
    }
    if (std::string cause = translate(*known, value, out); !cause.empty()) return refused(given, std::move(cause));
  }
  return out;
}

}  // namespace capbench::runtime
