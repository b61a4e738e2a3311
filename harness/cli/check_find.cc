#include "harness/cli/check_find.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/bisect/bisect.h"
#include "harness/cli/shell_command.h"
#include "harness/runner/progress.h"
#include "harness/runner/run.h"
#include "harness/runner/stop_signal.h"
#include "harness/stats/table.h"
#include "reports/select.h"
#include "schema/store.h"

namespace capbench::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGood = "good";
constexpr const char* kCandidate = "candidate";
constexpr double kLeast = 0.02;  // share of speed that the bad build must have lost
constexpr std::int64_t kFewestTrials = 5;
constexpr int kRounds = 3;  // each with twice the trials of the one before

std::string with_names(std::string text, const std::map<std::string, std::string>& values) {
  for (const auto& [name, value] : values) {
    const std::string place = "{" + name + "}";
    for (std::size_t at = text.find(place); at != std::string::npos; at = text.find(place, at + value.size())) {
      text.replace(at, place.size(), value);
    }
  }
  return text;
}

// The name becomes a part of a shell's command.
Status check_name(const std::string& option, const std::string& name) {
  const bool fine = !name.empty() && name.front() != '-' && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("._-/~^@+").find(c) != std::string_view::npos;
  });
  if (fine) return {};
  return Error{ErrorKind::kUsage, fmt::format("{} \"{}\"", option, name), "not the name of a build",
               "a number, a commit or a tag: letters, digits and . _ - / ~ ^ @ +"};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (!line.empty()) lines.push_back(std::move(line));
    at = end + 1;
  }
  return lines;
}

struct Number {
  std::string prefix;  // "b" or nothing
  std::int64_t value = 0;
};

std::optional<Number> number_of(const std::string& name) {
  Number out;
  std::string_view digits = name;
  if (digits.starts_with('b')) {
    out.prefix = "b";
    digits.remove_prefix(1);
  }
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out.value);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return out;
}

// The good build, those after it, the bad one.
Result<std::vector<std::string>> list_builds(const FindOptions& options) {
  std::vector<std::string> builds = {options.good};
  if (!options.list_command.empty()) {
    auto text = output_of(with_names(options.list_command, {{"good", options.good}, {"bad", options.bad}}));
    if (!text) return std::move(text).error();
    for (std::string& line : lines_of(*text)) {
      if (line != options.good) builds.push_back(std::move(line));
    }
    if (builds.size() < 2) {
      return Error{ErrorKind::kUsage, options.list_command, "printed no build",
                   "one that prints the builds after the good one, oldest first, up to the bad one"};
    }
    for (const std::string& build : builds) {
      if (Status status = check_name("--list-cmd printed", build); !status) return std::move(status).error();
    }
    return builds;
  }
  constexpr std::int64_t kMost = 1000000;
  const auto good = number_of(options.good);
  const auto bad = number_of(options.bad);
  if (!good || !bad || good->prefix != bad->prefix || bad->value <= good->value || bad->value - good->value > kMost) {
    return Error{ErrorKind::kUsage, fmt::format("{} to {}", options.good, options.bad),
                 "not two build numbers, the good one first", "--list-cmd, which prints the builds between commits"};
  }
  for (std::int64_t number = good->value + 1; number <= bad->value; ++number) {
    builds.push_back(fmt::format("{}{}", bad->prefix, number));
  }
  return builds;
}

// One test of one model and workload.
struct Cell {
  std::string model;
  std::string workload;
  std::string test;

  auto operator<=>(const Cell&) const = default;
};

class Search {
 public:
  Search(const Session& session, const FindOptions& options, LoadedSuite loaded, schema::Store& store)
      : session_(session), options_(options), loaded_(std::move(loaded)), store_(store) {}

