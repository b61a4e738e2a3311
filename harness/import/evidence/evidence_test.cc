#include "harness/import/evidence/evidence.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "base/digest.h"
#include "harness/import/evidence/put_evidence.h"
#include "harness/suite/suite.h"
#include "schema/store.h"

namespace capbench::imports {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Folder = std::map<std::string, std::string>;

constexpr const char* kShimNew =
    "2026-08-09 12:41:47.024 llama-bench[2738:54808] [LumeMetalCapabilities] Enabled for llama-bench "
    "(appleFamilyMax=1009 maxThreadgroupMemory=65536)\n";
constexpr const char* kShimOld =
    "2026-08-09 11:15:12.566 llama-bench[932:16029] [LumeMetalCapabilities] Enabled for llama-bench (familyMax=5001 "
    "featureProfile=10 maxThreadgroupMemory=65536)\n";

std::string log_of(const std::string& gpu, int family) {
  return fmt::format(
      "ggml_metal_library_init: loaded in 0.011 sec\nggml_metal_device_init: GPU name:   MTL0 ({})\n"
      "ggml_metal_device_init: GPU family: MTLGPUFamilyApple{}  ({})\n"
      "ggml_metal_device_init: simdgroup reduction   = {}\n",
      gpu, family - 1000, family, family > 1006);
}
const std::string kHostLog = log_of("Apple M1 Ultra", 1007);
const std::string kStockLog = log_of("Apple Paravirtual device", 1005);
const std::string kUnlockedLog = kShimNew + log_of("Apple Paravirtual device", 1009);

struct Row {
  bool guest = true;
  int n_prompt = 512;
  int n_gen = 0;
  double ts = 100;
  int samples = 3;
  std::string time = "2026-08-09T19:41:47Z";
  std::string model = "/Users/ana/models/my-model.gguf";
  int batch = 2048;
};

nlohmann::ordered_json row_json(const Row& row) {
  nlohmann::ordered_json json = {
      {"build_commit", "ee3d1b54c"},
      {"build_number", 10167},
      {"cpu_info", row.guest ? "Accelerate, Apple M1 Ultra (Virtual)" : "Accelerate, Apple M1 Ultra"},
      {"gpu_info", row.guest ? "Apple Paravirtual device" : "Apple M1 Ultra"},
      {"backends", "MTL,BLAS"},
      {"model_filename", row.model},
      {"model_type", "llama 1B Q4_K - Medium"},
      {"model_size", 667078656},
      {"model_n_params", 1100048384},
      {"n_batch", row.batch},
      {"n_ubatch", 512},
      {"n_threads", 8},
      {"n_gpu_layers", -1},
      {"flash_attn", -1},
      {"devices", "auto"},
      {"n_prompt", row.n_prompt},
      {"n_gen", row.n_gen},
      {"n_depth", 0},
      {"test_time", row.time}};
  std::vector<std::int64_t> ns;
  std::vector<double> ts;
  for (int i = 0; i < row.samples; ++i) {
    ns.push_back(static_cast<std::int64_t>(1e9 * (row.n_prompt + row.n_gen) / row.ts) + i);
    ts.push_back(row.ts);
  }
  json["samples_ns"] = ns;
  json["samples_ts"] = ts;
  return json;
}

std::string result(bool guest, double pp, double tg, int samples = 3, const Row& like = {}) {
  Row row = like;
  row.guest = guest;
  row.samples = samples;
  row.ts = pp;
  nlohmann::ordered_json rows = nlohmann::ordered_json::array({row_json(row)});
  row.n_prompt = 0;
  row.n_gen = 128;
  row.ts = tg;
  rows.push_back(row_json(row));
  return rows.dump(1) + "\n";
}

Folder three_modes() {
  return {{"a-host.json", result(false, 1000, 200)},   {"a-host.stderr", kHostLog},
          {"a-stock.json", result(true, 100, 20)},     {"a-stock.stderr", kStockLog},
          {"a-unlocked.json", result(true, 900, 180)}, {"a-unlocked.stderr", kUnlockedLog}};
}

std::vector<EvidenceFile> listing(const Folder& folder) {
  std::vector<EvidenceFile> files;
  for (const auto& [name, bytes] : folder) {
    files.push_back({name, [bytes = bytes]() -> Result<std::string> { return bytes; }, bytes.size()});
  }
  return files;
}

EvidenceImport good(const Folder& folder, const EvidenceOptions& options = {}) {
  auto import = import_evidence("series", listing(folder), options);
  EXPECT_TRUE(import.ok()) << (import.ok() ? "" : to_string(import.error()));
  return import.ok() ? std::move(*import) : EvidenceImport{};
}

EvidenceOptions keeping_raw(bool keep = true) {
  EvidenceOptions options;
  options.keep_raw = keep;
  return options;
}

const schema::TrialRecord& trial_of(const EvidenceImport& import, const std::string& arm) {
  static const schema::TrialRecord kMissing;
  const auto found = std::find_if(import.trials.begin(), import.trials.end(),
                                  [&](const schema::TrialRecord& trial) { return trial.arm == arm; });
  EXPECT_NE(found, import.trials.end()) << arm;
  return found == import.trials.end() ? kMissing : *found;
}

std::string fate(const EvidenceImport& import, const std::string& name) {
  for (const FileFate& file : import.files) {
    if (file.name == name) return file.fate;
  }
  return "(no such file)";
}

std::string sums(const Folder& folder) {
  std::string text;
  for (const auto& [name, bytes] : folder) text += sha256(bytes) + "  " + name + "\n";
  return text;
}

// One trial of each mode, proven.
void expect_three_modes(const EvidenceImport& import) {
  ASSERT_EQ(import.trials.size(), 3U);
  ASSERT_EQ(import.suites.size(), 1U);
  EXPECT_EQ(import.runs.size(), 1U);
  for (const char* arm : {"bare-metal", "stock", "unlocked"}) {
    const schema::TrialRecord& trial = trial_of(import, arm);
    EXPECT_EQ(trial.mode, arm);
    EXPECT_EQ(trial.status, "ok") << trial.reason;
    EXPECT_EQ(trial.treatment, "proven") << fate(import, "a");
    EXPECT_EQ(trial.quality, "unchecked");
    EXPECT_EQ(trial.guest, std::string(arm) == "bare-metal" ? "" : "vm");
    EXPECT_EQ(trial.results.size(), 2U);
    EXPECT_EQ(trial.workload, "pp512+tg128");
  }
}

TEST(Evidence, ModesAreProvenByTheLogs) {
  const EvidenceImport import = good(three_modes());
  expect_three_modes(import);
  EXPECT_THAT(import.findings, IsEmpty());
  const auto suite = suite::parse_suite(import.suites[0].json);
  ASSERT_TRUE(suite.ok()) << to_string(suite.error());
  ASSERT_EQ(suite->arms.size(), 3U);
  EXPECT_EQ(suite->arms[0].name, "bare-metal");
  EXPECT_THAT(suite->arms[1].set, IsEmpty());
  EXPECT_EQ(suite->arms[2].set, (std::map<std::string, std::string>{{"metal.apple_family", "1009"}}));
  EXPECT_EQ(suite->workloads[0].n_prompt, std::vector<std::int64_t>{512});
  EXPECT_EQ(suite->workloads[0].repetitions, 3);
  EXPECT_EQ(suite->workloads[0].threads, 8);
  EXPECT_EQ(suite->workloads[0].gpu_layers, -1);
  EXPECT_EQ(suite->models[0].name, "my-model");
  EXPECT_EQ(suite::suite_id(*suite), import.suites[0].id);
  // A host and its guests are one machine.
  EXPECT_EQ(import.environments.size(), 2U);
  for (const auto& environment : import.environments) {
    EXPECT_EQ(environment.machine_label, "Apple M1 Ultra");
    EXPECT_EQ(environment.machine_id, import.environments[0].machine_id);
    EXPECT_FALSE(environment.is_virtual);
  }
  const auto& capabilities = trial_of(import, "unlocked").capabilities;
  ASSERT_FALSE(capabilities.empty());
  EXPECT_EQ(capabilities[0].name, "metal.apple_family");
  EXPECT_EQ(capabilities[0].requested, "1009");
  EXPECT_EQ(capabilities[0].observed, "1009");
  EXPECT_EQ(capabilities[0].source, "ggml log");
  EXPECT_TRUE(capabilities[0].agrees);
}

TEST(Evidence, LayoutDoesNotMatter) {
  const Folder base = three_modes();
  const auto at = [&](const char* name) { return base.at(name); };
  const Folder layouts[] = {
      {{"host/out.json", at("a-host.json")},
       {"host/err.log", at("a-host.stderr")},
       {"one/out.json", at("a-stock.json")},
       {"one/err.log", at("a-stock.stderr")},
       {"two/out.json", at("a-unlocked.json")},
       {"two/err.log", at("a-unlocked.stderr")}},
      {{"json/1.json", at("a-host.json")},
       {"json/2.json", at("a-stock.json")},
       {"json/3.json", at("a-unlocked.json")},
       {"logs/1.stderr.txt", at("a-host.stderr")},
       {"logs/2.stderr.txt", at("a-stock.stderr")},
       {"logs/3.stderr.txt", at("a-unlocked.stderr")}},
      // Rows and log in one file each.
      {{"x.txt", at("a-host.stderr") + at("a-host.json")},
       {"y.txt", at("a-stock.stderr") + at("a-stock.json")},
       {"z.txt", at("a-unlocked.stderr") + at("a-unlocked.json")}},
  };
  const EvidenceImport flat = good(base);
  for (const Folder& layout : layouts) {
    const EvidenceImport import = good(layout);
    expect_three_modes(import);
    EXPECT_EQ(import.suites[0].id, flat.suites[0].id);
  }
}

TEST(Evidence, NamesWithoutMeaningArePairedByGpuAndTime) {
  const Folder base = three_modes();
  const Row early{.time = "2026-08-09T18:20:05Z"};
  const EvidenceImport import = good({{"q.json", base.at("a-host.json")},
                                      {"r.json", result(true, 100, 20, 3, early)},
                                      {"s.json", base.at("a-unlocked.json")},
                                      {"u.log", base.at("a-unlocked.stderr")},
                                      {"v.log", base.at("a-host.stderr")}});
  EXPECT_EQ(trial_of(import, "bare-metal").treatment, "proven");
  EXPECT_EQ(trial_of(import, "unlocked").treatment, "proven");
  EXPECT_THAT(import.notes, Contains(HasSubstr("u.log is taken for the log of s.json")));
}

TEST(Evidence, WindowsLineEndsChangeNothing) {
  Folder folder = three_modes();
  for (auto& [name, bytes] : folder) {
    std::string crlf;
    for (const char c : bytes) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
    bytes = crlf;
  }
  Folder with_sums = folder;
  with_sums["SHA256SUMS"] = sums(three_modes());
  const EvidenceImport import = good(with_sums);
  expect_three_modes(import);
  EXPECT_EQ(import.suites[0].id, good(three_modes()).suites[0].id);
  EXPECT_EQ(import.findings.size(), 6U);
  for (const std::string& finding : import.findings) EXPECT_THAT(finding, HasSubstr("only its line ends differ"));
}

TEST(Evidence, DigestsAreChecked) {
  Folder folder = three_modes();
  folder["SHA256SUMS"] = sums(folder) + std::string(64, '0') + "  README.md\n";
  folder["extra.txt"] = "nothing";
  EvidenceImport import = good(folder);
  EXPECT_THAT(import.findings, IsEmpty());
  EXPECT_THAT(import.notes, Contains("SHA256SUMS lists README.md, which is not here"));
  EXPECT_THAT(import.notes, Contains("extra.txt is not in SHA256SUMS, so nothing vouches for its bytes"));

  folder["a-stock.json"] = result(true, 101, 20);
  import = good(folder);
  EXPECT_THAT(import.findings, ElementsAre(HasSubstr("a-stock.json: SHA256SUMS says ")));
  EXPECT_THAT(trial_of(import, "stock").flags, Contains("digest-differs"));
  EXPECT_THAT(trial_of(import, "bare-metal").flags, Not(Contains("digest-differs")));

  folder.erase("SHA256SUMS");
  import = good(folder);
  EXPECT_THAT(import.notes, Contains(HasSubstr("no list of digests")));
  EXPECT_THAT(import.findings, IsEmpty());
}

TEST(Evidence, TablesAreCompared) {
  Folder folder = three_modes();
  folder["figures.csv"] = "what,test,host,stock,hooked,speedup,% of host\nmy model,pp512,1000,100,900,9.00,90.00\n";
  EvidenceImport import = good(folder);
  EXPECT_THAT(import.findings, IsEmpty());
  EXPECT_EQ(fate(import, "figures.csv"),
            "a table: 5 figures are what the samples give, 0 what they give as speeds of six digits, 0 are neither");
  folder["figures.csv"] = "what,test,host,stock,hooked,speedup,% of host\nmy model,pp512,1000,100,900,9.10,90.00\n";
  import = good(folder);
  ASSERT_EQ(import.findings.size(), 1U);
  EXPECT_THAT(import.findings[0], HasSubstr("figures.csv line 2: ratio of my-model, pp512 is 9.10 there, 9"));
}

TEST(Evidence, WithoutALogTheNameSaysTheModeAndNothingIsProven) {
  Folder folder = three_modes();
  folder.erase("a-unlocked.stderr");
  folder.erase("a-host.stderr");
  EvidenceImport import = good(folder);
  // Nothing says what the shim was told, so nothing is claimed of it.
  EXPECT_EQ(trial_of(import, "unlocked (unstated)").treatment, "unproven");
  EXPECT_THAT(import.notes, Contains("a-unlocked.json: what its shim was told is not shown anywhere"));
  folder["README.md"] = "env LUME_METAL_APPLE_FAMILY_MAX=1009 llama-bench\n";
  import = good(folder);
  EXPECT_EQ(trial_of(import, "unlocked").capabilities.at(0).requested, "1009");
  EXPECT_EQ(trial_of(import, "unlocked").treatment, "unproven");
  EXPECT_EQ(trial_of(import, "unlocked").status, "ok");
  EXPECT_EQ(trial_of(import, "bare-metal").treatment, "unproven");
  EXPECT_EQ(trial_of(import, "stock").treatment, "proven");
  EXPECT_THAT(import.notes, Contains("a-unlocked.json: no log shows its mode; its name says unlocked"));

  folder["x.json"] = folder["a-unlocked.json"];
  folder.erase("a-unlocked.json");
  import = good(folder);
  EXPECT_EQ(trial_of(import, "unknown").treatment, "unproven");
}

TEST(Evidence, WhatACommandSetsIsAskedFor) {
  Folder folder = three_modes();
  folder["README.md"] = "env LUME_METAL_MAX_THREADGROUP_MEMORY=65536 LUME_METAL_APPLE_FAMILY_MAX=1009 llama-bench\n";
  const EvidenceImport import = good(folder);
  const auto suite = suite::parse_suite(import.suites[0].json);
  ASSERT_TRUE(suite.ok());
  EXPECT_EQ(suite->arms[2].set, (std::map<std::string, std::string>{{"metal.apple_family", "1009"},
                                                                    {"metal.max_threadgroup_memory", "65536"}}));
  // ggml prints no such line: only the shim's own word shows it.
  EXPECT_EQ(trial_of(import, "unlocked").treatment, "unproven");
}

TEST(Evidence, TheLogIsBelievedOverTheName) {
  Folder folder = three_modes();
  folder["b-shim.json"] = folder["a-stock.json"];
  folder["b-shim.stderr"] = folder["a-stock.stderr"];
  folder.erase("a-stock.json");
  folder.erase("a-stock.stderr");
  const EvidenceImport import = good(folder);
  expect_three_modes(import);
  EXPECT_THAT(import.notes, Contains("b-shim.json: its name says unlocked, its log stock; the log is believed"));
}

TEST(Evidence, ALogThatSaysNothingIsNoProof) {
  Folder folder = three_modes();
  folder["a-unlocked.stderr"] = "warming up\n";
  folder["README.md"] = "env LUME_METAL_APPLE_FAMILY_MAX=1009 llama-bench\n";
  EvidenceImport import = good(folder);
  EXPECT_EQ(trial_of(import, "unlocked").status, "ok");
  EXPECT_EQ(trial_of(import, "unlocked").treatment, "unproven");
  folder["a-stock.stderr"] = "";
  import = good(folder);
  EXPECT_EQ(trial_of(import, "stock").treatment, "unproven");
}

TEST(Evidence, ALogOfAnotherGpuProvesNothing) {
  Folder folder = three_modes();
  folder["a-host.stderr"] = kStockLog;
  const EvidenceImport import = good(folder);
  EXPECT_THAT(import.findings,
              Contains(HasSubstr("a-host.json ran on \"Apple M1 Ultra\", but a-host.stderr speaks of")));
  EXPECT_EQ(trial_of(import, "bare-metal").treatment, "unproven");
}

TEST(Evidence, AFamilyThatDidNotTakeIsInvalid) {
  Folder folder = three_modes();
  folder["a-unlocked.stderr"] = kShimNew + kStockLog;
  const EvidenceImport import = good(folder);
  const schema::TrialRecord& trial = trial_of(import, "unlocked");
  EXPECT_EQ(trial.status, "invalid_treatment");
  EXPECT_THAT(trial.reason, HasSubstr("asked for 1009"));
}

TEST(Evidence, SupersededProfilesAreKeptOut) {
  Folder folder = three_modes();
  folder["old.json"] = result(true, 950, 190);
  folder["old.stderr"] = kShimOld + log_of("Apple Paravirtual device", 1021);
  const EvidenceImport import = good(folder);
  ASSERT_EQ(import.trials.size(), 4U);
  const schema::TrialRecord& trial = trial_of(import, "superseded: familyMax=5001 featureProfile=10");
  EXPECT_EQ(trial.mode, "superseded");
  EXPECT_EQ(trial.status, "excluded");
  EXPECT_EQ(trial.reason, "was ok: superseded profile familyMax=5001 featureProfile=10");
  EXPECT_EQ(trial.treatment, "unproven");
  EXPECT_EQ(trial.results.size(), 2U);
}

TEST(Evidence, SmokeRunsAreKeptOut) {
  Folder folder = three_modes();
  folder["smoke-stock.json"] = result(true, 100, 20, 3, {.time = "2026-08-09T20:00:00Z"});
  folder["smoke-stock.stderr"] = kStockLog;
  folder["b-stock.json"] = result(true, 100, 20, 1);
  folder["b-stock.stderr"] = kStockLog + "\n";
  const EvidenceImport import = good(folder);
  ASSERT_EQ(import.trials.size(), 5U);
  EXPECT_THAT(fate(import, "smoke-stock.json"), HasSubstr("excluded, a smoke run"));
  EXPECT_THAT(fate(import, "b-stock.json"), HasSubstr("excluded, one repetition only"));
  const auto workload = [&](const std::string& reason) {
    for (const auto& trial : import.trials) {
      if (trial.reason == reason) return trial.workload;
    }
    return std::string();
  };
  EXPECT_EQ(workload("was ok: a smoke run"), "pp512+tg128");
  EXPECT_EQ(workload("was ok: one repetition only"), "pp512+tg128 r=1 t=8 ngl=-1");
}

TEST(Evidence, SeveralRunsOfOneArmAreBlocks) {
  Folder folder = three_modes();
  folder["c-stock.json"] = result(true, 110, 22, 3, {.time = "2026-08-09T20:00:00Z"});
  folder["c-stock.stderr"] = kStockLog + "\n";
  EvidenceImport import = good(folder);
  std::vector<std::int64_t> blocks;
  for (const auto& trial : import.trials) {
    if (trial.arm == "stock") blocks.push_back(trial.block);
  }
  EXPECT_THAT(blocks, ElementsAre(0, 1));
  // Unless one says that it is the last word.
  folder["c-stock-final.json"] = folder["c-stock.json"];
  folder["c-stock-final.stderr"] = folder["c-stock.stderr"];
  folder.erase("c-stock.json");
  folder.erase("c-stock.stderr");
  import = good(folder);
  EXPECT_THAT(fate(import, "a-stock.json"), HasSubstr("excluded, superseded by c-stock-final.json"));
}

TEST(Evidence, TwoProcessesInOneFileAreTwoTrials) {
  Folder folder = three_modes();
  std::string twice;
  for (int i = 0; i < 2; ++i) {
    for (const auto& row : nlohmann::ordered_json::parse(folder["a-stock.json"])) twice += row.dump() + "\n";
  }
  folder["a-stock.json"] = twice;
  folder["other.jsonl"] = row_json({.batch = 512}).dump() + "\n";
  const EvidenceImport import = good(folder);
  EXPECT_EQ(import.trials.size(), 5U);
}

TEST(Evidence, AFileTwiceIsOneFile) {
  Folder folder = three_modes();
  folder["copy/a-stock.json"] = folder["a-stock.json"];
  const EvidenceImport import = good(folder);
  expect_three_modes(import);
  EXPECT_EQ(fate(import, "copy/a-stock.json"), "the same bytes as a-stock.json");
}

TEST(Evidence, FailedRunsKeepTheirLastWords) {
  Folder folder = three_modes();
  folder["crash-stock.stderr"] = kStockLog + "libc++abi: terminate called: /Users/ana/x\n";
  const EvidenceImport import = good(folder);
  ASSERT_EQ(import.trials.size(), 4U);
  const auto failed = std::find_if(import.trials.begin(), import.trials.end(),
                                   [](const auto& trial) { return trial.status == "failed"; });
  ASSERT_NE(failed, import.trials.end());
  EXPECT_EQ(failed->reason, "libc++abi: terminate called: <home>/x");
  EXPECT_EQ(failed->arm, "stock");
  EXPECT_THAT(failed->results, IsEmpty());
  EXPECT_EQ(failed->model, "my-model");
}

TEST(Evidence, NothingPersonalGoesOut) {
  Folder folder = three_modes();
  folder["figures.csv"] = "what,test,host\n/Users/ana/x,pp512,1\n";
  const EvidenceImport import = good(folder);
  std::string all;
  for (const auto& trial : import.trials) {
    all += trial.reason + trial.model;
    for (const auto& row : trial.results) all += row.fields;
  }
  for (const auto& text : import.notes) all += text;
  for (const auto& text : import.findings) all += text;
  for (const auto& suite : import.suites) all += suite.json;
  for (const auto& source : import.sources) {
    for (const auto& note : source.notes) all += note;
    EXPECT_THAT(source.notes, Contains("raw withheld"));
  }
  EXPECT_THAT(all, HasSubstr("<home>/models/my-model.gguf"));
  EXPECT_THAT(all, Not(HasSubstr("ana/")));
  EXPECT_TRUE(import.raw.empty());
  const EvidenceImport kept = good(folder, keeping_raw());
  EXPECT_EQ(kept.raw.size(), folder.size());
  EXPECT_EQ(kept.raw.at(sha256(folder["a-host.json"])), folder["a-host.json"]);
}

TEST(Evidence, TheMachineIsTheChipUnlessNamed) {
  EXPECT_THAT(good(three_modes()).notes, Contains(HasSubstr("called by its chip, \"Apple M1 Ultra\"")));
  EvidenceOptions options;
  options.machine = "studio";
  const EvidenceImport named = good(three_modes(), options);
  EXPECT_EQ(named.environments[0].machine_label, "studio");
}

TEST(Evidence, CatalogModelsHaveTheirNames) {
  Folder folder = three_modes();
  const Row catalogued{.model = "../m/tinyllama-1.1b-chat-v1.0.Q4_K_M.gguf"};
  folder["t-stock.json"] = result(true, 100, 20, 3, catalogued);
  folder["t-stock.stderr"] = kStockLog + "\n";
  const EvidenceImport import = good(folder);
  const auto suite = suite::parse_suite(import.suites[0].json);
  ASSERT_TRUE(suite.ok());
  ASSERT_EQ(suite->models.size(), 2U);
  EXPECT_EQ(suite->models[0].name, "my-model");
  EXPECT_EQ(suite->models[1].catalog, "tinyllama-1.1b");
}

TEST(Evidence, GoesIntoAStoreOnce) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "evidence_once.db";
  std::filesystem::remove(path);
  auto store = schema::Store::open(path, schema::OpenMode::kCreate);
  ASSERT_TRUE(store.ok()) << to_string(store.error());
  Folder folder = three_modes();
  folder["SHA256SUMS"] = sums(folder);
  std::int64_t added = 3;
  for (const bool keep_raw : {false, false, true}) {
    // The order of the listing does not matter.
    auto files = listing(folder);
    std::reverse(files.begin(), files.end());
    const auto import = import_evidence("series", files, keeping_raw(keep_raw));
    ASSERT_TRUE(import.ok());
    auto writer = schema::ImportWriter::begin(*store);
    ASSERT_TRUE(writer.ok());
    const Status put = put_evidence(*import, *writer);
    ASSERT_TRUE(put.ok()) << to_string(put.error());
    EXPECT_EQ(writer->trials().added, added);
    ASSERT_TRUE(writer->finish().ok());
    added = 0;
  }
  EXPECT_EQ(store->trials({})->size(), 3U);
  EXPECT_EQ(store->sources()->size(), folder.size());
  EXPECT_TRUE(store->check_integrity().ok());
}

