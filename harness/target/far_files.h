// Files on a target behind a tool: sent once, named by their digests, verified there.
#ifndef CAPBENCH_HARNESS_TARGET_FAR_FILES_H_
#define CAPBENCH_HARNESS_TARGET_FAR_FILES_H_

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "harness/target/far_shell.h"
#include "harness/target/target.h"

namespace capbench::target {

class FarFiles {
 public:
  // `shell` runs scripts; `pipe` is a way to the same target whose stdin and stdout carry bytes unchanged, or null:
  // then files go by the shell's own copy commands.
  FarFiles(const FarShell& shell, const FarShell* pipe, std::string work_dir)
      : shell_(shell), pipe_(pipe), work_dir_(std::move(work_dir)) {}

  Result<std::string> put(const std::filesystem::path& local, const DigestOf& digest_of, int stop_fd);
  Status get(const std::string& remote, const std::filesystem::path& local, int stop_fd);
  const PutCount& count() const { return count_; }

 private:
  struct Item {
    std::string local;
    std::string path;  // below the folder of its key
    std::string digest;
    std::uint64_t bytes = 0;
  };
  static Result<std::vector<Item>> list_items(const std::filesystem::path& local, const DigestOf& digest_of);
  Status send_missing(const std::vector<Item>& items, int stop_fd);
  Status send(const Item& item, std::uint64_t offset, int stop_fd);
  Status transfer(const Item& item, std::uint64_t offset, const ToolLimits& limits);
  Status link(const std::string& key, const std::vector<Item>& items, int stop_fd);

  const FarShell& shell_;
  const FarShell* pipe_;
  std::string work_dir_;
  std::set<std::string> there_;             // digests verified in this sitting
  std::map<std::string, std::string> put_;  // "KEY/NAME" that is linked: its path
  PutCount count_;
};

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_FAR_FILES_H_
