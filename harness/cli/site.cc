#include "harness/cli/site.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/counted.h"
#include "harness/observe/redact.h"
#include "harness/submit/details.h"
#include "reports/site/site.h"

namespace capbench::cli {
namespace {

struct Options {
  std::string folder;
  std::vector<std::string> db;
  std::uint64_t trials = 2000;
  std::uint64_t series = 300;
  std::uint64_t submissions = 1000;
  bool keep_details = false;
};

int make_site(const Options& chosen) {
  std::vector<std::filesystem::path> stores;
  for (const std::string& db : chosen.db.empty() ? std::vector<std::string>{""} : chosen.db) {
    auto path = store_path(db, false);
    if (!path) return fail(path.error());
    stores.push_back(std::move(*path));
  }
  site::Options options;
  options.most_trials = chosen.trials;
  options.most_series = chosen.series;
  options.most_submissions = chosen.submissions;
  if (!chosen.keep_details) {
    options.redact = [details = submit::details_of_this_machine()](std::string_view text) {
      return observe::redact(text, details).text;
    };
  }
  auto site = site::read_site(stores, options);
  if (!site) return fail(site.error());
  const unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, 8U);
  auto written = site::write_site(*site, chosen.folder, threads);
  if (!written) return fail(written.error());
  const std::filesystem::path first = std::filesystem::path(chosen.folder) / "index.html";
  tell(fmt::format("{} of {} and {}, {:.1f} MB\n", counted(written->pages, "page"),
                   counted(site->model.n_results(), "result"), counted(site->model.n_trials, "trial"),
                   static_cast<double>(written->bytes) * 1e-6));
  if (!site->every_trial) {
    tell(fmt::format("{} of {} trials have a page of their own; --trials 0 gives one to each\n",
                     site->trial_pages.size(), site->model.m.launches.size()));
  }
  if (!site->every_series) {
    tell(fmt::format("{} of {} series have a page of their own; --series 0 gives one to each\n",
                     site->series_pages.size(), site->model.series.size()));
  }
  if (const std::size_t all = site->model.submissions.size(); chosen.submissions > 0 && all > chosen.submissions) {
    tell(fmt::format("{} of {} submissions have a page of their own; --submissions 0 gives one to each\n",
                     chosen.submissions, all));
  }
  return print_data(first.string() + "\n");
}

}  // namespace

void add_site(CLI::App& app, Session& session) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("site", "Write the results as a web site of static files");
  command->add_option("folder", options->folder, "where to: a new or empty folder, or an earlier site")->required();
  command->add_option(
      "--db", options->db,
      "a store, a file or postgresql://...; may be given several times [$XDG_DATA_HOME/capbench/results.db]");
  command->add_option("--trials", options->trials, "trials with a page of their own, the newest; 0: every one")
      ->check(whole_number)
      ->capture_default_str();
  command
      ->add_option("--series", options->series,
                   "series with a page of their own, those that changed and the longest; 0: every one")
      ->check(whole_number)
      ->capture_default_str();
  command
      ->add_option("--submissions", options->submissions, "bundles with a page of their own, the newest; 0: every one")
      ->check(whole_number)
      ->capture_default_str();
  command->add_flag("--keep-details", options->keep_details,
                    "leave user names, home folders, addresses and the like in raw output as they are");
  command->footer(
      "The site needs no server: open its index.html, or put the folder on GitHub\n"
      "Pages. `capbench serve` shows the same pages of a store as it is now.\n"
      "Examples:\n"
      "  capbench site build/site --db results.db\n"
      "  capbench site build/site --db mine.db --db others.db --trials 0");
  command->callback([&session, options] { session.action = [options] { return make_site(*options); }; });
}

}  // namespace capbench::cli
