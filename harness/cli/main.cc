#include <csignal>
#include <exception>
#include <new>

#include "harness/cli/command.h"
#include "harness/cli/help.h"
#include "harness/cli/site.h"
#include "harness/cli/watch.h"
#include "harness/runner/version.h"

#ifdef __linux__
// jemalloc's settings, by the name under which it looks for them: jemalloc(3). A million results are many short texts.
// In huge pages they take a hundredth of the page faults, each of which costs a guest microseconds; where the system
// has none to give, nothing is lost. One arena does for the few threads that gather them, and leaves little unused.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as jemalloc declares it.
extern "C" const char* malloc_conf;
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
const char* malloc_conf = "thp:always,narenas:1";
#endif

// NOLINTNEXTLINE(bugprone-exception-escape): only when memory runs out again while that is being told.
int main(int argc, char** argv) {
  using namespace capbench;
  // A file-size limit is an error of write(2) to report, not a reason to die.
  std::signal(SIGXFSZ, SIG_IGN);
  // So is a reader that has gone away. What is measured gets the usual dispositions back.
  std::signal(SIGPIPE, SIG_IGN);
  cli::Session session;
  session.install = runner::find_install(argv[0]);
  CLI::App app{"Reproducible benchmarks of local LLMs: which device capability is each speedup worth?", "capbench"};
  app.set_version_flag("--version", "capbench " + std::string(runner::kVersion));
  app.require_subcommand(1);
  app.formatter(cli::help_formatter());
  app.footer(
      "Exit status: 0 done; 1 a finding (a trial not ok, a failed check); 2 wrong\n"
      "usage or input; 3 this machine cannot do it; 130 interrupted.\n"
      "Examples:\n"
      "  capbench doctor suites/quickstart.json\n"
      "  capbench run suites/quickstart.json --db results.db\n"
      "  capbench report speedup --db results.db");
  cli::add_doctor(app, session);
  cli::add_plan(app, session);
  cli::add_run(app, session);
  cli::add_exclude(app, session);
  cli::add_report(app, session);
  cli::add_check(app, session);
  cli::add_watch(app, session);
  cli::add_import(app, session);
  cli::add_export(app, session);
  cli::add_models(app, session);
  cli::add_probe(app, session);
  cli::add_shim(app, session);
  cli::add_inspect(app, session);
  cli::add_explain(app, session);
  cli::add_submit(app, session);
  cli::add_withdraw(app, session);
  cli::add_ingest(app, session);
  cli::add_copy(app, session);
  cli::add_verify(app, session);
  cli::add_serve(app, session);
  cli::add_site(app, session);
  // The parser would take a word that is no subcommand for a missing one, or answer --help behind it as if it were
  // none.
  const auto named = [&](const CLI::App* subcommand) { return argc > 1 && subcommand->get_name() == argv[1]; };
  if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(named).empty()) {
    return cli::fail({ErrorKind::kUsage, argv[1], "no such subcommand", "capbench --help, which lists them"});
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // --help and --version come here as well, with status 0; every real usage error is 2.
    return app.exit(error) == 0 ? 0 : 2;
  }
  try {
    return session.action ? session.action() : 2;
  } catch (const std::bad_alloc&) {
    return cli::fail(
        {ErrorKind::kMachine, "memory", "there is not enough of it", "close other programs, or give it more"});
  } catch (const std::exception& error) {
    return cli::fail(
        {ErrorKind::kMachine, "capbench", error.what(), "run it again; what was measured is in the store"});
  }
}