  Result<int> run() {
    auto builds = list_builds(options_);
    if (!builds) return std::move(builds).error();
    builds_ = std::move(*builds);
    auto good = make(builds_.front());
    if (!good) return std::move(good).error();
    good_program_ = *good;
    auto bad = make(builds_.back());
    if (!bad) return std::move(bad).error();
    auto start = choose_cell(*bad);
    if (!start) return std::move(start).error();
    if (*start != 0) return *start;
    bisect::Bisection search(builds_.size());
    while (const auto next = search.next()) {
      tell(fmt::format("{} builds are left; {} steps at most\n", search.first_bad() - search.last_good(),
                       search.steps_left()));
      auto verdict = look_at(builds_[*next]);
      if (!verdict) return std::move(verdict).error();
      search.tell(*next, *verdict);
    }
    return conclude(search);
  }

 private:
  struct Looked {
    bisect::Verdict verdict = bisect::Verdict::kCannotTell;
    double ratio = 1;
    double low = 1;
    double high = 1;
  };

  Result<std::string> make(const std::string& build) {
    tell(fmt::format("making build {}\n", build));
    auto text = output_of(with_names(options_.build_command, {{"build", build}}));
    if (!text) return std::move(text).error();
    const std::vector<std::string> lines = lines_of(*text);
    std::error_code error;
    const fs::path program = lines.empty() ? fs::path() : fs::absolute(lines.back(), error);
    if (lines.empty() || !fs::is_regular_file(program, error)) {
      return Error{ErrorKind::kMachine, with_names(options_.build_command, {{"build", build}}),
                   "its last line of output names no file",
                   "print the path of the llama-bench that it made, as the last line"};
    }
    return program.string();
  }

  // The suite with the good build and another as its arms, so that they run in the same blocks.
  suite::Suite suite_for(const std::string& program, std::int64_t trials) const {
    suite::Suite suite = loaded_.suite;
    const auto chosen = std::find_if(suite.arms.begin(), suite.arms.end(), [&](const suite::Arm& arm) {
      return options_.arm.empty() || arm.name == options_.arm;
    });
    suite::Arm good = *chosen;
    good.name = kGood;
    good.executable = good_program_;
    good.factors.clear();
    good.roles.clear();
    suite::Arm candidate = good;
    candidate.name = kCandidate;
    candidate.executable = program;
    suite.name += " (find)";
    suite.design.reset();
    suite.designed_arms = 0;
    suite.arms = {std::move(good), std::move(candidate)};
    suite.protocol.until.reset();
    suite.protocol.trials = trials;
    suite.quality.reset();
    const auto other = [](const std::string& wanted) {
      return [&wanted](const auto& member) { return !wanted.empty() && member.name != wanted; };
    };
    std::erase_if(suite.models, other(cell_.model.empty() ? options_.model : cell_.model));
    std::erase_if(suite.workloads, other(cell_.workload));
    return suite;
  }

  // Each cell's two arms; nothing if the candidate did not run.
  Result<std::map<Cell, std::pair<stats::Arm, stats::Arm>>> measure(const std::string& program, std::int64_t trials) {
    const suite::Suite suite = suite_for(program, trials);
    const runner::StopSignal stop;
    auto progress = runner::make_plain_progress();
    runner::RunOptions run_options;
    run_options.resume = true;
    auto summary = runner::run_suite(suite, loaded_.folder, store_, session_.install, run_options, *progress, stop);
    if (!summary) return std::move(summary).error();
    if (summary->interrupted) {
      return Error{ErrorKind::kInterrupted, "--find", "interrupted", "the same command again, which goes on from here"};
    }
    schema::TrialFilter filter;
    filter.run_id = summary->run_id;
    auto views = store_.trials(filter);
    if (!views) return std::move(views).error();
    std::map<Cell, std::pair<stats::Arm, stats::Arm>> cells;
    for (const reports::RowTrials& row : reports::select_rows(*views)) {
      if (row.key.test.empty() || (!options_.test.empty() && row.key.test != options_.test)) continue;
      auto& [good, candidate] = cells[{row.key.model, row.key.workload, row.key.test}];
      good.name = kGood;
      candidate.name = kCandidate;
      for (const reports::Point& point : row.points) {
        if (!point.counted) continue;
        stats::Arm& arm = point.view->trial.arm == kGood ? good : candidate;
        arm.trials.push_back({point.view->trial.block, point.ts});
      }
    }
    return cells;
  }

