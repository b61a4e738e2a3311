#include "reports/server/uploads.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/digest.h"
#include "base/fd.h"
#include "base/file.h"
#include "reports/server/tokens.h"

namespace capbench::server {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".part";

std::optional<std::uint64_t> number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

Uploads::Answer answer(int status, std::string cause, std::string remedy, std::uint64_t offset = 0) {
  return {status, {ErrorKind::kUsage, "the upload", std::move(cause), std::move(remedy)}, offset};
}

}  // namespace

std::optional<ContentRange> parse_content_range(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (text.substr(0, kUnit.size()) != kUnit) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const std::size_t dash = text.find('-');
  const std::size_t slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) return std::nullopt;
  const auto first = number(text.substr(0, dash));
  const auto last = number(text.substr(dash + 1, slash - dash - 1));
  const auto total = number(text.substr(slash + 1));
  if (!first || !last || !total || *first > *last || *last >= *total) return std::nullopt;
  return ContentRange{*first, *last, *total};
}

// The size is part of the name, so that a session is one file and nothing can disagree with it.
fs::path Uploads::file(std::string_view id, std::uint64_t total) const {
  return folder_ / (std::string(id) + "." + std::to_string(total) + std::string(kEnding));
}

std::map<std::string, Uploads::Session, std::less<>> Uploads::sessions() {
  std::map<std::string, Session, std::less<>> found;
  std::error_code failure;
  const auto oldest = fs::file_time_type::clock::now() - limits_.age;
  for (fs::directory_iterator it(folder_, failure), end; !failure && it != end; it.increment(failure)) {
    const std::string name = it->path().filename().string();
    if (name.size() < 64 + 2 + kEnding.size() || name[64] != '.' || !is_sha256(std::string_view(name).substr(0, 64)) ||
        name.substr(name.size() - kEnding.size()) != kEnding) {
      continue;
    }
    const auto total = number(std::string_view(name).substr(65, name.size() - 65 - kEnding.size()));
    std::error_code gone;
    const std::uint64_t size = fs::file_size(it->path(), gone);
    const auto changed = fs::last_write_time(it->path(), gone);
    if (!total || gone) continue;
    if (changed < oldest || size > *total) {
      fs::remove(it->path(), gone);
      continue;
    }
    found.insert_or_assign(name.substr(0, 64), Session{*total, size, changed});
  }
  return found;
}

Uploads::Answer Uploads::put(std::string_view id, const ContentRange& range, std::string_view part) {
  if (part.size() != range.last - range.first + 1) {
    return answer(400, "Content-Range and the body have different lengths", "send exactly the bytes of the range");
  }
  if (part.size() > limits_.part_bytes) {
    return answer(413, "a part of more than " + std::to_string(limits_.part_bytes) + " bytes", "send smaller parts");
  }
  if (range.total > most_bytes_) {
    return answer(413, "a bundle of more than " + std::to_string(most_bytes_) + " bytes",
                  "submit less at once, or without raw output");
  }
  const std::lock_guard lock(mutex_);
  const auto all = sessions();
  const auto mine = all.find(id);
  std::uint64_t offset = 0;
  if (mine != all.end()) {
    if (mine->second.total != range.total && range.first == 0) {
      // The same bundle in another file, with a signature perhaps: that one is given up for it.
      std::error_code ignored;
      fs::remove(file(id, mine->second.total), ignored);
    } else if (mine->second.total != range.total) {
      return answer(409, "begun with a size of " + std::to_string(mine->second.total) + " bytes",
                    "send the same file, or begin again", mine->second.offset);
    } else {
      offset = mine->second.offset;
    }
  } else {
    std::uint64_t bytes = range.total;
    for (const auto& [other, session] : all) bytes += session.total;
    if (all.size() >= limits_.sessions || bytes > limits_.total_bytes) {
      return answer(503, "too many uploads are under way", "try again later");
    }
  }
  if (range.first > offset) {
    return answer(409, "the part does not begin where the last one ended", "go on at Upload-Offset", offset);
  }
  if (range.last < offset) return {0, {}, offset};
  const std::string_view fresh = part.substr(static_cast<std::size_t>(offset - range.first));
  std::error_code failure;
  fs::create_directories(folder_, failure);
  const fs::path path = file(id, range.total);
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  int code = fd.valid() ? 0 : errno;
  // Another server on the same store may be writing the same part: the lock and the size decide who is first.
  struct stat now = {};
  if (code == 0 && (::flock(fd.get(), LOCK_EX) != 0 || ::fstat(fd.get(), &now) != 0)) code = errno;
  if (code == 0 && static_cast<std::uint64_t>(now.st_size) != offset) {
    return answer(409, "another part has come in between", "go on at Upload-Offset",
                  static_cast<std::uint64_t>(now.st_size));
  }
  if (code == 0 && ::lseek(fd.get(), 0, SEEK_END) < 0) code = errno;
  if (code == 0) code = write_all(fd.get(), fresh);
  if (code != 0) {
    // What was written stays a beginning of the part.
    Error error = file_error(path, code);
    return {code == ENOSPC ? 507 : 500, {error.kind, "the upload", error.cause, "try again later"}, offset};
  }
  return {0, {}, offset + fresh.size()};
}

std::optional<Uploads::Progress> Uploads::progress(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto all = sessions();
  const auto mine = all.find(id);
  if (mine == all.end()) return std::nullopt;
  return Progress{mine->second.offset, mine->second.total};
}

Result<std::string> Uploads::read(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto all = sessions();
  const auto mine = all.find(id);
  if (mine == all.end()) {
    return Error{ErrorKind::kUsage, "the upload", "there is none of that id", "send the parts first, or the whole"};
  }
  if (mine->second.offset != mine->second.total) {
    return Error{ErrorKind::kUsage, "the upload",
                 std::to_string(mine->second.offset) + " of " + std::to_string(mine->second.total) + " bytes are there",
                 "send the rest first"};
  }
  return read_file(file(id, mine->second.total), most_bytes_);
}

void Uploads::remove(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const auto all = sessions();
  const auto mine = all.find(id);
  std::error_code ignored;
  if (mine != all.end()) fs::remove(file(id, mine->second.total), ignored);
}

}  // namespace capbench::server