TEST(Evidence, RawBytesCanBeKept) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "evidence_raw.db";
  std::filesystem::remove(path);
  auto store = schema::Store::open(path, schema::OpenMode::kCreate);
  ASSERT_TRUE(store.ok());
  const Folder folder = three_modes();
  const EvidenceImport import = good(folder, keeping_raw());
  auto writer = schema::ImportWriter::begin(*store);
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(put_evidence(import, *writer).ok());
  ASSERT_TRUE(writer->finish().ok());
  std::string bytes;
  const Status read = store->source_bytes(sha256(folder.at("a-host.json")), [&](auto part) { bytes += part; });
  EXPECT_TRUE(read.ok());
  EXPECT_EQ(bytes, folder.at("a-host.json"));
}

TEST(Evidence, AFolderWithoutResultsIsAnError) {
  for (const Folder& folder : {Folder{}, Folder{{"README.md", "hello"}}, Folder{{"x.stderr", kStockLog}}}) {
    const auto import = import_evidence("series", listing(folder));
    ASSERT_FALSE(import.ok());
    EXPECT_EQ(import.error().kind, ErrorKind::kUsage);
    EXPECT_FALSE(import.error().remedy.empty());
  }
  const auto failing = import_evidence("series", {{"x",
                                                   []() -> Result<std::string> {
                                                     return Error{ErrorKind::kMachine, "x", "gone", "look"};
                                                   },
                                                   1}});
  ASSERT_FALSE(failing.ok());
  EXPECT_EQ(failing.error().cause, "gone");
}

