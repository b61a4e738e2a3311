#include "harness/import/store/import_into.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "base/digest.h"
#include "harness/import/store/rows_to_trials.h"
#include "harness/import/store/spool.h"
#include "schema/import_writer.h"
#include "schema/store.h"

namespace capbench::imports {
namespace {

namespace fs = std::filesystem;

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(to_string(result.error()));
  return std::move(result).value();
}

class ImportInto : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::path(::testing::TempDir()) / "import-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  schema::Store store(const std::string& name = "results.db") {
    return must(schema::Store::open(folder_ / name, schema::OpenMode::kCreate));
  }

  static std::string row(const char* test, const char* ns, const char* threads = "8") {
    const bool prompt = std::string(test) == "pp512";
    return std::string(R"({"build_commit":"0ad4a86","build_number":1,"cpu_info":"CPU X","gpu_info":"GPU Y",)") +
           R"("backends":"Vulkan","model_filename":"/home/jo/m.gguf","model_type":"llama","model_size":1000,)" +
           R"("model_n_params":2000,"n_threads":)" + threads + R"(,"n_gpu_layers":99,"n_prompt":)" +
           (prompt ? "512" : "0") + R"(,"n_gen":)" + (prompt ? "0" : "128") +
           R"(,"n_depth":0,"test_time":"2026-01-01T00:00:00Z","samples_ns":)" + ns + "}\n";
  }

  fs::path folder_;
};

TEST_F(ImportInto, RowsOfOneProcessAreOneTrialAndARepeatedTestBeginsTheNext) {
  const fs::path file = write("a.jsonl", row("pp512", "[1000000000,2000000000]") + row("tg128", "[500000000]") +
                                             row("pp512", "[1100000000]") + row("pp512", "[900000000]", "4"));
  schema::Store results = store();
  const Outcome outcome = must(import_file_into(results, file, {}, "1"));
  EXPECT_EQ(outcome.rows, 4U);
  EXPECT_EQ(outcome.added, 3);
  const auto trials = must(results.trials({}));
  ASSERT_EQ(trials.size(), 3U);
  EXPECT_EQ(trials[0].trial.results.size(), 2U);
  EXPECT_EQ(trials[0].trial.model, "m.gguf");
  EXPECT_EQ(trials[0].trial.workload, "t=8 ngl=99");
  EXPECT_EQ(trials[1].trial.block, 1);
  EXPECT_EQ(trials[2].trial.workload, "t=4 ngl=99");
  EXPECT_EQ(trials[0].machine_label, "GPU Y, CPU X");
  EXPECT_EQ(trials[0].trial.results[0].samples_ns, (std::vector<std::int64_t>{1000000000, 2000000000}));
}

TEST_F(ImportInto, TheSecondTimeNothingChanges) {
  const fs::path file = write("a.jsonl", row("pp512", "[1000000000]"));
  schema::Store results = store();
  EXPECT_EQ(must(import_file_into(results, file, {}, "1")).added, 1);
  const Outcome again = must(import_file_into(results, file, {}, "2"));
  EXPECT_TRUE(again.is_known);
  EXPECT_EQ(must(results.trials({})).size(), 1U);
  std::string kept;
  const std::string digest = must(results.sources()).at(0).sha256;
  ASSERT_TRUE(results.source_bytes(digest, [&](std::string_view part) { kept += part; }).ok());
  EXPECT_EQ(kept, row("pp512", "[1000000000]"));
}

