// What is fuzzed: every parser of bytes that capbench did not write itself.
#ifndef CAPBENCH_TESTS_FUZZ_TARGETS_H_
#define CAPBENCH_TESTS_FUZZ_TARGETS_H_

#include <span>
#include <string_view>

namespace capbench::fuzz {

struct Target {
  std::string_view name;  // also its folder of the corpus
  void (*run)(std::string_view bytes);
};

std::span<const Target> targets();
const Target* find_target(std::string_view name);

// Ends the program, loudly: what a parser promises did not hold.
void require(bool holds, const char* promise);

// Importers.
void fuzz_llama_bench(std::string_view bytes);
void fuzz_mapped_csv(std::string_view bytes);
void fuzz_document(std::string_view bytes);
void fuzz_sqlite(std::string_view bytes);

// Bundles.
void fuzz_bundle(std::string_view bytes);
void fuzz_bundle_record(std::string_view bytes);
void fuzz_bundle_json(std::string_view bytes);

// Everything else.
void fuzz_suite(std::string_view bytes);
void fuzz_runtime_jsonl(std::string_view bytes);
void fuzz_probe(std::string_view bytes);
void fuzz_gguf(std::string_view bytes);
void fuzz_ggml_log(std::string_view bytes);
void fuzz_shim_banner(std::string_view bytes);
void fuzz_shim_settings(std::string_view bytes);

}  // namespace capbench::fuzz

#endif  // CAPBENCH_TESTS_FUZZ_TARGETS_H_