TEST(Evidence, LargeFilesAreNotRead) {
  auto files = listing(three_modes());
  files.push_back({"big.bin", []() -> Result<std::string> { throw std::logic_error("read"); }, kMaxEvidenceFile + 1});
  const auto import = import_evidence("series", files);
  ASSERT_TRUE(import.ok());
  EXPECT_THAT(import->notes, Contains(HasSubstr("big.bin is not read")));
}

TEST(Evidence, LooksByNames) {
  EXPECT_TRUE(looks_like_evidence({"a.json", "SHA256SUMS"}));
  EXPECT_TRUE(looks_like_evidence({"x/a.json", "x/a.stderr"}));
  EXPECT_TRUE(looks_like_evidence({"stock.json", "shim.json"}));
  EXPECT_FALSE(looks_like_evidence({"a.json", "b.stderr"}));
  EXPECT_FALSE(looks_like_evidence({"a.json", "b.jsonl", "README.md"}));
  EXPECT_FALSE(looks_like_evidence({}));
}

// Any bytes: no crash, and whatever comes out is valid.
void expect_sound(const Folder& folder) {
  const auto import = import_evidence("series", listing(folder));
  if (!import.ok()) return;
  for (const auto& suite : import->suites) EXPECT_TRUE(suite::parse_suite(suite.json).ok());
  for (const auto& trial : import->trials) {
    EXPECT_THAT(trial.status, AnyOf("ok", "failed", "excluded", "invalid_treatment", "no_device"));
    EXPECT_EQ(trial.status == "ok", trial.reason.empty()) << trial.reason;
  }
}

