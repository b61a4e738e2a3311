// Every number of a published finding is printed by a command in it: the commands are run again here, as written.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/file.h"
#include "schema/store.h"
#include "tests/support/command.h"

namespace capbench::testing {
namespace {

namespace fs = std::filesystem;

struct Quote {
  std::string command;
  std::string output;
};

// The blocks "```console", "$ COMMAND", output, "```".
std::vector<Quote> quotes(const std::string& text) {
  const std::string opening = "```console\n$ ";
  std::vector<Quote> found;
  for (std::size_t at = text.find(opening); at != std::string::npos; at = text.find(opening, at)) {
    at += opening.size();
    const std::size_t line = text.find('\n', at);
    const std::size_t end = text.find("```", line);
    if (line == std::string::npos || end == std::string::npos) break;
    found.push_back({text.substr(at, line - at), text.substr(line + 1, end - line - 1)});
  }
  return found;
}

std::vector<fs::path> findings() {
  std::vector<fs::path> folders;
  for (const auto& entry : fs::directory_iterator("reports/published")) {
    if (fs::exists(entry.path() / "README.md")) folders.push_back(fs::absolute(entry.path()));
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

TEST(PublishedFindings, EveryCommandPrintsWhatIsQuoted) {
  if (run_command({{"/bin/sh", "-c", "command -v sqlite3"}, {}}).exit_status != 0) GTEST_SKIP() << "no sqlite3 program";
  const std::string path =
      fs::path(capbench_program()).parent_path().string() + ":" + (std::getenv("PATH") ? std::getenv("PATH") : "");
  std::size_t checked = 0;
  for (const fs::path& folder : findings()) {
    const auto text = read_file(folder / "README.md");
    ASSERT_TRUE(text.ok());
    for (const Quote& quote : quotes(*text)) {
      const auto result = run_command(
          {{"/bin/sh", "-c", "cd \"$FINDING\" && " + quote.command}, {{"PATH", path}, {"FINDING", folder.string()}}});
      EXPECT_EQ(result.exit_status, 0) << quote.command << "\n" << result.err;
      EXPECT_EQ(result.out, quote.output) << folder << "\n" << quote.command;
      ++checked;
    }
  }
  EXPECT_GT(checked, 0U);
}

TEST(PublishedFindings, EveryStoreIsWhole) {
  for (const fs::path& folder : findings()) {
    auto store = schema::Store::open(folder / "results.db", schema::OpenMode::kReadOnly);
    ASSERT_TRUE(store.ok()) << to_string(store.error());
    EXPECT_TRUE(store->check_integrity().ok());
    const auto trials = store->trials({});
    ASSERT_TRUE(trials.ok());
    EXPECT_FALSE(trials->empty());
    for (const schema::TrialView& view : *trials) {
      if (!view.trial.source_sha256.empty()) {
        // Somebody else's: what is not ok says why, and the bytes are withheld.
        EXPECT_EQ(view.trial.status == "ok", view.trial.reason.empty()) << view.trial.reason;
        continue;
      }
      EXPECT_EQ(view.trial.status, "ok");
      EXPECT_EQ(view.trial.treatment, "proven");
      EXPECT_TRUE(store->blob(view.trial.stdout_sha256).ok());
    }
  }
}

CommandResult capbench_of(const Sandbox& sandbox, const std::vector<std::string>& arguments) {
  CommandResult result = sandbox.capbench(arguments);
  EXPECT_EQ(result.exit_status, 0) << arguments.front() << "\n" << result.out << result.err;
  return result;
}

// What travels is the bundle: it verifies offline, and says in every report what the store beside it says.
TEST(PublishedFindings, EveryBundleVerifiesAndGivesTheReportsOfItsStore) {
  for (const fs::path& folder : findings()) {
    const Sandbox sandbox;
    const std::string bundle = (folder / "results.capbundle").string();
    ASSERT_TRUE(fs::exists(bundle)) << bundle << " is missing; try: capbench submit --db results.db --out " << bundle;
    capbench_of(sandbox, {"verify", bundle});
    const std::string db = (sandbox.dir / "ingested.db").string();
    capbench_of(sandbox, {"ingest", bundle, "--db", db});
    for (const char* kind : {"speedup", "ablation", "capabilities", "noise"}) {
      const std::vector<std::string> report = {"report", kind, "--format", "json", "--db"};
      std::vector<std::string> here = report;
      std::vector<std::string> there = report;
      here.push_back((folder / "results.db").string());
      there.push_back(db);
      EXPECT_EQ(capbench_of(sandbox, there).out, capbench_of(sandbox, here).out) << folder << " " << kind;
    }
  }
}

}  // namespace
}  // namespace capbench::testing