  // Intervals of the candidate over the good build that hold together.
  static std::map<Cell, stats::RatioInterval> compare(const std::map<Cell, std::pair<stats::Arm, stats::Arm>>& cells) {
    std::vector<stats::Test> tests;
    std::vector<stats::Comparison> comparisons;
    for (const auto& [cell, arms] : cells) {
      comparisons.push_back({tests.size(), 1, 0});
      tests.push_back({cell.test, {arms.first, arms.second}});
    }
    std::map<Cell, stats::RatioInterval> out;
    const auto compared = stats::compare(tests, comparisons);
    if (!compared.ok()) return out;
    std::size_t i = 0;
    for (const auto& [cell, arms] : cells) {
      const stats::Compared& pair = (*compared)[i++];
      if (pair.can_claim && pair.simultaneous && pair.simultaneous->lo && pair.simultaneous->hi)
        out[cell] = *pair.simultaneous;
    }
    return out;
  }

  std::int64_t trials_of(int round) const { return std::max(loaded_.suite.protocol.trials, kFewestTrials) << round; }

  // 0: the cell that lost most is chosen; else the exit status.
  Result<int> choose_cell(const std::string& bad_program) {
    for (int round = 0; round < kRounds; ++round) {
      auto cells = measure(bad_program, trials_of(round));
      if (!cells) return std::move(cells).error();
      const auto ratios = compare(*cells);
      if (ratios.empty()) {
        return Error{ErrorKind::kMachine, fmt::format("builds {} and {}", options_.good, options_.bad),
                     "gave no results that can be compared", "`capbench run` with each of them, which says why"};
      }
      const auto most = std::min_element(ratios.begin(), ratios.end(),
                                         [](const auto& a, const auto& b) { return *a.second.hi < *b.second.hi; });
      const stats::RatioInterval& ratio = most->second;
      if (*ratio.hi < 1 - kLeast) {
        cell_ = most->first;
        bad_ratio_ = ratio.ratio;
        tell(fmt::format("{} {} {}: build {} has {:.1f} % of the speed of {} [{:.1f}, {:.1f}]\n", cell_.model,
                         cell_.workload, cell_.test, options_.bad, 100 * ratio.ratio, options_.good, 100 * *ratio.lo,
                         100 * *ratio.hi));
        return 0;
      }
      const bool none =
          std::all_of(ratios.begin(), ratios.end(), [](const auto& entry) { return *entry.second.lo > 1 - kLeast; });
      if (none) break;
    }
    return Error{ErrorKind::kUsage, fmt::format("build {}", options_.bad),
                 fmt::format("is not shown to be {:.0f} % slower than {} in any test", 100 * kLeast, options_.good),
                 "name the builds and the test between which speed was lost"};
  }

  Result<bisect::Verdict> look_at(const std::string& build) {
    auto program = make(build);
    if (!program) {
      if (program.error().kind == ErrorKind::kInterrupted) return std::move(program).error();
      tell(fmt::format("build {}: skipped: {}\n", build, program.error().cause));
      ++skipped_;
      return bisect::Verdict::kSkipped;
    }
    for (int round = 0; round < kRounds; ++round) {
      auto cells = measure(*program, trials_of(round));
      if (!cells) return std::move(cells).error();
      const auto ratios = compare(*cells);
      const auto found = ratios.find(cell_);
      if (found == ratios.end()) {
        tell(fmt::format("build {}: skipped: it gave no results; `capbench report noise` says why\n", build));
        ++skipped_;
        return bisect::Verdict::kSkipped;
      }
      const stats::RatioInterval& ratio = found->second;
      const bisect::Verdict verdict = bisect::judge(*ratio.lo, *ratio.hi, bad_ratio_);
      const char* word = verdict == bisect::Verdict::kGood  ? "good"
                         : verdict == bisect::Verdict::kBad ? "bad"
                                                            : "cannot tell";
      tell(fmt::format("build {}: {}: {:.1f} % of the good build's speed [{:.1f}, {:.1f}], {} trials each\n", build,
                       word, 100 * ratio.ratio, 100 * *ratio.lo, 100 * *ratio.hi, trials_of(round)));
      looked_[build] = {verdict, ratio.ratio, *ratio.lo, *ratio.hi};
      if (verdict != bisect::Verdict::kCannotTell) return verdict;
    }
    return bisect::Verdict::kCannotTell;
  }