TEST(Evidence, HostileBytesDoNoHarm) {
  Folder whole = three_modes();
  whole["SHA256SUMS"] = sums(whole);
  whole["t.csv"] = "what,test,host,stock,hooked,speedup\nmy model,pp512,1000,100,900,9.00\n";
  for (const auto& [name, bytes] : whole) {
    const std::size_t step = std::max<std::size_t>(bytes.size() / 40, 1);
    for (std::size_t cut = 0; cut < bytes.size(); cut += step) {
      Folder folder = whole;
      folder[name] = bytes.substr(0, cut);
      expect_sound(folder);
    }
  }
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    Folder folder = whole;
    auto victim = folder.begin();
    std::advance(victim, random() % folder.size());
    for (int flips = 0; flips < 8 && !victim->second.empty(); ++flips) {
      victim->second[random() % victim->second.size()] ^= static_cast<char>(1U << (random() % 8));
    }
    expect_sound(folder);
  }
  Folder odd = three_modes();
  odd["\xFF/..\n,name.json"] = result(true, 50, 10, 3, {.model = "/\xC3\xA9/,\n../x,y.gguf"});
  odd[std::string(5000, 'n')] = std::string("\0\xFF", 2);
  expect_sound(odd);
}

}  // namespace
}  // namespace capbench::imports
