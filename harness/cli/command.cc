#include "harness/cli/command.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "base/file.h"
#include "models/catalog.h"
#include "schema/address.h"
#include "schema/store.h"
#include "schema/store_file.h"
#include "shim/common/evidence.h"

namespace capbench::cli {

namespace fs = std::filesystem;

std::string whole_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = failure == std::errc() && end == text.data() + text.size();
  return whole ? "" : text + ": expected an integer from 0 to 18446744073709551615";
}

void tell(std::string_view text) {
  static_cast<void>(std::fwrite(text.data(), 1, text.size(), stderr));
}

namespace {

// As a terminal may have it: errors name what files and servers of others say. No control characters, not those of two
// bytes either, and none that turn the direction of text around.
std::string shown(std::string_view text) {
  const auto harmful = [](std::string_view rest) -> std::size_t {
    const auto byte = [&](std::size_t i) { return i < rest.size() ? static_cast<unsigned char>(rest[i]) : 0U; };
    if ((byte(0) < ' ' && rest[0] != '\n' && rest[0] != '\t') || byte(0) == 0x7F) return 1;
    if (byte(0) == 0xC2 && byte(1) >= 0x80 && byte(1) < 0xA0) return 2;
    const bool marks = byte(0) == 0xE2 && byte(1) == 0x80 && byte(2) >= 0xAA && byte(2) <= 0xAE;     // U+202A to U+202E
    const bool isolates = byte(0) == 0xE2 && byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9;  // U+2066 to U+2069
    return marks || isolates ? 3 : 0;
  };
  std::string result;
  while (!text.empty()) {
    const std::size_t bytes = harmful(text);
    result += bytes == 0 ? text[0] : '?';
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return result;
}

}  // namespace

int fail(const Error& error) {
  tell("capbench: " + shown(to_string(error)) + "\n");
  return exit_status(error.kind);
}

int print_data(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0) {
    if (errno == EPIPE) return 0;
    return fail(file_error("standard output", errno));
  }
  return 0;
}

namespace {

// A device or a pipe takes the bytes; only a file can be replaced.
int write_through(const fs::path& path, std::string_view text) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "we"), &std::fclose);
  if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
      std::fflush(file.get()) != 0) {
    return fail(file_error(path, errno));
  }
  return 0;
}

}  // namespace

int write_output(const std::string& out, std::string_view text) {
  if (out.empty() || out == "-") return print_data(text);
  if (const Status status = schema::may_replace(out); !status) return fail(status.error());
  std::error_code unresolved;
  const fs::path target = fs::canonical(out, unresolved);  // a link stays a link
  if (!unresolved && !fs::is_regular_file(target)) return write_through(target, text);
  if (auto status = replace_file(unresolved ? fs::path(out) : target, text); !status) {
    return fail(status.error());
  }
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
    if (!suite.models[i].catalog.empty()) {
      auto entry = models::find_model(suite.models[i].catalog);
      if (!entry) return at("$.models[" + std::to_string(i) + "].catalog", std::move(entry).error());
    }
    if (suite.models[i].like.empty()) continue;
    auto shape = models::find_shape(suite.models[i].like);
    if (!shape) return at("$.models[" + std::to_string(i) + "].like", std::move(shape).error());
  }
  for (std::size_t i = 0; i < suite.arms.size(); ++i) {
    const bool is_designed = i >= suite.arms.size() - suite.designed_arms;
    const std::string arm =
        is_designed ? "$.design: arm \"" + suite.arms[i].name + "\": " : "$.arms[" + std::to_string(i) + "].";
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
  if (schema::is_address(option)) return fs::path(option);
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
