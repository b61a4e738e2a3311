#include "harness/target/far_files.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/digest.h"
#include "harness/target/file_scripts.h"

namespace capbench::target {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxFiles = 20'000;
constexpr int kMaxDepth = 32;

Error cannot_read(const fs::path& path, const std::error_code& problem) {
  return Error{ErrorKind::kUsage, path.string(), problem.message(), "check the path"};
}

// Hashing reads at least so fast on anything that runs a model, and a copy moves at least so fast.
std::chrono::seconds time_to_hash(std::uint64_t bytes) {
  return std::chrono::seconds(60 + bytes / 20'000'000);
}
std::chrono::seconds time_to_copy(std::uint64_t bytes) {
  return std::chrono::seconds(60 + bytes / 200'000);
}

Error refused(const FarShell& shell, const std::string& what, int status) {
  return Error{ErrorKind::kMachine, shell.who(), what + " (exit status " + std::to_string(status) + ")",
               "check the free space and the permissions of its work folder there, or set `work_dir`"};
}

}  // namespace

Result<std::vector<FarFiles::Item>> FarFiles::list_items(const fs::path& local, const DigestOf& digest_of) {
  std::error_code problem;
  const fs::path whole = fs::absolute(local, problem).lexically_normal();
  const std::string name = whole.has_filename() ? whole.filename().string() : whole.parent_path().filename().string();
  std::vector<Item> items;
  const fs::file_status status = fs::status(whole, problem);
  if (problem && status.type() != fs::file_type::not_found) return cannot_read(local, problem);
  if (fs::is_directory(status)) {
    constexpr auto kFollow = fs::directory_options::follow_directory_symlink;
    fs::recursive_directory_iterator entry(whole, kFollow, problem);
    for (; !problem && entry != fs::recursive_directory_iterator(); entry.increment(problem)) {
      if (entry.depth() > kMaxDepth || items.size() > kMaxFiles) {
        return Error{ErrorKind::kUsage, local.string(), "holds too many files, or a link to a folder above itself",
                     "name the folder that holds only what is needed"};
      }
      if (!entry->is_regular_file(problem) || problem) {
        problem.clear();  // sockets, and links that lead nowhere
        continue;
      }
      items.push_back({entry->path().string(), (name / entry->path().lexically_relative(whole)).string(), "", 0});
    }
    if (problem) return cannot_read(local, problem);
  } else if (fs::is_regular_file(status)) {
    items.push_back({whole.string(), name, "", 0});
  } else {
    return Error{ErrorKind::kUsage, local.string(), "no such file or folder", "check the path"};
  }
  std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.path < b.path; });
  for (Item& item : items) {
    auto digest = digest_of(item.local);
    if (!digest) return std::move(digest).error();
    item.digest = digest->sha256;
    item.bytes = digest->bytes;
  }
  return items;
}

Result<std::string> FarFiles::put(const fs::path& local, const DigestOf& digest_of, int stop_fd) {
  auto items = list_items(local, digest_of);
  if (!items) return std::move(items).error();
  if (items->empty()) return Error{ErrorKind::kUsage, local.string(), "holds no file", "check the path"};
  const bool is_folder = fs::is_directory(local);
  std::string key = items->front().digest;
  if (is_folder) {
    std::string listing;
    for (const Item& item : *items) listing += item.digest + "  " + item.path + "\n";
    key = sha256(listing);
  }
  const std::string& first = items->front().path;
  const std::string name = is_folder ? first.substr(0, first.find('/')) : first;
  const std::string place = key + "/" + name;
  if (const auto known = put_.find(place); known != put_.end()) {
    count_.files_kept += items->size();
    return known->second;
  }
  if (auto status = send_missing(*items, stop_fd); !status) return std::move(status).error();
  if (auto status = link(key, *items, stop_fd); !status) return std::move(status).error();
  return put_.emplace(place, work_dir_ + "/files/" + place).first->second;
}

Status FarFiles::send_missing(const std::vector<Item>& items, int stop_fd) {
  std::map<std::string, const Item*> missing;
  for (const Item& item : items) {
    if (!there_.contains(item.digest)) missing.emplace(item.digest, &item);
  }
  count_.files_kept += items.size() - missing.size();
  // So many digests that a command line holds them.
  constexpr std::size_t kAtOnce = 200;
  for (auto next = missing.begin(); next != missing.end();) {
    std::vector<std::string> digests;
    std::uint64_t bytes = 0;
    const auto first = next;
    for (; next != missing.end() && digests.size() < kAtOnce; ++next) {
      digests.push_back(next->first);
      bytes += next->second->bytes;
    }
    ToolLimits limits;
    limits.time_limit = time_to_hash(bytes);
    limits.stop_fd = stop_fd;
    auto answer = shell_.run(ask_script(work_dir_, digests), limits);
    if (!answer) return std::move(answer).error();
    if (answer->exit_status != 0) return refused(shell_, "its work folder cannot be read", answer->exit_status);
    auto blobs = read_blobs(answer->text);
    for (auto wanted = first; wanted != next; ++wanted) {
      const BlobAnswer& blob = blobs[wanted->first];
      if (blob.is_there) {
        ++count_.files_kept;
      } else if (auto status = send(*wanted->second, blob.part_bytes, stop_fd); !status) {
        return status;
      }
      there_.insert(wanted->first);
    }
  }
  return {};
}

