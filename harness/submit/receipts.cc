#include "harness/submit/receipts.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "base/fd.h"
#include "base/file.h"

namespace capbench::submit {
namespace {

namespace fs = std::filesystem;

using nlohmann::json;

constexpr std::uint64_t kMostBytes = 16U << 20U;

Error not_receipts(const fs::path& path) {
  return {ErrorKind::kUsage, path.string(), "not a file of receipts", "move it away; it is made anew"};
}

// {"receipts":[...]}; a file that is not there or empty has none.
Result<json> load(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return json::array();
  auto text = read_file(path, kMostBytes);
  if (!text) return std::move(text).error();
  if (text->empty()) return json::array();
  json whole = json::parse(*text, nullptr, false);
  if (!whole.is_object() || !whole.contains("receipts") || !whole["receipts"].is_array()) return not_receipts(path);
  for (const json& entry : whole["receipts"]) {
    for (const char* name : {"server", "bundle", "receipt", "url", "at"}) {
      if (!entry.is_object() || !entry.contains(name) || !entry[name].is_string()) return not_receipts(path);
    }
  }
  return std::move(whole["receipts"]);
}

Receipt receipt_of(const json& entry) {
  const auto text = [&](const char* name) { return entry[name].get<std::string>(); };
  return {text("server"), text("bundle"), text("receipt"), text("url"), text("at")};
}

}  // namespace

fs::path default_receipts_path(const char* xdg_data_home, const char* home) {
  const bool given = xdg_data_home != nullptr && *xdg_data_home == '/';
  const fs::path base = given ? fs::path(xdg_data_home) : fs::path(home == nullptr ? "." : home) / ".local/share";
  return base / "capbench/receipts.json";
}

namespace {

// Every receipt but the one of that server and bundle, and `added` if there is one.
Status change(const fs::path& path, std::string_view server, std::string_view bundle_id, const Receipt* added) {
  std::error_code error;
  if (!path.parent_path().empty()) fs::create_directories(path.parent_path(), error);
  if (error) return file_error(path.parent_path(), error.value());
  const fs::path lock = path.string() + ".lock";
  const Fd held(::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!held.valid()) return file_error(lock, errno);
  while (::flock(held.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return file_error(lock, errno);
  }
  auto entries = load(path);
  if (!entries) return std::move(entries).error();
  json kept = json::array();
  for (json& entry : *entries) {
    if (entry["server"] != server || entry["bundle"] != bundle_id) kept.push_back(std::move(entry));
  }
  if (added != nullptr) {
    kept.push_back({{"server", added->server},
                    {"bundle", added->bundle_id},
                    {"receipt", added->receipt},
                    {"url", added->url},
                    {"at", added->at}});
  }
  // The new bytes get the mode of the old file, so it is there with the right one before they are written.
  const Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!file.valid() || ::fchmod(file.get(), 0600) != 0) return file_error(path, errno);
  return replace_file(path, json({{"receipts", kept}}).dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

}  // namespace

Status keep_receipt(const fs::path& path, const Receipt& receipt) {
  return change(path, receipt.server, receipt.bundle_id, &receipt);
}

Status forget_receipt(const fs::path& path, std::string_view server, std::string_view bundle_id) {
  return change(path, server, bundle_id, nullptr);
}

Result<std::optional<Receipt>> find_receipt(const fs::path& path, std::string_view server, std::string_view bundle_id) {
  auto entries = load(path);
  if (!entries) return std::move(entries).error();
  std::optional<Receipt> found;
  for (const json& entry : *entries) {
    Receipt receipt = receipt_of(entry);
    if (receipt.server != server || bundle_id.empty() || !receipt.bundle_id.starts_with(bundle_id)) continue;
    if (found) {
      return Error{ErrorKind::kUsage, std::string(bundle_id), "several bundles have ids that begin like this",
                   "give more of its digits"};
    }
    found = std::move(receipt);
  }
  return found;
}

}  // namespace capbench::submit
