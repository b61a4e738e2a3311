#include "schema/digest_cache.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <vector>

#include "base/digest.h"
#include "base/fd.h"
#include "base/file.h"
#include "schema/sqlite.h"

namespace capbench::schema {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kApplicationId = 0x63617064;  // "capd"
constexpr std::int64_t kFormat = 1;
constexpr std::int64_t kRacyNs = 2'000'000'000;  // the coarsest time stamps in use (FAT) have two seconds
constexpr int kAttempts = 3;

// What tells one state of a file from another.
struct Stamp {
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  std::int64_t inode = 0;
  std::int64_t device = 0;
  bool operator==(const Stamp&) const = default;
};

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

Stamp stamp_of(const struct stat& info) {
#ifdef __APPLE__
  const timespec modified = info.st_mtimespec;
  const timespec changed = info.st_ctimespec;
#else
  const timespec modified = info.st_mtim;
  const timespec changed = info.st_ctim;
#endif
  return {info.st_size, nanoseconds(modified), nanoseconds(changed), static_cast<std::int64_t>(info.st_ino),
          static_cast<std::int64_t>(info.st_dev)};
}

// Guards a row against a damaged page that still reads well.
std::string seal(const std::string& path, const Stamp& stamp, const std::string& digest) {
  std::string text = path + '\n';
  for (const std::int64_t number : {stamp.size, stamp.modified_ns, stamp.changed_ns, stamp.inode, stamp.device}) {
    text += std::to_string(number) + '\n';
  }
  return sha256(text + digest).substr(0, 16);
}

Result<std::string> hash(int fd, const fs::path& path) {
  if (::lseek(fd, 0, SEEK_SET) < 0) return file_error(path, errno);
  Sha256 sum;
  std::vector<char> buffer(1U << 20U);
  for (;;) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return file_error(path, errno);
    if (n == 0) return sum.finish();
    sum.update({buffer.data(), static_cast<std::size_t>(n)});
  }
}

Result<Database> open_cache(const fs::path& file) {
  std::error_code ignored;  // opening says it better
  fs::create_directories(file.parent_path(), ignored);
  if (fs::exists(file, ignored) && !fs::is_regular_file(file, ignored)) return file_error(file, EISDIR);
  Result<Database> database = Database::open(file, Database::Access::kCreate, std::chrono::milliseconds(200));
  if (!database) return database;
  const Result<std::int64_t> id = database->integer("PRAGMA application_id");
  if (!id) return id.error();
  const Result<std::int64_t> objects = database->integer("SELECT count(*) FROM sqlite_schema");
  if (!objects) return objects.error();
  const Result<std::int64_t> format = database->integer("PRAGMA user_version");
  if (!format) return format.error();
  if (*objects == 0 && *id == 0) {
    // Losing the last digests in a power cut is no harm, so no waiting for the disk.
    Status made = database->exec(
        "PRAGMA journal_mode = WAL; BEGIN IMMEDIATE;"
        "CREATE TABLE IF NOT EXISTS digest (path BLOB PRIMARY KEY, size INTEGER NOT NULL, modified_ns INTEGER NOT "
        "NULL, "
        "changed_ns INTEGER NOT NULL, inode INTEGER NOT NULL, device INTEGER NOT NULL, sha256 TEXT NOT NULL, "
        "seal TEXT NOT NULL) STRICT, WITHOUT ROWID;"
        "PRAGMA application_id = " +
        std::to_string(kApplicationId) + "; PRAGMA user_version = " + std::to_string(kFormat) + "; COMMIT");
    if (!made) return std::move(made).error();
  } else if (*id != kApplicationId || *format != kFormat) {
    return Error{ErrorKind::kUsage, file.string(), "not a digest cache of this program",
                 "remove it or set XDG_CACHE_HOME"};
  }
  if (Status status = database->exec("PRAGMA synchronous = NORMAL"); !status) return std::move(status).error();
  return database;
}

// Whether the header still says that the file is a digest cache, so that it may be thrown away. Offsets: SQLite file
// format 1.3.
bool is_ours(const fs::path& file) {
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<unsigned char, 100> header{};
  if (!fd.valid() || ::pread(fd.get(), header.data(), header.size(), 0) != static_cast<ssize_t>(header.size()))
    return false;
  const std::string_view magic("SQLite format 3\0", 16);
  if (!std::equal(magic.begin(), magic.end(), header.begin())) return false;
  std::int64_t id = 0;
  for (std::size_t i = 68; i < 72; ++i) id = id * 256 + header[i];
  return id == kApplicationId;
}

void remove_cache(const fs::path& file) {
  std::error_code ignored;
  for (const char* suffix : {"", "-wal", "-shm"}) {
    fs::path part = file;
    part += suffix;
    fs::remove(part, ignored);
  }
}

}  // namespace

struct DigestCache::State {
  fs::path file;
  std::function<std::int64_t()> now_ns;
  std::optional<Database> database;
  std::optional<Error> trouble;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;

  void open();
  void give_up(Error error);
  std::optional<std::string> find(const std::string& path, const Stamp& stamp);
  void remember(const std::string& path, const Stamp& stamp, const std::string& digest);
};

