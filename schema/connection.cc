#include "schema/connection.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <thread>
#include <utility>

#include "base/file.h"
#include "schema/address.h"
#include "schema/migrations.h"
#include "schema/sqlite.h"

namespace capbench::schema {
namespace {

namespace fs = std::filesystem;

fs::path beside(const fs::path& path, const char* suffix) {
  fs::path file = path;
  file += suffix;
  return file;
}

fs::path wal_of(const fs::path& path) {
  return beside(path, "-wal");
}

// -1 if there is none.
std::int64_t size_of(const fs::path& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 ? info.st_size : -1;
}

// Nothing (there is no such file yet), or an error for what cannot be a store.
Status check_kind(const fs::path& path, bool must_exist) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) {
    if (errno != ENOENT) return file_error(path, errno);
    if (!must_exist) return {};
    Error error = file_error(path, ENOENT);
    error.remedy = "measure something first (`capbench run SUITE`), or name the store with --db";
    return error;
  }
  if (S_ISDIR(info.st_mode)) return file_error(path, EISDIR);
  if (!S_ISREG(info.st_mode)) {
    return Error{ErrorKind::kUsage, path.string(), "neither a file nor absent", "name a file with --db"};
  }
  return {};
}

// The reason why this user cannot write to `path`, asked of the system: SQLite tries again for reading and reports only
// that.
Status check_writable(const fs::path& path) {
  const auto writable = [](const fs::path& place, int mode) {
    return ::faccessat(AT_FDCWD, place.c_str(), mode, AT_EACCESS) == 0;
  };
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (writable(path, F_OK)) {
    if (!writable(path, R_OK)) return file_error(path, errno);
    if (!writable(path, W_OK)) return sqlite_error(path, SQLITE_READONLY, "", 0);
  }
  if (writable(folder, W_OK | X_OK)) return {};
  // The journal lies beside the store.
  return file_error(folder, errno);
}