  int conclude(const bisect::Bisection& search) {
    const std::string& first_bad = builds_[search.first_bad()];
    const std::string& last_good = builds_[search.last_good()];
    if (search.open().empty()) {
      const auto looked = looked_.find(first_bad);
      const double ratio = looked == looked_.end() ? bad_ratio_ : looked->second.ratio;
      const int printed =
          print_data(fmt::format("first bad build: {}\nlast good build: {}\n{}, {}, {}: {:.1f} % of {}\n", first_bad,
                                 last_good, cell_.model, cell_.workload, cell_.test, 100 * ratio, options_.good));
      return printed;
    }
    std::string names;
    for (const std::size_t build : search.open()) names += builds_[build] + " ";
    const int printed = print_data(
        fmt::format("the first bad build is one of: {}{}\nlast good build: {}\n", names, first_bad, last_good));
    if (printed != 0) return printed;
    tell(skipped_ > 0 ? "builds that cannot be made or do not run stand between them\n"
                      : "the builds between them cannot be told apart with this many trials\n");
    return exit_status(ErrorKind::kFinding);
  }

  const Session& session_;
  const FindOptions& options_;
  LoadedSuite loaded_;
  schema::Store& store_;
  std::vector<std::string> builds_;
  std::string good_program_;
  Cell cell_;  // empty until the bad build has been measured
  double bad_ratio_ = 1;
  int skipped_ = 0;
  std::map<std::string, Looked> looked_;
};

Status check_options(const FindOptions& options, const suite::Suite& suite) {
  const auto missing = [](const char* option) {
    return Error{ErrorKind::kUsage, option, "is missing", "`capbench check --help` has an example of --find"};
  };
  if (options.build_command.empty()) return missing("--build-cmd");
  if (options.build_command.find("{build}") == std::string::npos) {
    return Error{ErrorKind::kUsage, "--build-cmd", "does not hold {build}",
                 "write {build} where the build's name belongs"};
  }
  if (Status status = check_name("--good", options.good); !status) return status;
  if (Status status = check_name("--bad", options.bad); !status) return status;
  if (suite.runtime.kind != "llama-bench") {
    return Error{ErrorKind::kUsage, "runtime " + suite.runtime.kind, "has no builds to look through",
                 "a suite of llama-bench"};
  }
  const auto known = [](const auto& list, const std::string& name) {
    return name.empty() ||
           std::any_of(list.begin(), list.end(), [&](const auto& member) { return member.name == name; });
  };
  if (!known(suite.arms, options.arm))
    return Error{ErrorKind::kUsage, "--arm " + options.arm, "no such arm in the suite",
                 "one that `capbench plan SUITE` lists"};
  if (!known(suite.models, options.model))
    return Error{ErrorKind::kUsage, "--model " + options.model, "no such model in the suite",
                 "one that `capbench plan SUITE` lists"};
  return {};
}

}  // namespace

int find_first_bad(const Session& session, const FindOptions& options) {
  if (options.suite.empty()) {
    return fail({ErrorKind::kUsage, "SUITE", "is missing",
                 "name the suite that shows the loss: capbench check --find SUITE ..."});
  }
  auto loaded = load_suite(options.suite);
  if (!loaded) return fail(loaded.error());
  if (Status status = check_options(options, loaded->suite); !status) return fail(status.error());
  auto path = store_path(options.db, true);
  if (!path) return fail(path.error());
  auto store = schema::Store::open(*path, schema::OpenMode::kCreate, std::chrono::seconds(60));
  if (!store) return fail(store.error());
  auto status = Search(session, options, std::move(*loaded), *store).run();
  return status ? *status : fail(status.error());
}

}  // namespace capbench::cli