// A wrong mapping is not kept for ever: another reading of a file takes the place of the one before.
TEST_F(ImportInto, AnotherReadingTakesThePlaceOfTheFirst) {
  const fs::path file = write("own.csv", "Model,Test,First,Second\nm.gguf,pp512,10.5,99.5\nm.gguf,tg128,5.5,49.5\n");
  const auto by = [](const std::string& mapping) {
    ImportOptions options;
    options.columns = must(parse_column_mapping(mapping));
    return options;
  };
  const auto speeds = [](schema::Store& of) {
    std::vector<double> all;
    for (const schema::TrialView& view : must(of.trials({}))) {
      if (view.trial.status != "ok") continue;
      for (const auto& stated : view.trial.stated) all.push_back(stated.mean_ts);
    }
    return all;
  };
  schema::Store results = store();
  const ImportOptions wrong = by("test=Test;avg_ts=First");
  const ImportOptions right = by("avg_ts=Second;test=Test;model_filename=Model");
  EXPECT_EQ(must(import_file_into(results, file, wrong, "1")).added, 1);
  EXPECT_EQ(speeds(results), (std::vector<double>{10.5, 5.5}));
  const Outcome second = must(import_file_into(results, file, right, "1"));
  EXPECT_FALSE(second.is_known);
  EXPECT_EQ(second.added, 1);
  ASSERT_FALSE(second.notes.empty());
  EXPECT_NE(second.notes[0].find("read with --columns 'avg_ts=First;test=Test'"), std::string::npos) << second.notes[0];
  EXPECT_EQ(speeds(results), (std::vector<double>{99.5, 49.5}));
  EXPECT_TRUE(must(import_file_into(results, file, right, "1")).is_known);
  // The order in which columns are named is of no account.
  EXPECT_TRUE(must(import_file_into(results, file, by("model_filename=Model;test=Test;avg_ts=Second"), "1")).is_known);
  // And back: what the first reading gave counts again.
  EXPECT_EQ(must(import_file_into(results, file, wrong, "1")).known, 1);
  EXPECT_EQ(speeds(results), (std::vector<double>{10.5, 5.5}));
  EXPECT_EQ(must(results.sources()).size(), 1U);
  EXPECT_TRUE(results.check_integrity().ok());
}

// The name of a trial is made of its samples, which means have none of.
TEST_F(ImportInto, AnotherReadingOfMeansAloneGivesThoseMeans) {
  const fs::path file = write("own.csv", "Test,First,Second,GPU\npp512,10.5,99.5,GPU X\n");
  schema::Store results = store();
  for (const auto& [column, mean] : {std::pair("First", 10.5), std::pair("Second", 99.5), std::pair("First", 10.5)}) {
    ImportOptions options;
    options.columns = must(parse_column_mapping(std::string("test=Test;avg_ts=") + column));
    must(import_file_into(results, file, options, "1"));
    std::vector<double> standing;
    for (const schema::TrialView& view : must(results.trials({}))) {
      if (view.trial.status == "ok") standing.push_back(view.trial.stated.at(0).mean_ts);
    }
    EXPECT_EQ(standing, std::vector<double>{mean});
  }
  EXPECT_TRUE(results.check_integrity().ok());
}

TEST_F(ImportInto, WhatSomebodyExcludedStaysSoWhenItsFileIsReadAgain) {
  const fs::path file = write("a.jsonl", row("pp512", "[1000000000]") + row("pp512", "[2000000000]"));
  schema::Store results = store();
  EXPECT_EQ(must(import_file_into(results, file, {}, "1")).added, 2);
  ASSERT_TRUE(results.exclude_trial(must(results.trials({})).at(0).trial.id, "a backup ran").ok());
  ImportOptions options;
  options.as = SourceKind::kLlamaBench;
  const Outcome again = must(import_file_into(results, file, options, "1"));
  EXPECT_EQ(again.added, 0);
  EXPECT_EQ(again.known, 2);
  const auto trials = must(results.trials({}));
  EXPECT_EQ(trials.at(0).trial.status, "excluded");
  EXPECT_EQ(trials.at(0).trial.reason, "was ok: a backup ran");
  EXPECT_EQ(trials.at(1).trial.status, "ok");
  EXPECT_EQ(trials.at(1).trial.reason, "");
}

TEST_F(ImportInto, QuarantinedRowsAreToldEveryTime) {
  const fs::path file =
      write("bad.jsonl", row("pp512", "[1000000000]") + R"({"n_prompt":512,"n_gen":0,"avg_ts":-1})" + "\n");
  const fs::path rubbish = write("rubbish.jsonl", R"({"n_prompt":512,"n_gen":0,"avg_ts":-1})"
                                                  "\n");
  schema::Store results = store();
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = must(import_file_into(results, file, {}, "1"));
    EXPECT_EQ(outcome.is_known, i == 1);
    EXPECT_EQ(outcome.quarantined, 1U);
    ASSERT_EQ(outcome.quarantine.size(), 1U);
    EXPECT_EQ(outcome.quarantine[0].place.line, 2U);
    // It gave nothing, so that it is read once more.
    const Outcome nothing = must(import_file_into(results, rubbish, {}, "1"));
    EXPECT_FALSE(nothing.is_known);
    EXPECT_EQ(nothing.quarantined, 1U);
  }
  EXPECT_EQ(must(results.quarantine("")).size(), 2U);
  EXPECT_TRUE(results.check_integrity().ok());
}

