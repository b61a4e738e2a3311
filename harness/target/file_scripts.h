// The scripts that keep files on a target, and how to read what they print. Pure.
//
//   WORK/blobs/SHA256        each file once, by its digest; SHA256.part while it is on its way
//   WORK/files/KEY/NAME      a file or a folder under its own name: hard links to blobs. KEY is the file's digest, or
//   the
//                            digest of the folder's list
#ifndef CAPBENCH_HARNESS_TARGET_FILE_SCRIPTS_H_
#define CAPBENCH_HARNESS_TARGET_FILE_SCRIPTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::target {

// Makes the work folder. `work_dir` empty: `capbench/target` in the user's cache folder there.
std::string ready_script(const std::string& work_dir);

struct Ready {
  std::string work_dir;  // absolute
  std::string system;    // `uname -s`
};
std::optional<Ready> read_ready(std::string_view text);

// Asks which blobs are there. A blob whose bytes are not what its name says is removed.
std::string ask_script(const std::string& work_dir, std::span<const std::string> digests);

struct BlobAnswer {
  bool is_there = false;
  std::uint64_t part_bytes = 0;  // of an unfinished copy
};
// By digest. A digest that is not answered is missing.
std::map<std::string, BlobAnswer> read_blobs(std::string_view text);

// Appends stdin to the unfinished copy (from its beginning if `anew`).
std::string receive_script(const std::string& work_dir, const std::string& digest, bool anew);

// Verifies the unfinished copy and gives it its final name, or removes it. Prints "stored DIGEST" or "wrong DIGEST".
std::string store_script(const std::string& work_dir, const std::string& digest);
// Empty: stored. Otherwise what was found instead ("its SHA-256 there is ..."). Absent: no answer.
std::optional<std::string> read_stored(std::string_view text, const std::string& digest);

struct Link {
  std::string digest;
  std::string path;  // below WORK/files/KEY
};
// In order, each safe to repeat; more than one where the list is long.
std::vector<std::string> link_scripts(const std::string& work_dir, const std::string& key, std::span<const Link> links);

// Prints the file's bytes and nothing else.
std::string cat_script(const std::string& path);

// Prints the file's "DIGEST SIZE".
std::string digest_script(const std::string& path);
struct FoundFile {
  std::string digest;
  std::uint64_t bytes = 0;
};
std::optional<FoundFile> read_digest(std::string_view text);

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_FILE_SCRIPTS_H_
