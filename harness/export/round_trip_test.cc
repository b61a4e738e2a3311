// import(export(store)) holds the same results as the store: arms and modes too.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "harness/export/render.h"
#include "harness/import/store/import_into.h"
#include "schema/restated.h"
#include "schema/store.h"

namespace capbench::exports {
namespace {

namespace fs = std::filesystem;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::SizeIs;

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(to_string(result.error()));
  return std::move(result).value();
}

std::string line(const std::string& arm, const std::string& mode, const std::string& guest, int block, bool is_prompt,
                 const std::string& measured) {
  return fmt::format(
      R"({{"build_commit":"0ad4a86","build_number":1,"cpu_info":"CPU X","gpu_info":"{7}","backends":"Vulkan",)"
      R"("model_filename":"m.gguf","model_type":"llama 1B","n_threads":8,"capbench_arm":"{0}","capbench_mode":"{1}",)"
      R"("capbench_guest":"{2}","capbench_workload":"pp512+tg128","capbench_model":"tiny","capbench_model_kind":"twin",)"
      R"("capbench_machine":"0123456789abcdef","n_prompt":{4},"n_gen":{5},"n_depth":0,"test_time":"2026-11-30T01:02:03Z",{6},"capbench_trial":"{0}-{3}",)"
      R"("capbench_block":{3}}})"
      "\n",
      arm, mode, guest, block, is_prompt ? 512 : 0, is_prompt ? 0 : 128, measured,
      guest.empty() ? "GPU Y" : "Paravirtual GPU");
}

std::vector<std::string> results_of(schema::Store& store) {
  std::vector<std::string> all;
  for (const schema::TrialView& view : must(store.trials({}))) {
    const schema::TrialRecord& t = view.trial;
    const std::string trial =
        fmt::format("{} {} '{}' {} {} {} {} {} {} ({})", t.arm, t.mode, t.guest, t.workload, t.model, t.model_kind,
                    t.block, t.treatment, view.machine_label, view.machine_id);
    for (const auto& r : t.results) {
      all.push_back(fmt::format("{}: {} {} {}", trial, r.build, r.test, fmt::join(r.samples_ns, ",")));
    }
    for (const auto& r : t.stated) all.push_back(fmt::format("{}: {} {} mean {}", trial, r.build, r.test, r.mean_ts));
  }
  std::sort(all.begin(), all.end());
  return all;
}

class RoundTripOfAStore : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::path(::testing::TempDir()) / "round-trip-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  schema::Store import(const std::string& name, const std::string& bytes) {
    const fs::path file = folder_ / name;
    EXPECT_TRUE(replace_file(file, bytes).ok());
    schema::Store store = must(schema::Store::open(folder_ / (name + ".db"), schema::OpenMode::kCreate));
    const imports::Outcome outcome = must(imports::import_file_into(store, file, {}, "1"));
    EXPECT_EQ(outcome.quarantined, 0U) << name;
    return store;
  }

  fs::path folder_;
};

TEST_F(RoundTripOfAStore, KeepsArmsModesBlocksAndMachines) {
  std::string text;
  for (const int block : {0, 1, 3}) {
    text += line("bare", "bare-metal", "", block, true, fmt::format(R"("samples_ns":[{},900])", 1000 + block));
    text += line("bare", "bare-metal", "", block, false, R"("samples_ns":[2000])");
    text += line("plain", "stock", "vm", block, true, fmt::format(R"("samples_ns":[{},9000])", 10000 + block));
    text += line("all on", "unlocked", "vm", block, true, fmt::format(R"("samples_ns":[{},1000])", 1100 + block));
    text += line("all on", "unlocked", "vm", block, false, R"("avg_ts":64.5,"stddev_ts":0.25)");
  }
  schema::Store store = import("first.jsonl", text);
  const std::vector<std::string> results = results_of(store);
  ASSERT_THAT(results, SizeIs(15));
  EXPECT_EQ(results[0],
            "all on unlocked 'vm' pp512+tg128 tiny twin 0 unproven Paravirtual GPU, CPU X (0123456789abcdef): "
            "0ad4a86 (1) pp512 1100,1000");
  EXPECT_THAT(results, Contains(HasSubstr("bare bare-metal '' pp512+tg128 tiny twin 0 unproven GPU Y, CPU X "
                                          "(0123456789abcdef)")));
  EXPECT_THAT(must(store.trials({})), SizeIs(9));
  const auto trials = must(store.trials({}));
  const std::vector<ExportRow> rows = export_rows(trials).rows;
  const std::vector<std::pair<std::string, std::string>> exported = {{"again.jsonl", render_jsonl(rows)},
                                                                     {"again.csv", render_csv(rows)},
                                                                     {"again.sql", render_sql(rows)},
                                                                     {"again.sqlite", must(render_sqlite(rows))}};
  for (const auto& [name, bytes] : exported) {
    schema::Store again = import(name, bytes);
    EXPECT_EQ(results_of(again), results) << name;
    // And once more: the names of the trials stay.
    const auto once_more = must(again.trials({}));
    EXPECT_THAT(once_more, SizeIs(9)) << name;
    const std::vector<ExportRow> last = export_rows(once_more).rows;
    schema::Store third = import("third-" + name, render_jsonl(last));
    EXPECT_EQ(results_of(third), results) << name;
  }
}

