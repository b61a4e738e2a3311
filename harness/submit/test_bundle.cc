#include "harness/submit/test_bundle.h"

#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "schema/canonical.h"
#include "schema/identity.h"

namespace capbench::submit::testing {
namespace {

using nlohmann::json;

std::string put(bundle::Bundle& bundle, const std::string& bytes) {
  const std::string name = sha256(bytes);
  bundle.raw[name] = bytes;
  return name;
}

json row(const std::string& planted, std::int64_t ns) {
  return {{"build_commit", "0ad4a86"},
          {"build_number", 4871},
          {"cpu_info", "AMD EPYC " + planted},
          {"gpu_info", planted},
          {"backends", "CPU"},
          {"model_filename", "a " + planted + " b"},
          {"model_type", "llama 1B"},
          {"n_prompt", 512},
          {"n_gen", 0},
          {"driver_version", "31.0.15.52"},
          {"samples_ns", {ns, ns + 1}}};
}

schema::ResultRecord result(const std::string& planted, std::int64_t ns) {
  schema::ResultRecord record;
  record.test = "pp512";
  record.build = "0ad4a86 (4871)";
  record.n_prompt = 512;
  record.model_type = "llama 1B";
  record.backends = "CPU";
  record.cpu_info = "AMD EPYC " + planted;
  record.gpu_info = planted;
  record.samples_ns = {ns, ns + 1};
  record.median_ts = 512e9 / static_cast<double>(ns);
  record.fields = row(planted, ns).dump();
  return record;
}

schema::TrialRecord trial(bundle::Bundle& bundle, const std::string& planted, std::int64_t block) {
  schema::TrialRecord record;
  record.run_id = bundle.runs[0].id;
  record.suite_id = bundle.suites[0].id;
  record.environment_id = bundle.environments[0].id;
  record.closure_id = bundle.closures[0].id;
  record.arm = "stock";
  record.mode = "stock";
  record.target = "local";
  record.guest = "stand-in";
  record.workload = "default";
  record.model = "tiny";
  record.model_kind = "twin";
  record.block = block;
  record.status = "ok";
  record.reason = "see " + planted + ".";
  record.treatment = "proven";
  record.quality = "unchecked";
  record.flags = {"flag " + planted};
  record.started_at = "2026-11-30T04:25:07.123Z";
  record.wall_ns = 1000;
  record.exit_status = 0;
  record.argv = {"llama-bench", "-m", planted + "/tiny.gguf", "-p", "512"};
  record.environment_set = {"GGML_X=" + planted, "HF_TOKEN=hf_abcdef"};
  const json object = {{"text", planted}, {"more", {{"list", {1, "x " + planted}}}}};
  record.image = object.dump();
  record.hygiene = object.dump();
  record.measured = object.dump();
  record.results = {result(planted, 51234567890 + block)};
  record.capabilities = {{"cpu.isa", "haswell", "haswell", "ggml log", true},
                         {"vulkan.conformance_version", "", "1.3.1.1", "probe " + planted, false}};
  record.stdout_sha256 = put(bundle, row(planted, 51234567890 + block).dump() + "\n");
  record.stderr_sha256 =
      put(bundle, "log of " + planted + " " + std::to_string(block) + "\ncapshim: " + object.dump() + "\n\xff");
  record.probe_sha256 = put(bundle, json({{"devices", {{{"name", planted}, {"n", block}}}}}).dump(2));
  return record;
}

}  // namespace

void name_again(bundle::Bundle& bundle) {
  const std::string suite = schema::suite_id(bundle.suites[0]);
  const std::string environment = schema::environment_id(bundle.environments[0]);
  const std::string closure = schema::closure_id(bundle.closures[0]);
  bundle.suites[0].id = suite;
  bundle.environments[0].id = environment;
  bundle.closures[0].id = closure;
  bundle.runs[0].suite_id = suite;
  bundle.runs[0].id = schema::run_id(bundle.runs[0]);
  for (schema::TrialRecord& trial : bundle.trials) {
    trial.run_id = bundle.runs[0].id;
    trial.suite_id = suite;
    trial.environment_id = environment;
    if (!trial.closure_id.empty()) trial.closure_id = closure;
    trial.id = schema::trial_id(trial);
  }
  for (schema::QualityRecord& check : bundle.quality) check.run_id = bundle.runs[0].id;
}

bundle::Bundle bundle_with(const std::string& planted) {
  bundle::Bundle bundle;
  bundle.created_by = "capbench 0.1.0";
  bundle.suites = {{"", "quickstart", R"({"capbench":1,"name":"quickstart"})"}};
  const std::string machine = sha256("machine");
  bundle.environments = {
      {"", machine, "AMD EPYC, 2 cores", false,
       schema::canonical({{"cpu", "AMD EPYC"}, {"machine_id", machine}, {"nvidia_driver", "31.0.15.52"}})}};
  bundle.closures = {{"",
                      {{"executable", {sha256("bench"), 5, "llama-bench"}, planted + "/llama-bench"},
                       {"library", {sha256("ggml"), 4, "libggml.so.0.9.4.1"}, "/opt/" + planted + "/libggml.so"}}}};
  bundle.runs = {{"", "", machine, 7, "2026-11-30T04:25:07.123Z", "0.1.0", "complete", 2}};
  name_again(bundle);
  bundle.trials = {trial(bundle, planted, 0), trial(bundle, planted, 1)};
  schema::SourceRecord source{
      put(bundle, "results of " + planted + "\n"), "llama-bench-json", planted + ".json", 20, {"note of " + planted}};
  schema::TrialRecord imported;
  imported.arm = "imported";
  imported.workload = "default";
  imported.model = "tiny";
  imported.status = "ok";
  imported.reason = planted;
  imported.source_sha256 = source.sha256;
  schema::StatedResultRecord stated;
  stated.test = "tg128";
  stated.n_gen = 128;
  stated.cpu_info = planted;
  stated.gpu_info = planted;
  stated.model_type = "llama 1B";
  stated.mean_ts = 12.5;
  stated.fields = json({{"cpu", planted}}).dump();
  imported.stated = {stated};
  bundle.trials.push_back(imported);
  bundle.quarantine = {{source.sha256, 3, "reason " + planted, "row " + planted}};
  bundle.sources = {source};
  schema::QualityRecord check;
  check.arm = "stock";
  check.model = "tiny";
  check.kind = "output";
  check.status = "passed";
  check.reason = planted;
  check.figures = json({{"mean_kl", 0.25}, {"text", planted}}).dump();
  check.argv = {planted + "/llama-perplexity"};
  check.stdout_sha256 = put(bundle, "Final estimate: PPL = 9.5 of " + planted + "\n");
  check.stderr_sha256 = put(bundle, "perplexity at " + planted + "\n");
  check.checked_at = "2026-11-30T04:25:07.123Z";
  bundle.quality = {check};
  name_again(bundle);
  return bundle;
}

}  // namespace capbench::submit::testing