void DigestCache::State::open() {
  if (file.empty()) {
    trouble = Error{ErrorKind::kMachine, "the digest cache", "no folder for it is known", "set XDG_CACHE_HOME or HOME"};
    return;
  }
  Result<Database> opened = open_cache(file);
  if (!opened && opened.error().kind == ErrorKind::kUsage && is_ours(file)) {
    remove_cache(file);
    opened = open_cache(file);
  }
  if (!opened) return give_up(opened.error());
  database = std::move(*opened);
}

void DigestCache::State::give_up(Error error) {
  database.reset();
  trouble = std::move(error);
}

std::optional<std::string> DigestCache::State::find(const std::string& path, const Stamp& stamp) {
  if (!database) return std::nullopt;
  const auto look = [&]() -> Result<std::optional<std::string>> {
    Result<Statement> row = database->prepare(
        "SELECT sha256, seal FROM digest WHERE path = ? AND size = ? AND modified_ns = ? AND changed_ns = ? AND inode "
        "= ? "
        "AND device = ?");
    if (!row) return row.error();
    row->bind_blob(path)
        .bind(stamp.size)
        .bind(stamp.modified_ns)
        .bind(stamp.changed_ns)
        .bind(stamp.inode)
        .bind(stamp.device);
    const Result<bool> found = row->step();
    if (!found) return found.error();
    if (!*found || row->bytes(1) != seal(path, stamp, row->text(0))) return std::optional<std::string>();
    return std::optional<std::string>(row->text(0));
  };
  Result<std::optional<std::string>> answer = look();
  if (answer) return std::move(*answer);
  const Error error = answer.error();
  const bool damaged = error.kind == ErrorKind::kUsage;
  give_up(error);
  if (damaged && is_ours(file)) {
    remove_cache(file);
    trouble.reset();
    open();
  }
  return std::nullopt;
}

void DigestCache::State::remember(const std::string& path, const Stamp& stamp, const std::string& digest) {
  if (!database) return;
  Result<Statement> put = database->prepare(
      "INSERT OR REPLACE INTO digest (path, size, modified_ns, changed_ns, inode, device, sha256, seal) "
      "VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  Status status = put ? Status() : Status(put.error());
  if (put) {
    put->bind_blob(path)
        .bind(stamp.size)
        .bind(stamp.modified_ns)
        .bind(stamp.changed_ns)
        .bind(stamp.inode)
        .bind(stamp.device);
    status = put->bind(digest).bind(seal(path, stamp, digest)).run();
  }
  // Locked or full now may be free later; only this digest is not remembered.
  if (!status) trouble = std::move(status).error();
}

DigestCache::DigestCache(const fs::path& file, std::function<std::int64_t()> now_ns)
    : state_(std::make_unique<State>()) {
  state_->file = file;
  state_->now_ns = now_ns ? std::move(now_ns) : [] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::int64_t{std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()};
  };
  state_->open();
}
DigestCache::DigestCache(DigestCache&&) noexcept = default;
DigestCache& DigestCache::operator=(DigestCache&&) noexcept = default;
DigestCache::~DigestCache() = default;

Result<ArtifactRecord> DigestCache::digest(const fs::path& path) {
  // Not to hang on a pipe in place of a file: O_NONBLOCK does nothing to regular files.
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return file_error(path, errno);
  std::error_code failure;
  const std::string key = fs::absolute(path, failure).lexically_normal().string();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0) return file_error(path, errno);
    if (S_ISDIR(info.st_mode)) return file_error(path, EISDIR);
    if (!S_ISREG(info.st_mode)) {
      return Error{ErrorKind::kUsage, path.string(), "not a regular file", "name a file"};
    }
    const Stamp before = stamp_of(info);
    ArtifactRecord artifact{"", static_cast<std::uint64_t>(info.st_size), path.filename().string()};
    if (std::optional<std::string> known = state_->find(key, before)) {
      ++state_->hits;
      artifact.sha256 = std::move(*known);
      return artifact;
    }
    const std::int64_t started = state_->now_ns();
    Result<std::string> digest = hash(fd.get(), path);
    if (!digest) return digest.error();
    if (::fstat(fd.get(), &info) != 0) return file_error(path, errno);
    if (!(stamp_of(info) == before)) continue;
    ++state_->misses;
    artifact.sha256 = std::move(*digest);
    const bool settled = started - std::max(before.modified_ns, before.changed_ns) > kRacyNs;
    if (settled && !failure) state_->remember(key, before, artifact.sha256);
    return artifact;
  }
  return Error{ErrorKind::kMachine, path.string(), "changed while it was read",
               "try again when no other program writes to it"};
}

const std::optional<Error>& DigestCache::trouble() const {
  return state_->trouble;
}
std::uint64_t DigestCache::hits() const {
  return state_->hits;
}
std::uint64_t DigestCache::misses() const {
  return state_->misses;
}

fs::path default_digest_cache_path(const char* xdg_cache_home, const char* home) {
  if (xdg_cache_home != nullptr && xdg_cache_home[0] == '/')
    return fs::path(xdg_cache_home) / "capbench" / "digests.db";
  if (home != nullptr && home[0] != '\0') return fs::path(home) / ".cache" / "capbench" / "digests.db";
  return {};
}

}  // namespace capbench::schema
