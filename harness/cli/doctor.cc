#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "harness/cli/command.h"
#include "harness/observe/environment.h"
#include "harness/runner/injection.h"
#include "harness/runner/inputs.h"
#include "harness/runner/machine_lock.h"
#include "harness/target/target.h"
#include "models/catalog.h"
#include "models/inspect.h"
#include "schema/address.h"
#include "schema/store.h"
#include "shim/common/evidence.h"
#include "shim/common/toggles.h"

namespace capbench::cli {
namespace {

namespace fs = std::filesystem;

enum class State { kFound, kNote, kMissing };

struct Finding {
  State state;
  std::string thing;
  std::string detail;
  std::string remedy;  // empty if it is found
};

Finding found(std::string thing, std::string detail) {
  return {State::kFound, std::move(thing), std::move(detail), ""};
}

Finding from_error(std::string thing, const Error& error) {
  std::string detail = error.what.empty() ? error.cause : error.what + ": " + error.cause;
  return {State::kMissing, std::move(thing), std::move(detail), error.remedy};
}

Finding check_program(const char* name, const char* what_for, const char* remedy) {
  if (const auto path = runner::find_on_path(name)) return found(name, path->string());
  return {State::kNote, name, fmt::format("not found; {}", what_for), remedy};
}

void check_machine(std::vector<Finding>& findings) {
  const schema::EnvironmentRecord environment = observe::collect_environment();
  findings.push_back(found("machine", environment.machine_label));
  if (environment.is_virtual) {
    findings.push_back({State::kNote, "virtual machine",
                        fmt::format("this machine is itself virtual ({})", observe::virtualization(environment)),
                        "`bare-metal` here means: without the stand-in guest"});
  }
}

void check_store(const std::string& db, std::vector<Finding>& findings) {
  auto path = store_path(db, false);
  if (!path) {
    findings.push_back(from_error("store", path.error()));
    return;
  }
  std::error_code error;
  if (!schema::is_address(path->native()) && !fs::exists(*path, error)) {
    findings.push_back(found("store", path->string() + " (made by the first run)"));
    return;
  }
  auto store = schema::Store::open(*path, schema::OpenMode::kReadOnly);
  if (!store) {
    findings.push_back(from_error("store", store.error()));
    return;
  }
  if (auto status = store->check_integrity(); !status) {
    findings.push_back(from_error("store", status.error()));
    return;
  }
  findings.push_back(found("store", schema::shown(path->string())));
}

void check_lock(std::vector<Finding>& findings) {
  auto lock = runner::lock_machine({runner::machine_lock_path(), false, -1, {}});
  if (!lock) findings.push_back({State::kNote, "machine lock", lock.error().cause, "wait for it to end"});
}

void check_shims(const Session& session, const suite::Suite* suite, std::vector<Finding>& findings) {
  std::set<shim::Domain> needed;
  if (suite == nullptr) {
    for (const shim::DomainInfo& domain : shim::kDomains) {
      if (shim::has_shim(domain.domain) && runner::shim_acts_on(domain.domain, runner::this_os()))
        needed.insert(domain.domain);
    }
  } else {
    for (const suite::Arm& arm : suite->arms) {
      for (const auto* settings : {&arm.guest, &arm.set}) {
        if (auto status = shim::check_settings(*settings); !status) {
          findings.push_back(from_error("arm " + arm.name, status.error()));
          continue;
        }
        for (const auto& [name, value] : *settings) needed.insert(shim::kToggles[shim::find_toggle(name)].domain);
      }
    }
  }
  for (const shim::Domain domain : needed) {
    const shim::DomainInfo& info = shim::domain_info(domain);
    const std::string thing = fmt::format("{} shim", info.name);
    if (!shim::has_shim(domain) || !runner::shim_acts_on(domain, runner::this_os())) {
      findings.push_back(
          {State::kMissing, thing, fmt::format("answers on {} only", info.platform), "run the suite there"});
      continue;
    }
    auto path = runner::find_shim(session.install, info.name);
    findings.push_back(path ? found(thing, path->string()) : from_error(thing, path.error()));
  }
}

// The devices that llama-bench has under an arm's own variables; nothing if it could not be asked.
std::optional<std::string> list_devices(const fs::path& bench, const suite::Arm& arm) {
  auto target = target::make_target("local");
  if (!target) return std::nullopt;
  target::Job job;
  job.argv = {bench.string(), "--list-devices"};
  for (const auto& [name, value] : arm.env) job.set_env.push_back(name + "=" + value);
  job.time_limit = std::chrono::minutes(1);
  auto result = (*target)->run(job, {});
  if (!result || result->ending != target::Ending::kExited || result->exit_status != 0) return std::nullopt;
  return std::move(result->out);
}

// Every device that an arm names, each asked for once.
void check_devices(const suite::Suite& suite, const fs::path& bench, std::vector<Finding>& findings) {
  std::set<std::pair<std::string, std::map<std::string, std::string>>> seen;
  std::set<std::string> missing;  // told once, whichever arms need it
  for (const suite::Arm& arm : suite.arms) {
    if (arm.device.empty() || arm.device == "none" || arm.target != "local") continue;
    if (!seen.insert({arm.device, arm.env}).second) continue;
    const std::optional<std::string> listed = list_devices(bench, arm);
    std::string_view names = arm.device;
    while (!names.empty()) {
      const std::size_t end = std::min(names.find('/'), names.size());
      const std::string name(names.substr(0, end));
      names.remove_prefix(std::min(end + 1, names.size()));
      const std::string thing = "device " + name;
      const std::size_t at = listed ? listed->find("\n  " + name + ": ") : std::string::npos;
      if (at == std::string::npos) {
        if (!missing.insert(name).second) continue;
        findings.push_back({State::kMissing, thing,
                            fmt::format("arm '{}' needs it, and llama-bench does not list it", arm.name),
                            fmt::format("{} --list-devices, with the arm's env", bench.string())});
        continue;
      }
      const std::size_t begin = at + name.size() + 5;
      findings.push_back(found(thing, listed->substr(begin, listed->find('\n', begin) - begin)));
    }
  }
}

void check_model(const Session& session, const suite::Model& model, const fs::path& folder,
                 std::vector<Finding>& findings) {
  const std::string thing = "model " + model.name;
  if (model.kind == "none") return;
  if (!model.like.empty()) {
    auto shape = models::find_shape(model.like);
    findings.push_back(shape ? found(thing, fmt::format("a twin of {}, written on first use below {}", model.like,
                                                        session.install.cache.string()))
                             : from_error(thing, shape.error()));
    return;
  }
  auto file = runner::wanted_file(model, folder, session.install);
  std::error_code error;
  if (!file) {
    findings.push_back(from_error(thing, file.error()));
  } else if (fs::is_directory(file->path, error)) {  // what mlx-lm loads
    findings.push_back(found(thing, file->path.string()));
  } else {
    auto info = models::inspect(file->path);
    findings.push_back(info ? found(thing, info->file) : from_error(thing, info.error()));
  }
}

// Does each target answer? Nothing is started or sent there.
void check_targets(const suite::Suite& suite, std::vector<Finding>& findings) {
  const auto tools = target::make_local_tools();
  for (const auto& [name, spec] : suite.targets) {
    const std::string thing = "target " + name;
    auto target = target::make_target(name, spec, *tools);
    if (!target) {
      findings.push_back(from_error(thing, target.error()));
      continue;
    }
    // A tool of another machine is asked there only by a run.
    if (!spec.machine.empty() && spec.machine != "local" && spec.machine != name && spec.kind != "ssh") {
      findings.push_back({State::kNote, thing, fmt::format("lives on {}; not asked", spec.machine), ""});
      continue;
    }
    if (auto os = (*target)->os()) {
      findings.push_back(found(thing, fmt::format("{}, answers: {}", spec.kind, *os)));
    } else if (spec.lists.contains("start")) {
      findings.push_back({State::kNote, thing, "does not answer now", "`capbench run` starts it by its hook"});
    } else {
      findings.push_back(from_error(thing, os.error()));
    }
  }
}

int print_findings(const std::vector<Finding>& findings) {
  std::string text;
  bool missing = false;
  for (const Finding& finding : findings) {
    const char* mark = finding.state == State::kFound ? "ok" : finding.state == State::kNote ? "note" : "MISSING";
    text += fmt::format("{:<8} {:<16} {}\n", mark, finding.thing, finding.detail);
    if (!finding.remedy.empty()) text += fmt::format("{:<8} {:<16} -> {}\n", "", "", finding.remedy);
    missing = missing || finding.state == State::kMissing;
  }
  text += missing ? "something is missing\n" : "everything needed is here\n";
  const int printed = print_data(text);
  return printed != 0 ? printed : missing ? exit_status(ErrorKind::kMachine) : 0;
}

int doctor(const Session& session, const std::string& suite_path, const std::string& db) {
  std::vector<Finding> findings;
  std::optional<LoadedSuite> loaded;
  if (!suite_path.empty()) {
    auto result = load_suite(suite_path);
    if (!result) return fail(result.error());
    loaded = std::move(*result);
  }
  check_machine(findings);
  const std::string executable = loaded ? loaded->suite.runtime.executable : "";
  const std::string kind = loaded ? loaded->suite.runtime.kind : "llama-bench";
  auto bench = runner::find_runtime_program(session.install, kind, executable, loaded ? loaded->folder : fs::path("."));
  findings.push_back(bench ? found(kind, bench->string()) : from_error(kind, bench.error()));
  const bool with_quality = loaded && loaded->suite.quality && bench;
  if (with_quality && !fs::exists(bench->parent_path() / "llama-perplexity")) {
    findings.push_back({State::kMissing, "llama-perplexity", "not beside llama-bench; the suite checks quality",
                        "scripts/llama-bench --perplexity"});
  }
  check_shims(session, loaded ? &loaded->suite : nullptr, findings);
  if (loaded) {
    if (bench) check_devices(loaded->suite, *bench, findings);
    for (const suite::Model& model : loaded->suite.models) check_model(session, model, loaded->folder, findings);
    check_targets(loaded->suite, findings);
  }
  check_store(db, findings);
  check_lock(findings);
  if (!bench) {
    findings.push_back(check_program("g++", "needed to build llama-bench", "apt-get install g++"));
    findings.push_back(check_program("git", "needed to unpack llama.cpp's sources", "apt-get install git"));
    findings.push_back(check_program("npm", "needed to fetch llama.cpp", "apt-get install npm"));
  }
  return print_findings(findings);
}

}  // namespace

void add_doctor(CLI::App& app, Session& session) {
  struct Options {
    std::string suite;
    std::string db;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("doctor", "What is here, what is missing, what to type");
  command->add_option("SUITE", options->suite, "check what this suite needs");
  command->add_option("--db", options->db,
                      "the store, a file or postgresql://... [$XDG_DATA_HOME/capbench/results.db]");
  command->footer("Exit status 3: something is missing.\nExample:\n  capbench doctor suites/quickstart.json");
  command->callback([&session, options] {
    session.action = [&session, options] { return doctor(session, options->suite, options->db); };
  });
}

}  // namespace capbench::cli
