#include "harness/cli/command.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "base/file.h"
#include "models/catalog.h"
#include "schema/store.h"
#include "shim/common/evidence.h"

namespace capbench::cli {

namespace fs = std::filesystem;

int fail(const Error& error) {
  const std::string line = "capbench: " + to_string(error) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
  return exit_status(error.kind);
}

int print_data(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    return fail(file_error("standard output", errno));
  }
  return 0;
}

int write_output(const std::string& out, std::string_view text) {
  if (out.empty() || out == "-") return print_data(text);
  if (auto status = replace_file(out, text); !status) return fail(status.error());
  return 0;
}

namespace {

// What the suite's grammar does not know: the capabilities' names and levels, and the catalog.
Status check_words(const suite::Suite& suite) {
  const auto at = [](const std::string& path, Error error) {
    error.what = error.what.empty() ? path : path + ": " + error.what;
    return error;
  };
  for (std::size_t i = 0; i < suite.models.size(); ++i) {
    if (suite.models[i].like.empty()) continue;
    auto shape = models::find_shape(suite.models[i].like);
    if (!shape) return at("$.models[" + std::to_string(i) + "].like", std::move(shape).error());
  }
  for (std::size_t i = 0; i < suite.arms.size(); ++i) {
    const std::string arm = "$.arms[" + std::to_string(i) + "].";
    if (Status status = shim::check_settings(suite.arms[i].guest); !status) {
      return at(arm + "guest", std::move(status).error());
    }
    if (Status status = shim::check_settings(suite.arms[i].set); !status) {
      return at(arm + "set", std::move(status).error());
    }
  }
  return {};
}

}  // namespace

Result<LoadedSuite> load_suite(const std::string& path) {
  auto text = read_file(path, 1U << 20U);
  if (!text) return std::move(text).error();
  auto suite = suite::parse_suite(*text);
  if (!suite) {
    Error error = std::move(suite).error();
    error.what = error.what.empty() ? path : path + ": " + error.what;
    if (error.remedy.empty()) error.remedy = "correct that member; suites/README.md describes each";
    return error;
  }
  if (Status status = check_words(*suite); !status) {
    Error error = std::move(status).error();
    error.what = path + ": " + error.what;
    return error;
  }
  std::error_code ignored;
  return LoadedSuite{std::move(*suite), fs::absolute(path, ignored).parent_path()};
}

Result<fs::path> store_path(const std::string& option, bool create) {
  const fs::path path =
      option.empty() ? schema::default_store_path(std::getenv("XDG_DATA_HOME"), std::getenv("HOME")) : fs::path(option);
  std::error_code error;
  const fs::path folder = path.parent_path();
  if (create && !folder.empty() && !fs::exists(folder, error)) {
    fs::create_directories(folder, error);
    if (error) return file_error(folder, error.value());
  }
  return path;
}

}  // namespace capbench::cli
