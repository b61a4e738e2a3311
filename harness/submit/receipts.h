// The receipts that servers gave for bundles: whoever holds one can withdraw the bundle, so the file is the user's
// alone (mode 0600).
#ifndef CAPBENCH_HARNESS_SUBMIT_RECEIPTS_H_
#define CAPBENCH_HARNESS_SUBMIT_RECEIPTS_H_

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::submit {

struct Receipt {
  std::string server;     // ServerAddress::text()
  std::string bundle_id;  // 64 hexadecimal digits
  std::string receipt;    // the secret
  std::string url;        // where the server shows the bundle
  std::string at;         // UTC
};

// $XDG_DATA_HOME/capbench/receipts.json, else ~/.local/share/capbench/receipts.json.
std::filesystem::path default_receipts_path(const char* xdg_data_home, const char* home);

// Adds it; one of the same server and bundle is replaced. Two programs at once lose nothing. The folder is made.
Status keep_receipt(const std::filesystem::path& path, const Receipt& receipt);

// Takes it out again; one that is not there is no error.
Status forget_receipt(const std::filesystem::path& path, std::string_view server, std::string_view bundle_id);

// Nothing if there is none. `bundle_id` may be as many first digits as no other of that server has.
Result<std::optional<Receipt>> find_receipt(const std::filesystem::path& path, std::string_view server,
                                            std::string_view bundle_id);

}  // namespace capbench::submit

#endif  // CAPBENCH_HARNESS_SUBMIT_RECEIPTS_H_
