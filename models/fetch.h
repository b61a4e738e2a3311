// Downloads a model file: resumed, verified while it comes, and under its final name only when it is whole.
#ifndef CAPBENCH_MODELS_FETCH_H_
#define CAPBENCH_MODELS_FETCH_H_

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "models/catalog.h"

namespace capbench::models {

// What to download, and what it must be.
struct FetchSource {
  std::string url;         // https://..., http://...
  std::uint64_t size = 0;  // bytes; 0: unpinned, what the server says is believed
  std::string sha256;      // empty: unpinned
};

inline constexpr std::string_view kModelHost = "https://huggingface.co";

// Where a catalog entry's file is: ENDPOINT/REPOSITORY/resolve/REVISION/FILE. An error for an entry without a file, or
// whose file is a folder.
Result<FetchSource> source_of(const CatalogEntry& entry, std::string_view endpoint = kModelHost);

struct FetchOptions {
  std::string token;  // sent to the first host alone, for files behind a licence; only over https, or to this machine
  int attempts = 6;   // in a row without a byte gained
  std::chrono::milliseconds first_wait{1000};  // doubled after each such attempt
  std::chrono::milliseconds longest_wait{60000};
  std::chrono::milliseconds connect_timeout{15000};
  std::chrono::milliseconds read_timeout{60000};  // without a byte
  // Called on the calling thread for every piece and ten times a second while it waits; returning false stops with
  // ErrorKind::kInterrupted, and a later call goes on from there. `total` is 0 while it is not known.
  std::function<bool(std::uint64_t done, std::uint64_t total)> progress;
  std::function<void(const std::string& what)> note;  // one line for people: a retry and its reason, a fresh start
};

struct FetchReport {
  std::filesystem::path path;
  std::uint64_t size = 0;
  std::string sha256;              // of the file
  bool pinned = false;             // it was known beforehand, and is this
  std::uint64_t resumed_from = 0;  // bytes that an earlier call had left
  bool was_there = false;          // nothing was downloaded
};

// The partial file is `path`.partial; two calls at once do not write the same one. If the file is there already, it is
// verified and left alone. Errors: kFinding for bytes that are not the pinned ones (removed, unless they were there
// before), kMachine for the network, the server and the disk, kInterrupted.
Result<FetchReport> fetch(const FetchSource& source, const std::filesystem::path& path,
                          const FetchOptions& options = {});

std::string fetch_text(const FetchReport& report);
std::string fetch_json(const FetchReport& report);

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_FETCH_H_