// SQLite does not wait for locks while it changes the journal's kind, so this does.
Status use_wal(Database& database, std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (;;) {
    // Where the file system has no shared memory the answer is another kind of journal, which is as safe and only
    // slower.
    const Result<std::string> journal = database.text("PRAGMA journal_mode = WAL");
    if (journal) return {};
    if (last_sqlite_code(database) != SQLITE_BUSY || std::chrono::steady_clock::now() >= deadline)
      return journal.error();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// A program that was killed while it wrote left a journal that says how to undo that. Who may only read cannot follow
// it; whether this user could, and it is done.
bool undo_half_written(const fs::path& path, std::chrono::milliseconds patience) {
  Result<Database> database = Database::open(path, Database::Access::kWrite, patience);
  return database && database->integer("PRAGMA schema_version").ok();
}

}  // namespace

Result<Connection> Connection::open(const fs::path& path, OpenMode mode, std::chrono::milliseconds patience) {
  if (path.empty()) return Error{ErrorKind::kUsage, "the store", "its path is empty", "name a file with --db"};
  if (is_address(path.native())) return open_address(path, mode, patience);
  return mode == OpenMode::kCreate ? open_for_writing(path, patience) : open_for_reading(path, patience);
}

Result<Connection> Connection::open_address(const fs::path& address, OpenMode mode,
                                            std::chrono::milliseconds patience) {
  const bool writes = mode == OpenMode::kCreate;
  Result<Database> database =
      Database::open(address, writes ? Database::Access::kCreate : Database::Access::kRead, patience);
  if (!database) return std::move(database).error();
  const Result<Content> content = examine(*database, postgres_migrations());
  if (!content) return content.error();
  if (writes && *content != Content::kCurrent) {
    if (Status status = migrate(*database, postgres_migrations()); !status) return std::move(status).error();
  } else if (*content == Content::kEmpty) {
    return Error{ErrorKind::kUsage, database->path().string(), "empty: nothing was stored yet",
                 "measure something first (`capbench run SUITE --db ...`), or name another store with --db"};
  } else if (*content == Content::kOlder) {
    return Error{
        ErrorKind::kUsage, database->path().string(), "of an older version of capbench",
        "bring it up to date: open it once for writing, for instance with `capbench ingest` or `capbench serve`"};
  }
  return Connection(std::move(*database), mode, patience);
}

Result<Connection> Connection::open_for_writing(const fs::path& path, std::chrono::milliseconds patience) {
  if (Status status = check_kind(path, false); !status) return std::move(status).error();
  if (path.has_parent_path()) {
    std::error_code failure;
    fs::create_directories(path.parent_path(), failure);
    if (failure && !fs::is_directory(path.parent_path())) return file_error(path.parent_path(), failure.value());
  }
  if (Status status = check_writable(path); !status) return std::move(status).error();
  Result<Database> opened = Database::open(path, Database::Access::kCreate, patience);
  if (!opened) return opened.error();
  Database& database = *opened;
  if (database.read_only()) return sqlite_error(path, SQLITE_READONLY, "", 0);
  // Looked at before anything is changed: a foreign file stays as it is.
  const Result<Content> content = examine(database, migrations());
  if (!content) return content.error();
  const bool is_new = *content == Content::kEmpty;
  if (!is_new) {
    if (Status status = use_wal(database, patience); !status) return std::move(status).error();
  }
  // Names are digests, so a trial touches pages all over the file: with SQLite's own 2 MB for them, a batch would read
  // and write each many times. What one part of a batch may have to undo stays in memory too.
  if (Status status = database.exec("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; "
                                    "PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY");
      !status) {
    return std::move(status).error();
  }
  if (is_new) {
    // A row of results, its settings and its samples as text, is half a kilobyte and more: twice SQLite's own page
    // makes an import a tenth cheaper, and larger ones gain nothing on top.
    if (Status status = database.exec("PRAGMA page_size = 8192"); !status) return std::move(status).error();
  }
  if (*content != Content::kCurrent) {
    if (Status status = migrate(database, migrations()); !status) return std::move(status).error();
  }
  Connection connection(std::move(database), OpenMode::kCreate, patience);
  connection.is_new_ = is_new;
  return connection;
}

Result<Connection> Connection::open_for_reading(const fs::path& path, std::chrono::milliseconds patience) {
  if (Status status = check_kind(path, true); !status) return std::move(status).error();
  const bool wal_in_use = size_of(wal_of(path)) > 0;
  // One that a killed program left says how to undo what it had half written.
  const bool journal_in_use = size_of(beside(path, "-journal")) > 0;
  const Stamp before = stamp(path);
  Result<Database> opened = Database::open(path, Database::Access::kRead, patience);
  if (!opened) return opened.error();
  Result<Content> content = examine(*opened, migrations());
  int code = last_sqlite_code(*opened);
  if (!content && code == SQLITE_READONLY && journal_in_use && undo_half_written(path, patience)) {
    opened = Database::open(path, Database::Access::kRead, patience);
    if (!opened) return opened.error();
    content = examine(*opened, migrations());
    code = last_sqlite_code(*opened);
  }
  bool unlocked = false;
  if (!content && (code == SQLITE_CANTOPEN || code == SQLITE_READONLY) && !wal_in_use && !journal_in_use) {
    // The folder is closed to this user, so SQLite cannot make its lock file. Everything is in the file itself.
    Result<Database> immutable = Database::open(path, Database::Access::kImmutable, patience);
    if (!immutable) return immutable.error();
    opened = std::move(immutable);
    content = examine(*opened, migrations());
    unlocked = true;
  }
  if (!content) return content.error();
  Connection connection(std::move(*opened), OpenMode::kReadOnly, patience);
  connection.tidy_ = !wal_in_use && !unlocked;
  if (unlocked) connection.unlocked_ = before;
  if (*content == Content::kEmpty) {
    return Error{ErrorKind::kUsage, path.string(), "empty: nothing was stored yet",
                 "measure something first (`capbench run SUITE`), or name another store with --db"};
  }
  if (*content == Content::kOlder) {
    // Read through a copy that is brought up to date; the file stays as it is.
    Result<Database> copy = connection.database_.copy_to_memory();
    if (!copy) return copy.error();
    if (Status status = migrate(*copy, migrations()); !status) return std::move(status).error();
    return Connection(std::move(*copy), OpenMode::kReadOnly, patience);
  }
  return connection;
}

Connection::~Connection() {
  if (!tidy_ || database_.handle() == nullptr) return;
  const fs::path path = database_.path();
  { const Database closed = std::move(database_); }
  // A connection that may only read leaves an empty -wal and a -shm behind. One that may write removes them when it
  // closes, if nobody else has the store open; it changes nothing else.
  if (size_of(wal_of(path)) != 0) return;
  Result<Database> database = Database::open(path, Database::Access::kWrite, std::chrono::milliseconds(0));
  if (database) static_cast<void>(database->integer("PRAGMA user_version"));
}

Result<Transaction> Connection::begin_write(Transaction::Kind kind) {
  if (mode_ == OpenMode::kReadOnly) {
    return Error{ErrorKind::kUsage, database_.path().string(), "opened for reading only", "open it for writing"};
  }
  if (is_new_ && !database_.in_transaction()) {
    if (Status status = use_wal(database_, patience_); !status) return std::move(status).error();
    is_new_ = false;
  }
  return Transaction::begin(database_, kind);
}

Result<Transaction> Connection::begin_import() {
  return is_new_ ? Transaction::begin(database_, Transaction::Kind::kWrite) : begin_write();
}

Result<Transaction> Connection::begin_read() {
  return Transaction::begin(database_, Transaction::Kind::kRead);
}

Status Connection::end_read() const {
  if (!unlocked_ || (*unlocked_ == stamp(database_.path()) && size_of(wal_of(database_.path())) <= 0)) return {};
  return Error{ErrorKind::kMachine, database_.path().string(),
               "written by somebody while it was read without locks (this user cannot write to its folder)",
               "try again when they are done, or copy the store and read the copy"};
}

Connection::Stamp Connection::stamp(const fs::path& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) return {};
#ifdef __APPLE__
  const timespec modified = info.st_mtimespec;
#else
  const timespec modified = info.st_mtim;
#endif
  return {modified.tv_sec, modified.tv_nsec, info.st_size};
}

}  // namespace capbench::schema