TEST_F(ImportInto, TimesThatAreNoneAreTold) {
  std::string text = row("pp512", "[1000000000]");
  text.replace(text.find("2026-01-01T00:00:00Z"), 20, "yesterday");
  schema::Store results = store();
  const Outcome outcome = must(import_file_into(results, write("a.jsonl", text), {}, "1"));
  EXPECT_EQ(outcome.added, 1);
  EXPECT_EQ(outcome.notes, std::vector<std::string>{"1 row of a time of measurement that is none, which is left out"});
}

TEST_F(ImportInto, ColumnsThatAreNotThereAreNamed) {
  const fs::path file = write("own.csv", "Test,tok/s\npp512,10.5\n");
  for (const char* mapping : {"test=Nope;avg_ts=tok/s", "test=Test;avg_ts=tok/s;model_filename=Nope"}) {
    ImportOptions options;
    options.columns = must(parse_column_mapping(mapping));
    schema::Store results = store();
    const auto outcome = import_file_into(results, file, options, "1");
    ASSERT_FALSE(outcome.ok()) << mapping;
    EXPECT_NE(outcome.error().cause.find("\"Nope\""), std::string::npos) << outcome.error().cause;
    EXPECT_NE(outcome.error().remedy.find("Test,tok/s"), std::string::npos) << outcome.error().remedy;
  }
  schema::Store results = store();
  const auto without = import_file_into(results, file, {}, "1");
  ASSERT_FALSE(without.ok());
  EXPECT_NE(without.error().remedy.find("--columns"), std::string::npos);
}

TEST_F(ImportInto, MeansStayMeansAndBadRowsAreQuarantined) {
  const fs::path file = write("t.md",
                              "| model | size | params | backend | threads | test | t/s |\n"
                              "| --- | ---: | ---: | --- | ---: | ---: | ---: |\n"
                              "| llama 7B Q4_0 | 3.56 GiB | 6.74 B | CPU | 8 | pp512 | 25.12 ± 0.30 |\n"
                              "| llama 7B Q4_0 | 3.56 GiB | 6.74 B | CPU | 8 | tg128 | 9.50 ± 0.01 | extra |\n\n"
                              "build: 0ad4a86 (1)\n");
  schema::Store results = store();
  const Outcome outcome = must(import_file_into(results, file, {}, "1"));
  EXPECT_EQ(outcome.rows, 1U);
  EXPECT_EQ(outcome.quarantined, 1U);
  ASSERT_EQ(outcome.quarantine.size(), 1U);
  EXPECT_EQ(outcome.quarantine[0].place.line, 4U);
  const auto trials = must(results.trials({}));
  ASSERT_EQ(trials.size(), 1U);
  EXPECT_TRUE(trials[0].trial.results.empty());
  ASSERT_EQ(trials[0].trial.stated.size(), 1U);
  EXPECT_DOUBLE_EQ(trials[0].trial.stated[0].mean_ts, 25.12);
  EXPECT_EQ(must(results.quarantine("")).size(), 1U);
}

TEST_F(ImportInto, AFileWithoutRowsLeavesNothing) {
  const fs::path file = write("n.txt", "nothing to see here\n");
  schema::Store results = store();
  EXPECT_FALSE(import_file_into(results, file, {}, "1").ok());
  EXPECT_FALSE(import_file_into(results, folder_ / "absent", {}, "1").ok());
  EXPECT_TRUE(must(results.sources()).empty());
}

TEST_F(ImportInto, StoresMergeOnce) {
  schema::Store a = store("a.db");
  must(import_file_into(a, write("a.jsonl", row("pp512", "[1000000000]")), {}, "1"));
  {
    schema::Store b = store("b.db");
    must(import_file_into(b, folder_ / "a.jsonl", {}, "1"));
    must(import_file_into(b, write("b.jsonl", row("pp512", "[3000000000]") + "{\"n_prompt\":512,\n"), {}, "1"));
  }
  const Outcome first = must(merge_store_into(a, folder_ / "b.db"));
  EXPECT_EQ(first.added, 1);
  EXPECT_EQ(first.known, 1);
  const Outcome second = must(merge_store_into(a, folder_ / "b.db"));
  EXPECT_EQ(second.added, 0);
  EXPECT_EQ(second.known, 2);
  EXPECT_EQ(must(a.sources()).size(), 2U);
  EXPECT_EQ(must(a.quarantine("")).size(), must(store("b.db").quarantine("")).size());
  EXPECT_TRUE(a.check_integrity().ok());
}

