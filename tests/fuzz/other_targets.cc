#include "harness/observe/ggml_log.h"
#include "harness/observe/observation.h"
#include "harness/runtime/llama_bench.h"
#include "harness/suite/suite.h"
#include "models/gguf.h"
#include "shim/common/evidence.h"
#include "shim/common/settings.h"
#include "tests/fuzz/targets.h"

namespace capbench::fuzz {

void fuzz_suite(std::string_view bytes) {
  const auto suite = suite::parse_suite(bytes);
  if (!suite) {
    require(!suite.error().cause.empty(), "an error has a cause");
    return;
  }
  const std::string canonical = suite::canonical_json(*suite);
  const auto again = suite::parse_suite(canonical);
  require(again.ok() && suite::canonical_json(*again) == canonical, "a suite survives its canonical form");
}

void fuzz_runtime_jsonl(std::string_view bytes) {
  for (const schema::ResultRecord& result : runtime::parse_jsonl(bytes).results) {
    require(!result.test.empty() && !result.samples_ns.empty() && result.median_ts > 0, "a result has samples");
  }
}

void fuzz_probe(std::string_view bytes) {
  const auto devices = observe::parse_probe(bytes);
  if (!devices) require(!devices.error().cause.empty(), "an error has a cause");
}

void fuzz_gguf(std::string_view bytes) {
  const auto file = models::parse_gguf(bytes, "fuzz.gguf");
  if (!file) require(!file.error().cause.empty(), "an error has a cause");
}

void fuzz_ggml_log(std::string_view bytes) {
  static_cast<void>(observe::observe_ggml_log(bytes, ""));
  static_cast<void>(observe::observe_ggml_log(bytes, "CUDA0"));
  static_cast<void>(observe::observe_published_banners(bytes));
  static_cast<void>(observe::loaded_backends(bytes));
  static_cast<void>(observe::last_words(bytes));
  static_cast<void>(shim::scan_banners(bytes));
}

void fuzz_shim_banner(std::string_view bytes) {
  const auto banner = shim::parse_banner(bytes);
  if (!banner) require(!banner.error().cause.empty(), "an error has a cause");
}

void fuzz_shim_settings(std::string_view bytes) {
  static_cast<void>(shim::parse_settings("CAPSHIM_SET", bytes));
}

}  // namespace capbench::fuzz