// Sends what is missing of the file and has it verified. Both a broken connection and wrong bytes get a second attempt:
// the first goes on where it broke, the second begins anew.
Status FarFiles::send(const Item& item, std::uint64_t offset, int stop_fd) {
  ToolLimits limits;
  limits.stop_fd = stop_fd;
  if (pipe_ == nullptr || offset > item.bytes) offset = 0;
  std::string found;
  constexpr int kAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    limits.time_limit = time_to_copy(item.bytes - offset);
    auto sent = transfer(item, offset, limits);
    if (!sent && (sent.error().kind == ErrorKind::kInterrupted || attempt == kAttempts)) return sent;
    if (!sent) {
      limits.time_limit = time_to_hash(item.bytes);
      auto answer = shell_.run(ask_script(work_dir_, std::vector<std::string>{item.digest}), limits);
      if (!answer) return sent;
      const BlobAnswer blob = read_blobs(answer->text)[item.digest];
      offset = pipe_ != nullptr && blob.part_bytes <= item.bytes ? blob.part_bytes : 0;
      continue;
    }
    ++count_.files_sent;
    count_.bytes_sent += item.bytes - offset;
    limits.time_limit = time_to_hash(item.bytes);
    auto answer = shell_.run(store_script(work_dir_, item.digest), limits);
    if (!answer) return std::move(answer).error();
    const auto stored = read_stored(answer->text, item.digest);
    if (stored && stored->empty()) return {};
    found = stored.value_or("it cannot be stored");
    if (attempt >= 2) break;
    offset = 0;
  }
  return Error{ErrorKind::kMachine, shell_.who() + ": " + item.local,
               "arrived damaged: " + found + ", and should be " + item.digest,
               "check that the file does not change, and the free space there"};
}

Status FarFiles::transfer(const Item& item, std::uint64_t offset, const ToolLimits& limits) {
  if (pipe_ != nullptr) {
    auto answer = pipe_->run_once(receive_script(work_dir_, item.digest, offset == 0), limits, item.local, offset);
    if (!answer) return std::move(answer).error();
    if (answer->exit_status != 0) return refused(shell_, "cannot store " + item.local, answer->exit_status);
    return {};
  }
  const ToolCommand command = shell_.transport().copy_in(item.local, work_dir_ + "/blobs/" + item.digest + ".part");
  auto output = shell_.tools().run(command, limits);
  if (!output) return std::move(output).error();
  // Status 0 proves nothing; the digest will.
  if (output->exit_status != 0) return shell_.failure(command.argv.front(), *output);
  return {};
}

Status FarFiles::link(const std::string& key, const std::vector<Item>& items, int stop_fd) {
  std::vector<Link> links;
  for (const Item& item : items) links.push_back({item.digest, item.path});
  ToolLimits limits;
  limits.stop_fd = stop_fd;
  for (const std::string& script : link_scripts(work_dir_, key, links)) {
    auto answer = shell_.run(script, limits);
    if (!answer) return std::move(answer).error();
    if (answer->exit_status != 0) return refused(shell_, "its work folder cannot be written", answer->exit_status);
  }
  return {};
}

Status FarFiles::get(const std::string& remote, const fs::path& local, int stop_fd) {
  const std::string what = shell_.who() + ": " + remote;
  ToolLimits limits;
  limits.stop_fd = stop_fd;
  limits.time_limit = std::chrono::minutes(10);
  auto answer = shell_.run(digest_script(remote), limits);
  if (!answer) return std::move(answer).error();
  const auto expected = read_digest(answer->text);
  if (!expected) return Error{ErrorKind::kMachine, what, "cannot be read there", "check the path"};
  const std::string part = local.string() + ".part";
  Error problem;
  constexpr int kAttempts = 2;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    limits.time_limit = time_to_copy(expected->bytes);
    // The bytes alone, without marks: the digest says whether they are all there.
    const FarShell& way = pipe_ != nullptr ? *pipe_ : shell_;
    ToolCommand command = pipe_ != nullptr ? way.transport().execute(cat_script(remote), false)
                                           : way.transport().copy_out(remote, fs::absolute(part).string());
    if (pipe_ != nullptr) command.stdout_file = part;
    auto output = way.tools().run(command, limits);
    if (!output) return std::move(output).error();
    auto digest = sha256_file(part);
    if (digest && *digest == expected->digest) {
      std::error_code renamed;
      fs::rename(part, local, renamed);
      if (renamed) return Error{ErrorKind::kMachine, local.string(), renamed.message(), "check the folder"};
      return {};
    }
    problem = output->exit_status != 0
                  ? way.failure(command.argv.front(), *output)
                  : Error{ErrorKind::kMachine, what, "arrived damaged", "check the free space here, and try again"};
  }
  std::error_code ignored;
  fs::remove(part, ignored);
  return problem;
}

}  // namespace capbench::target