TEST_F(ImportInto, AnExclusionComesWithTheStoreThatMadeIt) {
  schema::Store a = store("a.db");
  must(import_file_into(a, write("a.jsonl", row("pp512", "[1000000000]") + row("pp512", "[2000000000]")), {}, "1"));
  {
    schema::Store b = store("b.db");
    must(import_file_into(b, folder_ / "a.jsonl", {}, "1"));
    ASSERT_TRUE(b.exclude_trial(must(b.trials({})).at(0).trial.id, "a backup ran").ok());
  }
  EXPECT_EQ(must(merge_store_into(a, folder_ / "b.db")).known, 2);
  const auto trials = must(a.trials({}));
  EXPECT_EQ(trials.at(0).trial.status, "excluded");
  EXPECT_EQ(trials.at(0).trial.reason, "was ok: a backup ran");
  EXPECT_EQ(trials.at(1).trial.status, "ok");
}

TEST_F(ImportInto, SettingsCountWhereverTheyStandInARow) {
  // As a program prints that sorts names: the settings come behind the measurement.
  const auto sorted = [](int threads, const char* test) {
    return R"({"build_commit":"0ad4a86","n_depth":0,"n_gen":0,"n_prompt":)" + std::string(test) + R"(,"n_threads":)" +
           std::to_string(threads) + R"(,"samples_ns":[1000],"type_k":"f16"})" + "\n";
  };
  schema::Store results = store();
  must(import_file_into(results, write("s.jsonl", sorted(8, "512") + sorted(4, "256") + sorted(4, "128")), {}, "1"));
  const auto trials = must(results.trials({}));
  ASSERT_EQ(trials.size(), 2U);
  EXPECT_EQ(trials[0].trial.workload, "t=8 ctk=f16");
  EXPECT_EQ(trials[1].trial.workload, "t=4 ctk=f16");
  EXPECT_EQ(trials[1].trial.results.size(), 2U);
}

TEST_F(ImportInto, ATrialHasOnlySoManyResults) {
  std::string text;
  constexpr std::size_t kRows = 2 * kMostResults + 10;
  for (std::size_t i = 0; i < kRows; ++i) {
    text += R"({"n_prompt":512,"n_gen":0,"n_depth":)" + std::to_string(i) + R"(,"samples_ns":[)" +
            std::to_string(i + 1) + "]}\n";
  }
  schema::Store results = store();
  EXPECT_EQ(must(import_file_into(results, write("l.jsonl", text), {}, "1")).rows, kRows);
  const auto trials = must(results.trials({}));
  ASSERT_EQ(trials.size(), 3U);
  std::int64_t ns = 0;
  for (std::size_t t = 0; t < trials.size(); ++t) {
    EXPECT_EQ(trials[t].trial.block, static_cast<std::int64_t>(t));
    for (const auto& result : trials[t].trial.results) {
      ASSERT_EQ(result.samples_ns, (std::vector<std::int64_t>{++ns}));
    }
  }
  EXPECT_EQ(ns, static_cast<std::int64_t>(kRows));
}

TEST_F(ImportInto, ATrialHasOnlySoManyBytes) {
  std::string text;
  const std::string note(1U << 20U, 'x');
  constexpr std::size_t kRows = 40;
  for (std::size_t i = 0; i < kRows; ++i) {
    text += R"({"n_prompt":512,"n_gen":0,"n_depth":)" + std::to_string(i) + R"(,"samples_ns":[1],"test_time":")" +
            note + "\"}\n";
  }
  schema::Store results = store();
  EXPECT_EQ(must(import_file_into(results, write("l.jsonl", text), {}, "1")).rows, kRows);
  const auto trials = must(results.trials({}));
  ASSERT_EQ(trials.size(), 3U);
  EXPECT_EQ(trials[0].trial.results.size(), 16U);
  EXPECT_EQ(trials[2].trial.results.size(), 8U);
}

