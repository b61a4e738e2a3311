// What PostgreSQL costs beside SQLite: processor time for each submission that is accepted, and how long the queries of
// reports and of the server take on a large store. Run through scripts/bench postgres.
#include <fmt/format.h>
#include <httplib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "reports/server/queries.h"
#include "reports/server/readers.h"
#include "reports/server/testing/bundles.h"
#include "schema/address.h"
#include "schema/database.h"
#include "schema/store.h"
#include "schema/test_postgres.h"
#include "tests/support/command.h"

namespace {

using namespace capbench;
using Clock = std::chrono::steady_clock;
namespace fs = std::filesystem;

constexpr double kMostCpuRatio = 2;
constexpr double kMostQueryMs = 100;

struct Options {
  std::string program;
  std::string folder;
  int rounds = 3;
  std::size_t bundles = 300;
  int clients = 8;
  std::string sqlite;
  std::string postgres;
  int queries = 50;
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(to_string(result.error()));
  return std::move(result).value();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// --- submissions

// Processor time of one process so far.
double cpu_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::ostringstream whole;
  whole << file.rdbuf();
  const std::string stat = whole.str();
  std::istringstream fields(stat.substr(stat.rfind(')') + 1));
  std::string skipped;
  for (int i = 3; i <= 13; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

struct Cost {
  double cpu_ms = 0;  // for each bundle that was accepted and verified, of the server and of PostgreSQL
  double server_ms = 0;
  double per_second = 0;
};

// A server over `db` takes bundles and verifies them; `more` is the processor time of whoever helps it.
Cost take_bundles(const Options& options, const std::string& db, std::uint64_t first,
                  const std::function<double()>& more) {
  const fs::path out = fs::path(options.folder) / "serve.out";
  testing::Command command;
  command.argv = {options.program, "serve", "--db", db, "--listen", "127.0.0.1:0", "--rate", "0", "--read-rate", "0"};
  const pid_t pid = testing::start_command(command, out, fs::path(options.folder) / "serve.err");
  int port = 0;
  for (int i = 0; i < 4000 && port == 0; ++i) {
    std::ifstream file(out);
    std::string line;
    if (std::getline(file, line) && !file.eof()) port = std::stoi(line.substr(line.rfind(':') + 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (port == 0) throw std::runtime_error("capbench serve does not start");
  std::vector<std::string> archives;
  for (std::size_t i = 0; i < options.bundles; ++i)
    archives.push_back(server::testing::numbered(first + i, 12'000).archive);
  const double server_before = cpu_of(pid);
  const double more_before = more();
  const auto start = Clock::now();
  std::atomic<std::size_t> next = 0;
  std::atomic<std::size_t> accepted = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < options.clients; ++i) {
    threads.emplace_back([&] {
      httplib::Client client("127.0.0.1", port);
      client.set_keep_alive(true);
      client.set_tcp_nodelay(true);
      client.set_read_timeout(60);
      for (std::size_t n = next++; n < archives.size(); n = next++) {
        const auto answer = client.Post("/api/v1/submissions", archives[n], "application/vnd.capbench.bundle");
        if (answer && answer->status == 201) ++accepted;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  httplib::Client client("127.0.0.1", port);
  while (client.Get("/metrics")->body.find("\ncapbench_inbox_bundles 0\n") == std::string::npos) {
    if (seconds_since(start) > 300) throw std::runtime_error("what was acknowledged is not verified");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const double took = seconds_since(start);
  const double server = cpu_of(pid) - server_before;
  const double helped = more() - more_before;
  ::kill(pid, SIGTERM);
  testing::wait_command(pid);
  if (accepted != archives.size()) throw std::runtime_error("a submission was not accepted");
  const auto n = static_cast<double>(archives.size());
  return {1e3 * (server + helped) / n, 1e3 * server / n, n / took};
}

bool submissions(const Options& options) {
  schema::testing::Postgres postgres(/*durable=*/true, options.folder);
  const std::string address = postgres.fresh();
  const std::string file = (fs::path(options.folder) / "results.db").string();
  fmt::print("{} rounds in turns of {} bundles of {} bytes, {} clients; until all are verified\n", options.rounds,
             options.bundles, server::testing::numbered(0, 12'000).archive.size(), options.clients);
  std::vector<double> ratios;
  for (int round = 0; round < options.rounds; ++round) {
    const auto first = static_cast<std::uint64_t>(round) * 100'000;
    const Cost one = take_bundles(options, file, first, [] { return 0.0; });
    const Cost other = take_bundles(options, address, first, [&] { return postgres.cpu_seconds(); });
    fmt::print("  SQLite      {:>6.2f} ms of processor time a bundle, {:>6.1f}/s\n", one.cpu_ms, one.per_second);
    fmt::print("  PostgreSQL  {:>6.2f} ms ({:.2f} in capbench, {:.2f} in PostgreSQL), {:>6.1f}/s\n", other.cpu_ms,
               other.server_ms, other.cpu_ms - other.server_ms, other.per_second);
    ratios.push_back(other.cpu_ms / one.cpu_ms);
  }
  fmt::print("  ratio       {:>6.2f} (at most {})\n", median(ratios), kMostCpuRatio);
  for (const std::string& db : {file, address}) {
    auto store = must(schema::Store::open(db, schema::OpenMode::kReadOnly));
    const std::size_t held = must(store.bundles({})).size();
    const bool all = held == options.bundles * static_cast<std::size_t>(options.rounds);
    fmt::print("  kept        {:>6} bundles in {}: {}\n", held, schema::shown(db), all ? "all" : "NOT ALL");
    if (!all) return false;
  }
  return median(ratios) <= kMostCpuRatio;
}

// --- queries

// Values of a column, spread over the whole table.
std::vector<std::string> some(schema::Database& database, const std::string& sql) {
  std::vector<std::string> values;
  schema::Statement rows = must(database.prepare(sql));
  while (must(rows.step())) values.push_back(rows.text(0));
  if (values.empty()) values.emplace_back();
  return values;
}

struct Query {
  std::string name;
  std::function<void(server::Reader&, std::size_t)> ask;  // the nth time
};

std::vector<Query> queries_of(schema::Database& database) {
  const std::string count = std::to_string(100);
  const auto trials = some(database, "SELECT id FROM trial WHERE id > '8' ORDER BY id LIMIT " + count);
  const auto runs = some(database, "SELECT id FROM run WHERE id > '4' ORDER BY id LIMIT " + count);
  const auto machines =
      some(database, "SELECT DISTINCT machine_id FROM environment ORDER BY machine_id LIMIT " + count);
  const auto environments = some(database, "SELECT id FROM environment ORDER BY id LIMIT " + count);
  const auto suites = some(database, "SELECT id FROM suite ORDER BY id LIMIT " + count);
  const auto models =
      some(database, "SELECT DISTINCT model FROM (SELECT model FROM trial WHERE id > '8' LIMIT 1000) AS s");
  const auto at = [](const std::vector<std::string>& values, std::size_t n) { return values[n % values.size()]; };
  using server::Reader;
  std::vector<Query> all;
  all.push_back({"newest trials", [](Reader& r, std::size_t) { must(trials_page(r, {20, ""}, {})); }});
  const auto trial_filter = [&](const std::string& name, std::vector<std::string> values,
                                std::string server::TrialQuery::*member) {
    all.push_back({"trials of " + name, [values = std::move(values), member, at](Reader& r, std::size_t n) {
                     server::TrialQuery query;
                     query.*member = at(values, n);
                     must(trials_page(r, {20, ""}, query));
                   }});
  };
  trial_filter("a run", runs, &server::TrialQuery::run);
  trial_filter("a machine", machines, &server::TrialQuery::machine);
  trial_filter("an environment", environments, &server::TrialQuery::environment);
  trial_filter("a suite", suites, &server::TrialQuery::suite);
  trial_filter("a model", models, &server::TrialQuery::model);
  trial_filter("a mode", {"stock", "unlocked", "bare-metal"}, &server::TrialQuery::mode);
  all.push_back({"one trial", [=](Reader& r, std::size_t n) { must(trial_document(r, at(trials, n))); }});
  all.push_back({"one suite", [=](Reader& r, std::size_t n) { must(suite_document(r, at(suites, n))); }});
  all.push_back({"suites", [](Reader& r, std::size_t) { must(suites_page(r, {50, ""}, "")); }});
  all.push_back({"machines", [](Reader& r, std::size_t) { must(machines_page(r, {50, ""})); }});
  all.push_back({"bundles", [](Reader& r, std::size_t) { must(bundles_page(r, {50, ""}, {})); }});
  all.push_back(
      {"count for a report", [=](Reader& r, std::size_t n) { must(count_trials(r, at(suites, n), 20'000)); }});
  all.push_back({"whole results of a run", [=](Reader& r, std::size_t n) {
                   schema::TrialFilter filter;
                   filter.run_id = at(runs, n);
                   must(r.store.trials(filter));
                 }});
  return all;
}

bool queries(const Options& options) {
  bool fine = true;
  fmt::print("| query | {} |\n", "SQLite median, p95 ms | PostgreSQL median, p95 ms");
  fmt::print("|---|--:|--:|\n");
  std::vector<std::vector<std::string>> cells;
  std::vector<std::string> names;
  for (const std::string& db : {options.sqlite, options.postgres}) {
    auto readers = must(server::Readers::open(db, 1));
    auto lease = readers->lend();
    server::Reader& reader = *lease.operator->();
    const auto all = queries_of(reader.database);
    cells.emplace_back();
    names.clear();
    for (const Query& query : all) {
      std::vector<double> took;
      for (int i = 0; i < options.queries; ++i) {
        const auto start = Clock::now();
        query.ask(reader, static_cast<std::size_t>(i));
        took.push_back(1e3 * seconds_since(start));
      }
      std::sort(took.begin(), took.end());
      const double p95 = took[(took.size() * 95) / 100];
      fine = fine && p95 < kMostQueryMs;
      names.push_back(query.name);
      cells.back().push_back(fmt::format("{:.2f}, {:.2f}", took[took.size() / 2], p95));
    }
  }
  for (std::size_t i = 0; i < names.size(); ++i) fmt::print("| {} | {} | {} |\n", names[i], cells[0][i], cells[1][i]);
  fmt::print("{}\n", fine ? "all under 100 ms" : "NOT all under 100 ms");
  return fine;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  Options options;
  CLI::App app{"PostgreSQL beside SQLite", "scripts/bench postgres"};
  app.require_subcommand(1);
  CLI::App* load = app.add_subcommand("submissions");
  load->add_option("--program", options.program, "capbench")->required();
  load->add_option("--folder", options.folder, "for the stores; on the disk that is to be measured")->required();
  load->add_option("--rounds", options.rounds)->capture_default_str();
  load->add_option("--bundles", options.bundles)->capture_default_str();
  load->add_option("--clients", options.clients)->capture_default_str();
  CLI::App* ask = app.add_subcommand("queries");
  ask->add_option("--sqlite", options.sqlite)->required();
  ask->add_option("--postgres", options.postgres)->required();
  ask->add_option("--queries", options.queries, "of each kind")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    if (load->parsed()) return submissions(options) ? 0 : 1;
    return queries(options) ? 0 : 1;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "postgres_load: {}\n", failure.what());
    return 1;
  }
}
