#include "tests/fuzz/targets.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace capbench::fuzz {
namespace {

constexpr auto kTargets = std::to_array<Target>({
    {"llama-bench", fuzz_llama_bench},
    {"mapped-csv", fuzz_mapped_csv},
    {"document", fuzz_document},
    {"sqlite", fuzz_sqlite},
    {"bundle", fuzz_bundle},
    {"bundle-record", fuzz_bundle_record},
    {"bundle-json", fuzz_bundle_json},
    {"suite", fuzz_suite},
    {"runtime-jsonl", fuzz_runtime_jsonl},
    {"probe", fuzz_probe},
    {"gguf", fuzz_gguf},
    {"ggml-log", fuzz_ggml_log},
    {"shim-banner", fuzz_shim_banner},
    {"shim-settings", fuzz_shim_settings},
});

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

const Target* find_target(std::string_view name) {
  for (const Target& target : kTargets) {
    if (target.name == name) return &target;
  }
  return nullptr;
}

void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "broken promise: %s\n", promise);
  std::abort();
}

}  // namespace capbench::fuzz