TEST_F(ImportInto, BundlesOfOthersAreMergedWithTheirTrialsAndWithdrawals) {
  const auto put = [&](schema::Store& results, const std::string& id, std::size_t trial) {
    const auto trials = must(results.trials({}));
    auto writer = must(schema::ImportWriter::begin(results));
    schema::BundleRecord bundle;
    bundle.id = id;
    bundle.archive_sha256 = sha256("archive of " + id);
    bundle.tier = "consistent";
    bundle.verdict = "{}";
    ASSERT_TRUE(writer.put_bundle(bundle, "archive of " + id).ok());
    ASSERT_TRUE(writer.put_bundle_trial(id, trials.at(trial).trial.id).ok());
    ASSERT_TRUE(writer.finish().ok());
  };
  const fs::path file = write("a.jsonl", row("pp512", "[1000]") + row("pp512", "[2000]") + row("pp512", "[3000]"));
  schema::Store a = store("a.db");
  must(import_file_into(a, file, {}, "1"));
  put(a, "shared", 0);
  {
    schema::Store b = store("b.db");
    must(import_file_into(b, file, {}, "1"));
    put(b, "shared", 0);
    put(b, "other", 1);
    put(b, "gone", 2);
    ASSERT_EQ(must(b.withdraw_bundle("gone", "wrong cable")), 1);
    ASSERT_EQ(must(b.withdraw_bundle("shared", "mine")), 1);
  }
  std::string first;
  for (int times = 0; times < 2; ++times) {
    must(merge_store_into(a, folder_ / "b.db"));
    std::string all;
    for (const auto& bundle : must(a.bundles({}))) {
      all += bundle.id + " " + bundle.received_at + " " + bundle.withdrawn_at + " " + bundle.why + "\n";
      EXPECT_EQ(must(a.bundle_archive(bundle.id)), "archive of " + bundle.id);
      EXPECT_EQ(must(a.bundle_trials({bundle.id, "", ""})).size(), 1U);
    }
    for (const auto& view : must(a.trials({}))) all += view.trial.status + " " + view.trial.reason + "\n";
    if (times == 0) first = all;
    EXPECT_EQ(all, first);
  }
  EXPECT_EQ(must(a.bundles({})).size(), 3U);
  EXPECT_FALSE(must(a.bundle("gone"))->withdrawn_at.empty());
  EXPECT_FALSE(must(a.bundle("shared"))->withdrawn_at.empty());
  EXPECT_NE(
      first.find("\nexcluded was ok: withdrawn (bundle shared): mine\nok \nexcluded was ok: withdrawn (bundle gone)"),
      std::string::npos)
      << first;
  EXPECT_TRUE(a.check_integrity().ok());
}

TEST_F(ImportInto, AFileThatCanBeReadOnlyOnceIsCopiedFirst) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string text = row("pp512", "[1000000000]") + row("tg128", "[2000000000]");
  schema::Store results = store();
  const auto through_the_pipe = [&](const std::string& bytes) {
    std::thread writer([&] { std::ofstream(pipe, std::ios::binary) << bytes; });
    auto outcome = import_file_into(results, pipe, {}, "1");
    writer.join();
    return outcome;
  };
  const Outcome outcome = must(through_the_pipe(text));
  EXPECT_EQ(outcome.rows, 2U);
  EXPECT_EQ(outcome.sha256, sha256(text));
  const auto sources = must(results.sources());
  ASSERT_EQ(sources.size(), 1U);
  EXPECT_EQ(sources[0].name, "pipe");
  EXPECT_EQ(sources[0].size, text.size());
  const auto nothing = through_the_pipe("no rows\n");
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.error().what, pipe.string());
  const auto null = import_file_into(results, "/dev/null", {}, "1");
  ASSERT_FALSE(null.ok());
  EXPECT_EQ(null.error().cause, "the file is empty");
}

TEST(Spool, IsGoneAtTheEndAndTakesOnlySoMuch) {
  fs::path path;
  {
    const Spool copy = must(spool("/dev/null"));
    path = copy.path();
    EXPECT_EQ(fs::file_size(path), 0U);
  }
  EXPECT_FALSE(fs::exists(path));
  const auto endless = spool("/dev/zero", 3U << 20U);
  ASSERT_FALSE(endless.ok());
  EXPECT_NE(endless.error().cause.find("more than"), std::string::npos);
  EXPECT_TRUE(is_read_once("-"));
  EXPECT_FALSE(is_read_once("nowhere"));
}

}  // namespace
}  // namespace capbench::imports
