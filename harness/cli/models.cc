#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "harness/cli/command.h"
#include "models/catalog.h"
#include "models/fetch.h"
#include "models/inspect.h"
#include "models/synth.h"
#include "models/verify.h"
#include "schema/store_file.h"

namespace capbench::cli {
namespace {

struct Options {
  std::string file;
  std::string like;
  std::vector<std::string> names;
  std::filesystem::path folder;  // of fetched models
  std::string out;
  std::string from{models::kModelHost};
  std::string fill = "planted";
  std::uint64_t seed = 1;
  bool json = false;
};

int inspect(const Options& options) {
  auto info = models::inspect(options.file);
  if (!info) return fail(info.error());
  return print_data(options.json ? models::inspect_json(*info) : models::inspect_text(*info));
}

int verify(const Options& options) {
  auto verified = models::verify(options.file, options.like);
  if (!verified) return fail(verified.error());
  return print_data(options.json ? models::verify_json(*verified) : models::verify_text(*verified));
}

int synth(const Options& options) {
  auto shape = models::find_shape(options.like);
  if (!shape) return fail(shape.error());
  models::SynthOptions synth_options;
  const bool show = ::isatty(STDERR_FILENO) != 0;
  if (show) {
    synth_options.progress = [](std::uint64_t done, std::uint64_t total) {
      tell(fmt::format("\rwriting: {} %", done * 100 / std::max<std::uint64_t>(total, 1)));
      std::fflush(stderr);
      return true;
    };
  }
  if (const Status status = schema::may_replace(options.out); !status) return fail(status.error());
  auto report = models::synth(*shape, options.seed, models::fill_of(options.fill).value_or(models::Fill::kPlanted),
                              options.out, synth_options);
  if (show) tell("\r\x1b[K");
  if (!report) return fail(report.error());
  return print_data(options.json ? models::synth_json(*report) : models::synth_text(*report));
}

// The exit status. Without --out the file goes where `capbench run` looks for it.
int fetch_one(const std::string& name, const Options& options) {
  auto entry = models::find_model(name);
  if (!entry) return fail(entry.error());
  auto source = models::source_of(*entry, options.from);
  if (!source) return fail(source.error());
  std::filesystem::path out = options.out;
  if (const Status status = schema::may_replace(out); !status) return fail(status.error());
  if (out.empty()) {
    out = options.folder / entry->file->file_name;
    std::error_code error;
    std::filesystem::create_directories(out.parent_path(), error);
    if (error) return fail(file_error(out.parent_path(), error.value()));
  }
  const bool show = ::isatty(STDERR_FILENO) != 0;
  std::uint64_t shown = 0;
  // Ctrl-C may end the process at any moment: what has come stays in the partial file.
  models::FetchOptions fetch_options;
  if (const char* token = std::getenv("HF_TOKEN"); token != nullptr) fetch_options.token = token;
  fetch_options.note = [show](const std::string& what) { tell((show ? "\r\x1b[K" : "") + what + "\n"); };
  fetch_options.progress = [&](std::uint64_t done, std::uint64_t total) {
    // Every MiB is often enough for a terminal.
    if (show && (done >> 20U) != shown) {
      shown = done >> 20U;
      tell(total == 0 ? fmt::format("\rdownloading: {} MiB", shown)
                      : fmt::format("\rdownloading: {} of {} MiB", shown, total >> 20U));
      std::fflush(stderr);
    }
    return true;
  };
  auto report = models::fetch(*source, out, fetch_options);
  if (show) tell("\r\x1b[K");
  if (!report) return fail(report.error());
  return print_data(options.json ? models::fetch_json(*report) : models::fetch_text(*report));
}

int fetch(const Options& options) {
  if (!options.out.empty() && options.names.size() > 1) {
    return fail(Error{ErrorKind::kUsage, "--out", "names one file, and several models are to be fetched",
                      "fetch them one by one, or without --out"});
  }
  int worst = 0;
  for (const std::string& name : options.names) worst = std::max(worst, fetch_one(name, options));
  return worst;
}

}  // namespace

void add_models(CLI::App& app, Session& session) {
  CLI::App* models = app.add_subcommand("models", "The model files: what is known, what a file is, twins");
  models->require_subcommand(1);
  auto options = std::make_shared<Options>();
  const auto add = [&](const char* name, const char* about, int (*act)(const Options&)) {
    CLI::App* command = models->add_subcommand(name, about);
    command->footer("");  // else it would show the application's
    command->add_flag("--json", options->json, "print JSON");
    command->callback([&session, options, act] {
      options->folder = runner::models_folder(session.install);
      session.action = [options, act] { return act(*options); };
    });
    return command;
  };
  add("list", "the catalog: pinned files, and shapes that a twin can be written of",
      [](const Options& o) { return print_data(o.json ? models::catalog_json() : models::catalog_text()); });
  CLI::App* fetch_command =
      add("fetch", "download a pinned file: resumed where it stopped, verified while it comes", &fetch);
  fetch_command->add_option("NAME", options->names, "catalog entries")->required();
  fetch_command->add_option("--out", options->out,
                            "the file to write [the published name, in the cache, where `run` finds it]");
  fetch_command->add_option("--from", options->from, "the host, or a mirror with the same paths")
      ->capture_default_str();
  add("inspect", "architecture, parameters, quantisation mix and size of a GGUF file", &inspect)
      ->add_option("FILE", options->file, "the file")
      ->required();
  CLI::App* verify_command = add("verify", "is the file what it claims to be? exit status 1 if not", &verify);
  verify_command->add_option("FILE", options->file, "the file")->required();
  verify_command->add_option("--like", options->like, "the catalog entry it should be");
  CLI::App* synth_command = add("synth", "write a structural twin: real shapes and types, weights from a seed", &synth);
  synth_command->add_option("--like", options->like, "the catalog entry")->required();
  synth_command->add_option("--out", options->out, "the file to write")->required();
  synth_command->add_option("--seed", options->seed, "of the weights")->capture_default_str();
  synth_command
      ->add_option("--fill", options->fill, "planted: quality can be judged; pattern: for speed alone, at disk speed")
      ->check(CLI::IsMember({"planted", "pattern"}))
      ->capture_default_str();
  models->footer(
      "Examples:\n"
      "  capbench models fetch tinyllama-1.1b\n"
      "  capbench models synth --like tinyllama-1.1b --out twin.gguf\n"
      "  capbench models inspect twin.gguf");
}

}  // namespace capbench::cli