// An export adds nothing to the store that it is of, in whatever format, nor does it add anything to another export.
// And whoever has an export first and then the store itself has every trial once.
TEST_F(RoundTripOfAStore, ATrialCountsOnceHoweverItCame) {
  const auto measured = [](const char* ns) {
    return fmt::format(R"({{"build_commit":"0ad4a86","gpu_info":"GPU Y","model_filename":"m.gguf","n_prompt":512,)"
                       R"("n_gen":0,"samples_ns":[{}]}})"
                       "\n",
                       ns);
  };
  // Its own trials are restated by nobody.
  schema::Store store = import("own.jsonl", measured("1000,1001") + measured("1002") + measured("1003"));
  const std::vector<std::string> results = results_of(store);
  const auto trials = must(store.trials({}));
  ASSERT_THAT(trials, SizeIs(3));
  const std::vector<ExportRow> rows = export_rows(trials).rows;
  const std::vector<std::pair<std::string, std::string>> exported = {{"x.jsonl", render_jsonl(rows)},
                                                                     {"x.csv", render_csv(rows)},
                                                                     {"x.sql", render_sql(rows)},
                                                                     {"x.sqlite", must(render_sqlite(rows))}};
  schema::Store other = must(schema::Store::open(folder_ / "other.db", schema::OpenMode::kCreate));
  for (const auto& [name, bytes] : exported) {
    const fs::path file = folder_ / name;
    ASSERT_TRUE(replace_file(file, bytes).ok());
    const imports::Outcome own = must(imports::import_file_into(store, file, {}, "1"));
    EXPECT_EQ(own.added, 0) << name;
    EXPECT_EQ(own.known, 3) << name;
    const imports::Outcome beside = must(imports::import_file_into(other, file, {}, "1"));
    EXPECT_EQ(beside.added, name == "x.jsonl" ? 3 : 0) << name;
  }
  EXPECT_EQ(results_of(store), results);
  EXPECT_EQ(results_of(other), results);
  EXPECT_EQ(must(other.trials({})).at(0).suite_name, trials.at(0).suite_name);
  // What was exported is exported again as it was, and is known to the store that it came from.
  const auto again = must(other.trials({}));
  EXPECT_EQ(render_jsonl(export_rows(again).rows), exported[0].second);
  // The store itself comes in: it has more to say, and takes the place of what was restated.
  EXPECT_EQ(must(imports::merge_store_into(other, folder_ / "own.jsonl.db")).added, 3);
  int standing = 0;
  for (const schema::TrialView& view : must(other.trials({}))) {
    standing += view.trial.status == "ok" ? 1 : 0;
    EXPECT_EQ(view.trial.status == "ok", !schema::is_superseded(view.trial)) << view.trial.reason;
  }
  EXPECT_EQ(standing, 3);
  // The other way around nothing comes in.
  const imports::Outcome back = must(imports::merge_store_into(store, folder_ / "other.db"));
  EXPECT_EQ(back.added, 0);
  EXPECT_EQ(results_of(store), results);
  EXPECT_TRUE(other.check_integrity().ok());
}

// As a store that was filled from foreign files names machines: by what their devices are called.
TEST_F(RoundTripOfAStore, KeepsMachinesApartThatTheStoreToldApart) {
  const auto row = [](const char* gpu) {
    return fmt::format(R"({{"build_commit":"0ad4a86","gpu_info":"{}","n_prompt":512,"n_gen":0,"samples_ns":[1000]}})"
                       "\n",
                       gpu);
  };
  schema::Store store = import("two.jsonl", row("GPU Y") + row("GPU Z"));
  const auto machines = [](schema::Store& of) {
    std::set<std::string> ids;
    for (const schema::TrialView& view : must(of.trials({}))) ids.insert(view.machine_id);
    return ids;
  };
  ASSERT_THAT(machines(store), SizeIs(2));
  const auto trials = must(store.trials({}));
  schema::Store again = import("two-again.jsonl", render_jsonl(export_rows(trials).rows));
  EXPECT_EQ(machines(again), machines(store));
  EXPECT_TRUE(again.check_integrity().ok());
}

}  // namespace
}  // namespace capbench::exports
