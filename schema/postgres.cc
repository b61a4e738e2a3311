#include "schema/postgres.h"

#include <libpq-fe.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/address.h"

namespace capbench::schema {
namespace {

using std::chrono::milliseconds;

// PostgreSQL's catalog/pg_type.dat. These numbers are part of its protocol.
namespace type {
constexpr Oid kBool = 16;
constexpr Oid kBytes = 17;
constexpr Oid kInt8 = 20;
constexpr Oid kInt2 = 21;
constexpr Oid kInt4 = 23;
constexpr Oid kOid = 26;
constexpr Oid kFloat4 = 700;
constexpr Oid kFloat8 = 701;
}  // namespace type

constexpr int kOldestServer = 130000;  // pg_current_snapshot()
constexpr int kBinary = 1;
// Of a query whose rows are many: so many are in memory at once.
constexpr std::string_view kFetch = "FETCH FORWARD 2000 FROM ";
constexpr int kFetched = 2000;
// Statements on their way that nobody has asked about yet.
constexpr std::size_t kMostUnasked = 256;

struct Clear {
  void operator()(PGresult* result) const { PQclear(result); }
};
using Answer = std::unique_ptr<PGresult, Clear>;

// Numbers travel with their highest byte first.
void put_bytes(char* to, std::uint64_t value, int size) {
  for (int i = size - 1; i >= 0; --i) {
    to[i] = static_cast<char>(value & 0xFFU);
    value >>= 8U;
  }
}

std::uint64_t get_bytes(const char* from, int size) {
  std::uint64_t value = 0;
  for (int i = 0; i < size; ++i) value = value << 8U | static_cast<unsigned char>(from[i]);
  return value;
}

// On one line and without its last full stop.
std::string tidy(std::string_view message) {
  std::string text;
  for (const char c : message) {
    const bool is_space = c == '\n' || c == '\t' || c == ' ';
    if (!is_space) {
      text += c;
    } else if (!text.empty() && text.back() != ' ') {
      text += ' ';
    }
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Why there is no connection, in libpq's words, which never hold the password.
Error cannot_connect(const std::string& shown, std::string message) {
  message = tidy(message);
  Error error{ErrorKind::kMachine, shown, "cannot be reached (" + message + ")",
              "see whether PostgreSQL runs there and listens: `pg_isready -d " + shown + "`"};
  if (has(message, "password") || has(message, "no password supplied")) {
    error.kind = ErrorKind::kUsage;
    error.remedy = "give the password in PGPASSWORD or ~/.pgpass, or correct the user";
  } else if (has(message, "pg_hba.conf") || has(message, "Peer authentication") || has(message, "role ")) {
    error.kind = ErrorKind::kUsage;
    error.remedy = "name a user whom that server lets in: postgresql://USER@HOST/DATABASE";
  } else if (has(message, "database ") && has(message, "does not exist")) {
    error.kind = ErrorKind::kUsage;
    error.remedy = "make the database first: `createdb -T template0 -E UTF8 NAME`";
  } else if (has(message, "could not translate host name")) {
    error.kind = ErrorKind::kUsage;
    error.remedy = "correct the host's name";
  } else if (has(message, "starting up") || has(message, "shutting down")) {
    error.remedy = "try again in a moment";
  } else if (has(message, "too many clients") || has(message, "remaining connection slots")) {
    error.remedy = "raise max_connections of the server, or run fewer programs on it";
  }
  return error;
}

Error lost(const std::string& shown, std::string message) {
  message = tidy(message);
  return {ErrorKind::kMachine, shown,
          "the connection was lost" + (message.empty() ? std::string() : " (" + message + ")"),
          "see whether PostgreSQL still runs there, then try again: nothing of this was written, unless it was just "
          "being committed"};
}

// What the server said of a statement.
Error server_error(const std::string& shown, std::string_view state, std::string message) {
  message = tidy(message);
  const auto is = [&](std::string_view kind) { return state.starts_with(kind); };
  Error error{ErrorKind::kMachine, shown, message, "see the server's log"};
  if (state == "55P03") {
    error.cause = "locked by another program";
    error.remedy = "wait until it is done, or find it with `SELECT * FROM pg_stat_activity`";
  } else if (state == "40001" || state == "40P01") {
    error.cause = "the write of another program came in between (" + message + ")";
    error.remedy = "try again";
  } else if (state == "42501") {
    error.kind = ErrorKind::kUsage;
    error.cause = "this user may not do that (" + message + ")";
    error.remedy = "let the user own the database, or `GRANT ALL ON SCHEMA public TO USER` and on its tables";
  } else if (state == "25006") {
    error.kind = ErrorKind::kUsage;
    error.cause = "cannot be written (" + message + ")";
    error.remedy = "name the primary server, and a store that is opened for writing";
  } else if (is("23") || state == "22P02" || state == "22032") {
    error.kind = ErrorKind::kUsage;
    error.cause = "refused a row that breaks a rule of the store (" + message + ")";
    error.remedy = "see schema/schema.md for what the column may hold";
  } else if (state == "22021" || state == "22P05") {
    error.kind = ErrorKind::kUsage;
    error.cause = "PostgreSQL keeps no such text (" + message + ")";
    error.remedy = "leave it out, or keep it in an SQLite store";
  } else if (is("42P01") || is("42703") || is("3F000")) {
    error.kind = ErrorKind::kUsage;
    error.cause = "not built as a capbench store is (" + message + ")";
    error.remedy = "restore it from a copy, or name another store with --db";
  } else if (is("53100")) {
    error.cause = "the server's disk is full";
    error.remedy = "free space there, then try again";
  } else if (is("57P") || is("08")) {
    return lost(shown, message);
  }
  return error;
}

}  // namespace

std::string with_numbered_parameters(std::string_view sql) {
  std::string result;
  int last = 0;
  char quote = '\0';
  for (std::size_t i = 0; i < sql.size(); ++i) {
    const char c = sql[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '?') {
      int number = 0;
      while (i + 1 < sql.size() && sql[i + 1] >= '0' && sql[i + 1] <= '9') number = 10 * number + (sql[++i] - '0');
      if (number == 0) number = last + 1;
      last = std::max(last, number);
      result += '$' + std::to_string(number);
      continue;
    }
    result += c;
  }
  return result;
}

namespace {

enum class Lock : std::uint8_t { kNone, kAtomic, kWrite };

class PostgresEngine final : public Engine {
 public:
  PostgresEngine(std::string address, milliseconds patience, bool read_only)
      : address_(std::move(address)), shown_(shown(address_)), patience_(patience), read_only_(read_only) {}
  PostgresEngine(const PostgresEngine&) = delete;
  PostgresEngine& operator=(const PostgresEngine&) = delete;
  ~PostgresEngine() override { PQfinish(connection_); }

  Status connect();

  Backend backend() const override { return Backend::kPostgres; }
  Result<std::unique_ptr<Cursor>> prepare(std::string_view sql) override;
  Status exec(const std::string& sql) override;
  Status begin(bool write, bool is_part) override;
  Status take_write_lock() override { return take(Lock::kWrite); }
  Status take_short_lock() override { return take(Lock::kAtomic); }
  Status commit(bool is_part) override;
  void roll_back(bool is_part) override;
  bool in_transaction() const override { return depth_ > 0 && is_connected(); }
  bool read_only() const override { return read_only_; }
  std::int64_t changes() const override { return changes_; }
  bool refused_row() const override { return refused_; }
  Result<std::uint64_t> state() override;
  Result<bool> has_table(std::string_view name) override;

  // For cursors.
  PGconn* connection() { return connection_; }
  const std::string& name() const { return shown_; }
  bool is_connected() const { return connection_ != nullptr && !is_gone_ && PQstatus(connection_) == CONNECTION_OK; }
  std::uint64_t epoch() const { return epoch_; }
  std::uint64_t transaction() const { return transaction_; }
  int depth() const { return depth_; }
  std::string new_name(char kind) { return kind + std::to_string(++names_); }
  // Before what is no part of a transaction: there is a connection that works.
  Status ready();
  // Was sent, by a call whose answer is this.
  Status sent(int accepted, bool wanted);
  Status send(const std::string& sql, bool wanted = false);
  // Waits for all that was sent; the first failure among it, else the answers that were wanted.
  Result<std::vector<Answer>> collect();
  void changed(const PGresult* result);
  bool is_full() const { return outstanding_.size() >= kMostUnasked; }

 private:
  struct Sent {
    bool is_sync;
    bool wanted;
  };

  Status set_up();
  Status take(Lock lock);
  Status sync();
  bool is_dead() const;
  void forget();  // the connection is gone, and with it what was on it
  Error failure(const PGresult* result);

  const std::string address_;  // with its password
  const std::string shown_;
  const milliseconds patience_;
  const bool read_only_;
  PGconn* connection_ = nullptr;
  std::uint64_t epoch_ = 0;  // of the connection: what was prepared on another is gone
  std::deque<Sent> outstanding_;
  int depth_ = 0;  // of transactions
  std::uint64_t transaction_ = 0;
  std::array<int, 3> locked_at_{};  // by Lock: the depth that holds it; 0: none does
  std::int64_t changes_ = 0;
  bool refused_ = false;
  std::uint64_t names_ = 0;
  bool is_gone_ = true;  // the server said its last word
};

class PostgresCursor final : public Cursor {
 public:
  PostgresCursor(PostgresEngine& engine, std::string_view sql)
      : engine_(engine), sql_(sql), numbered_(with_numbered_parameters(sql)) {}
  PostgresCursor(const PostgresCursor&) = delete;
  PostgresCursor& operator=(const PostgresCursor&) = delete;
  ~PostgresCursor() override {
    if (!is_prepared() || !engine_.is_connected() || engine_.in_transaction()) return;
    static_cast<void>(engine_.send("DEALLOCATE " + statement_));
  }

  std::string_view sql() const override { return sql_; }
  void bind_integer(int place, std::int64_t value) override { at(place) = {.kind = Kind::kInteger, .integer = value}; }
  void bind_real(int place, double value) override { at(place) = {.kind = Kind::kReal, .real = value}; }
  void bind_text(int place, std::string_view text, bool in_place) override {
    Value& value = at(place);
    value.kind = Kind::kText;
    value.is_copy = !in_place;
    if (in_place) {
      value.bytes = text;
    } else {
      value.copy.assign(text);
    }
  }
  void bind_blob(int place, std::string_view bytes) override { at(place) = {.kind = Kind::kBlob, .bytes = bytes}; }
  void bind_null(int place) override { at(place) = {}; }
  void expect_many() override { many_ = true; }

  Status prepare();
  Result<bool> step() override;
  Status run_later() override;

  bool is_null(int column) const override { return PQgetisnull(answer_.get(), row_, column) != 0; }
  std::int64_t integer(int column) const override;
  double real(int column) const override;
  std::string_view bytes(int column) const override;
  int columns() const override { return PQnfields(answer_.get()); }
  std::string name(int column) const override { return PQfname(answer_.get(), column); }
  void rest() override {
    rewind();
    values_.clear();
  }

 private:
  enum class Kind : std::uint8_t { kNull, kInteger, kReal, kText, kBlob };
  struct Value {
    Kind kind = Kind::kNull;
    bool is_copy = false;  // of bytes that are somebody else's
    std::int64_t integer = 0;
    double real = 0;
    std::string_view bytes = {};
    std::string copy = {};
    std::string_view text() const { return is_copy ? std::string_view(copy) : bytes; }
  };

  Value& at(int place) {
    if (static_cast<std::size_t>(place) > values_.size()) values_.resize(static_cast<std::size_t>(place));
    return values_[static_cast<std::size_t>(place) - 1];
  }
  bool is_prepared() const { return !statement_.empty() && epoch_ == engine_.epoch(); }
  // As the parameters' types want them.
  Status encode();
  Status send(bool wanted);
  Result<bool> begin();
  Result<bool> fetch();
  void rewind();
  std::string_view raw(int column) const {
    return {PQgetvalue(answer_.get(), row_, column),
            static_cast<std::size_t>(PQgetlength(answer_.get(), row_, column))};
  }
  Error wrong_value(std::size_t place, const std::string& cause) const {
    return {ErrorKind::kUsage, engine_.name(), "value " + std::to_string(place + 1) + " " + cause,
            "leave it out, or keep it in an SQLite store"};
  }

  PostgresEngine& engine_;
  const std::string sql_;
  const std::string numbered_;
  std::string statement_;  // its name on the server; empty: not prepared
  std::uint64_t epoch_ = 0;
  std::vector<Oid> types_;
  std::vector<Value> values_;
  // Of the last encoding.
  std::vector<std::array<char, 32>> numbers_;
  std::vector<const char*> pointers_;
  std::vector<int> lengths_;
  std::vector<int> formats_;

  bool many_ = false;
  std::string portal_;  // the name of one that is open
  std::uint64_t portal_transaction_ = 0;
  int portal_depth_ = 0;
  Answer answer_;  // none: it has not begun
  int row_ = 0;
  int rows_ = 0;
  mutable std::vector<std::array<char, 32>> spelled_;  // numbers that were asked for as text, by column
};

// --- the connection

Status PostgresEngine::connect() {
  forget();
  is_gone_ = true;
  PQfinish(connection_);
  char* message = nullptr;
  PQconninfoOption* const parsed = PQconninfoParse(address_.c_str(), &message);
  // Not in its words, which may repeat a part of the password.
  PQfreemem(message);
  if (parsed == nullptr) {
    connection_ = nullptr;
    return Error{ErrorKind::kUsage, shown_, "not a PostgreSQL address",
                 "write it as postgresql://USER@HOST:PORT/DATABASE, with %XX for special characters"};
  }
  PQconninfoFree(parsed);
  // What comes before the address is what it does not say itself. A peer that is gone is noticed within a minute.
  const char* const names[] = {"connect_timeout",  "keepalives_idle",           "keepalives_interval",
                               "keepalives_count", "tcp_user_timeout",          "dbname",
                               "client_encoding",  "fallback_application_name", nullptr};
  const char* const values[] = {"10", "20", "10", "3", "60000", address_.c_str(), "UTF8", "capbench", nullptr};
  connection_ = PQconnectdbParams(names, values, /*expand_dbname=*/1);
  if (PQstatus(connection_) != CONNECTION_OK) {
    return cannot_connect(shown_, connection_ == nullptr ? "no memory" : PQerrorMessage(connection_));
  }
  if (PQserverVersion(connection_) < kOldestServer) {
    return Error{ErrorKind::kUsage, shown_,
                 "PostgreSQL " + std::to_string(PQserverVersion(connection_) / 10000) + " is too old",
                 "use PostgreSQL 13 or later"};
  }
  return set_up();
}

Status PostgresEngine::set_up() {
  PQsetNoticeProcessor(
      connection_, [](void*, const char*) {}, nullptr);
  const std::string timeout = std::to_string(std::max<std::int64_t>(patience_.count(), 1));
  // JIT and the tuning of cursors for their first rows make short queries slow and long ones slower.
  const std::string settings = "SET lock_timeout = " + timeout + "; SET jit = off; SET cursor_tuple_fraction = 1; " +
                               "SET default_transaction_read_only = " + (read_only_ ? "on" : "off") +
                               "; SELECT current_setting('server_encoding'), current_schema() IS NOT NULL";
  const Answer answer(PQexec(connection_, settings.c_str()));
  if (PQresultStatus(answer.get()) != PGRES_TUPLES_OK) return failure(answer.get());
  if (std::string_view(PQgetvalue(answer.get(), 0, 0)) != "UTF8") {
    return Error{ErrorKind::kUsage, shown_,
                 std::string("its encoding is ") + PQgetvalue(answer.get(), 0, 0) + ", not UTF-8",
                 "make a database for it: `createdb -T template0 -E UTF8 NAME`"};
  }
  if (std::string_view(PQgetvalue(answer.get(), 0, 1)) != "t") {
    return Error{ErrorKind::kUsage, shown_, "its search_path names no schema that there is",
                 "make the schema, or leave the search_path out of the address"};
  }
  PQenterPipelineMode(connection_);
  ++epoch_;
  is_gone_ = false;
  return {};
}

void PostgresEngine::forget() {
  outstanding_.clear();
  depth_ = 0;
  locked_at_ = {};
}

// Whether the server has closed the connection while nobody asked it anything.
bool PostgresEngine::is_dead() const {
  // Its last words come before the end of the stream.
  for (int i = 0; i < 4; ++i) {
    pollfd wait{PQsocket(connection_), POLLIN, 0};
    if (::poll(&wait, 1, 0) <= 0) return false;
    if (PQconsumeInput(connection_) == 0 || PQstatus(connection_) != CONNECTION_OK) return true;
  }
  return true;
}

Status PostgresEngine::ready() {
  // The end of the last transaction may not have been waited for; what became of it was nobody's concern.
  if (is_connected()) static_cast<void>(collect());
  if (is_connected() && !is_dead()) return {};
  return connect();
}

Error PostgresEngine::failure(const PGresult* result) {
  const char* const state = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* const primary = result == nullptr ? nullptr : PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  if (state == nullptr) {
    is_gone_ = true;  // the client library's own words
    std::string message = result != nullptr ? PQresultErrorMessage(result) : PQerrorMessage(connection_);
    return lost(shown_, std::move(message));
  }
  const char* const severity = PQresultErrorField(result, PG_DIAG_SEVERITY_NONLOCALIZED);
  if (severity != nullptr && (std::string_view(severity) == "FATAL" || std::string_view(severity) == "PANIC"))
    is_gone_ = true;
  const std::string_view code(state);
  refused_ = code.starts_with("23") || code == "22P02" || code == "22032";
  return server_error(shown_, code, primary != nullptr ? primary : PQresultErrorMessage(result));
}

Status PostgresEngine::sent(int accepted, bool wanted) {
  if (accepted == 1) {
    outstanding_.push_back({false, wanted});
    return {};
  }
  Error error = lost(shown_, PQerrorMessage(connection_));
  if (!is_connected()) forget();
  return error;
}

Status PostgresEngine::send(const std::string& sql, bool wanted) {
  return sent(PQsendQueryParams(connection_, sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, kBinary), wanted);
}

Status PostgresEngine::sync() {
  if (PQpipelineSync(connection_) == 1) {
    outstanding_.push_back({true, false});
    return {};
  }
  Error error = lost(shown_, PQerrorMessage(connection_));
  if (!is_connected()) forget();
  return error;
}

Result<std::vector<Answer>> PostgresEngine::collect() {
  std::vector<Answer> wanted;
  if (outstanding_.empty()) return wanted;
  refused_ = false;
  if (!outstanding_.back().is_sync) {
    if (Status status = sync(); !status) return std::move(status).error();
  }
  std::optional<Error> first;
  while (!outstanding_.empty()) {
    const Sent sent = outstanding_.front();
    outstanding_.pop_front();
    Answer answer(PQgetResult(connection_));
    const ExecStatusType status = PQresultStatus(answer.get());
    if (!answer || status == PGRES_FATAL_ERROR) {
      if (!first) first = failure(answer.get());
    }
    if (!is_connected()) {
      forget();
      return first ? *first : lost(shown_, PQerrorMessage(connection_));
    }
    if (sent.is_sync) continue;
    while (const Answer rest{PQgetResult(connection_)}) {
    }
    if (sent.wanted) wanted.push_back(std::move(answer));
  }
  if (first) return *first;
  return wanted;
}

void PostgresEngine::changed(const PGresult* result) {
  const std::string_view count(PQcmdTuples(const_cast<PGresult*>(result)));
  changes_ = 0;
  std::from_chars(count.data(), count.data() + count.size(), changes_);
}

Status PostgresEngine::exec(const std::string& sql) {
  if (depth_ == 0) {
    if (Status status = ready(); !status) return status;
  }
  if (auto before = collect(); !before) return std::move(before).error();
  // Several statements at once are not for a pipeline.
  PQexitPipelineMode(connection_);
  const Answer answer(PQexec(connection_, sql.c_str()));
  const ExecStatusType status = PQresultStatus(answer.get());
  const bool fine = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_EMPTY_QUERY;
  Status result = fine ? Status() : Status(failure(answer.get()));
  if (is_connected()) {
    PQenterPipelineMode(connection_);
  } else {
    forget();
  }
  return result;
}

Status PostgresEngine::begin(bool write, bool is_part) {
  if (!is_part) {
    if (Status status = ready(); !status) return status;
    ++transaction_;
  }
  // Of a reader, one view for all its queries; of a writer, each statement sees what was committed before it: the lock
  // keeps other writers away.
  const char* const sql = is_part ? "SAVEPOINT part"
                          : write ? "BEGIN"
                                  : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
  if (Status status = send(sql); !status) return status;
  ++depth_;
  return {};
}

Status PostgresEngine::take(Lock lock) {
  int& at = locked_at_.at(static_cast<std::size_t>(lock));
  if (at != 0) return {};
  // One lock a store, which may be one schema of several in a database.
  const char* const sql = lock == Lock::kWrite ? "SELECT pg_advisory_xact_lock(1667330146, hashtext(current_schema()))"
                                               : "SELECT pg_advisory_xact_lock(1667330147, hashtext(current_schema()))";
  if (Status status = send(sql); !status) return status;
  if (auto taken = collect(); !taken) return std::move(taken).error();
  at = depth_;
  return {};
}

Status PostgresEngine::commit(bool is_part) {
  if (depth_ == 0 || !is_connected()) return lost(shown_, "");
  if (Status status = send(is_part ? "RELEASE SAVEPOINT part" : "COMMIT", true); !status) return status;
  auto answers = collect();
  if (is_part) {
    if (!answers) return std::move(answers).error();
    --depth_;
    for (int& at : locked_at_) at = std::min(at, depth_);
    return {};
  }
  // A transaction that had failed is rolled back by COMMIT, which calls that a success.
  const bool committed =
      answers && !answers->empty() && std::string_view(PQcmdStatus(answers->back().get())) == "COMMIT";
  if (committed) {
    depth_ = 0;
    locked_at_ = {};
    return {};
  }
  Error error = answers ? Error{ErrorKind::kMachine, shown_, "could not be written to, and is as it was before",
                                "see the server's log, then try again"}
                        : std::move(answers).error();
  roll_back(false);
  return error;
}

void PostgresEngine::roll_back(bool is_part) {
  if (!in_transaction()) {
    if (!is_connected()) forget();
    return;
  }
  // What was on its way may have failed, and then the server skips what follows until it was told.
  static_cast<void>(collect());
  if (!is_connected()) return;
  if (is_part) {
    static_cast<void>(send("ROLLBACK TO SAVEPOINT part"));
    static_cast<void>(send("RELEASE SAVEPOINT part"));
    // Locks of the part went with it.
    for (int& at : locked_at_) {
      if (at == depth_) at = 0;
    }
    --depth_;
    return;
  }
  static_cast<void>(send("ROLLBACK"));
  static_cast<void>(sync());  // at once, so that the server keeps nothing for it; nobody waits for the answer
  depth_ = 0;
  locked_at_ = {};
}

Result<std::unique_ptr<Cursor>> PostgresEngine::prepare(std::string_view sql) {
  auto cursor = std::make_unique<PostgresCursor>(*this, sql);
  if (Status status = cursor->prepare(); !status) return std::move(status).error();
  return std::unique_ptr<Cursor>(std::move(cursor));
}

Result<std::uint64_t> PostgresEngine::state() {
  // What a query sees is decided by which transactions it sees, and those are written here.
  auto row = prepare("SELECT CAST(pg_current_snapshot() AS TEXT)");
  if (!row) return std::move(row).error();
  const Result<bool> found = (*row)->step();
  if (!found) return found.error();
  // FNV-1a, 64 bit.
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : (*row)->bytes(0)) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

Result<bool> PostgresEngine::has_table(std::string_view name) {
  auto row = prepare(
      "SELECT 1 FROM pg_class WHERE CAST(relname AS TEXT) = ? AND relkind IN ('r', 'v') AND relnamespace = "
      "(SELECT oid FROM pg_namespace WHERE nspname = current_schema())");
  if (!row) return std::move(row).error();
  (*row)->bind_text(1, name, true);
  return (*row)->step();
}

// --- statements

Status PostgresCursor::prepare() {
  if (engine_.depth() == 0) {
    if (Status status = engine_.ready(); !status) return status;
  }
  if (is_prepared()) return {};
  const std::string name = engine_.new_name('s');
  PGconn* const connection = engine_.connection();
  if (Status status = engine_.sent(PQsendPrepare(connection, name.c_str(), numbered_.c_str(), 0, nullptr), false);
      !status) {
    return status;
  }
  if (Status status = engine_.sent(PQsendDescribePrepared(connection, name.c_str()), true); !status) return status;
  auto answers = engine_.collect();
  if (!answers) return std::move(answers).error();
  const PGresult* const described = answers->back().get();
  types_.clear();
  for (int i = 0; i < PQnparams(described); ++i) types_.push_back(PQparamtype(described, i));
  statement_ = name;
  epoch_ = engine_.epoch();
  return {};
}

Status PostgresCursor::encode() {
  const std::size_t count = types_.size();
  values_.resize(std::max(values_.size(), count));  // what is not bound is NULL
  numbers_.resize(count);
  pointers_.assign(count, nullptr);
  lengths_.assign(count, 0);
  formats_.assign(count, kBinary);
  for (std::size_t i = 0; i < count; ++i) {
    const Value& value = values_[i];
    const auto number = [&](std::uint64_t bits, int size) {
      put_bytes(numbers_[i].data(), bits, size);
      pointers_[i] = numbers_[i].data();
      lengths_[i] = size;
    };
    switch (value.kind) {
      case Kind::kNull:
        break;
      case Kind::kInteger:
        if (types_[i] == type::kInt8) {
          number(static_cast<std::uint64_t>(value.integer), 8);
        } else if (types_[i] == type::kInt4) {
          if (value.integer < std::numeric_limits<std::int32_t>::min() ||
              value.integer > std::numeric_limits<std::int32_t>::max()) {
            return wrong_value(i, "is too large");
          }
          number(static_cast<std::uint64_t>(value.integer) & 0xFFFFFFFFU, 4);
        } else if (types_[i] == type::kFloat8) {
          number(std::bit_cast<std::uint64_t>(static_cast<double>(value.integer)), 8);
        } else {
          const auto [end, failure] =
              std::to_chars(numbers_[i].data(), numbers_[i].data() + numbers_[i].size(), value.integer);
          static_cast<void>(failure);  // 32 bytes hold any
          pointers_[i] = numbers_[i].data();
          lengths_[i] = static_cast<int>(end - numbers_[i].data());
        }
        break;
      case Kind::kReal:
        if (types_[i] != type::kFloat8) return wrong_value(i, "is a real number where none may be");
        number(std::bit_cast<std::uint64_t>(value.real), 8);
        break;
      case Kind::kText:
        if (value.text().find('\0') != std::string_view::npos && types_[i] != type::kBytes) {
          return wrong_value(i, "is a text with a NUL in it, and PostgreSQL keeps no such text");
        }
        [[fallthrough]];
      case Kind::kBlob:
        if (value.text().size() > static_cast<std::size_t>(std::numeric_limits<int>::max() / 2)) {
          return wrong_value(i, "is too large");
        }
        pointers_[i] = value.text().data() == nullptr ? "" : value.text().data();
        lengths_[i] = static_cast<int>(value.text().size());
        break;
    }
  }
  return {};
}

Status PostgresCursor::send(bool wanted) {
  if (Status status = encode(); !status) return status;
  return engine_.sent(PQsendQueryPrepared(engine_.connection(), statement_.c_str(), static_cast<int>(types_.size()),
                                          pointers_.data(), lengths_.data(), formats_.data(), kBinary),
                      wanted);
}

Result<bool> PostgresCursor::begin() {
  if (Status status = prepare(); !status) return std::move(status).error();
  if (many_ && engine_.depth() > 0) {
    if (Status status = encode(); !status) return std::move(status).error();
    portal_ = engine_.new_name('c');
    portal_transaction_ = engine_.transaction();
    portal_depth_ = engine_.depth();
    const std::string declare = "DECLARE " + portal_ + " NO SCROLL CURSOR FOR " + numbered_;
    Status status =
        engine_.sent(PQsendQueryParams(engine_.connection(), declare.c_str(), static_cast<int>(types_.size()),
                                       types_.data(), pointers_.data(), lengths_.data(), formats_.data(), kBinary),
                     false);
    if (!status) return std::move(status).error();
    return fetch();
  }
  if (Status status = send(true); !status) return std::move(status).error();
  auto answers = engine_.collect();
  if (!answers) return std::move(answers).error();
  answer_ = std::move(answers->back());
  engine_.changed(answer_.get());
  rows_ = PQntuples(answer_.get());
  row_ = 0;
  return rows_ > 0;
}

Result<bool> PostgresCursor::fetch() {
  if (Status status = engine_.send(std::string(kFetch) + portal_, true); !status) return std::move(status).error();
  auto answers = engine_.collect();
  if (!answers) {
    portal_.clear();  // it went with the transaction
    return std::move(answers).error();
  }
  answer_ = std::move(answers->back());
  rows_ = PQntuples(answer_.get());
  row_ = 0;
  return rows_ > 0;
}

Result<bool> PostgresCursor::step() {
  Result<bool> row = true;
  if (!answer_) {
    row = begin();
  } else if (++row_ < rows_) {
    return true;
  } else if (!portal_.empty() && rows_ == kFetched) {
    row = fetch();
  } else {
    row = false;
  }
  if (!row || !*row) rewind();
  return row;
}

void PostgresCursor::rewind() {
  if (!portal_.empty() && engine_.in_transaction() && portal_transaction_ == engine_.transaction() &&
      engine_.depth() >= portal_depth_) {
    static_cast<void>(engine_.send("CLOSE " + portal_));
  }
  portal_.clear();
  many_ = false;
  answer_.reset();
  spelled_.clear();
}

Status PostgresCursor::run_later() {
  if (engine_.depth() == 0 || !is_prepared()) {
    for (;;) {
      Result<bool> row = step();
      if (!row) return std::move(row).error();
      if (!*row) return {};
    }
  }
  if (Status status = send(false); !status) return status;
  if (!engine_.is_full()) return {};
  auto answers = engine_.collect();
  return answers ? Status() : Status(std::move(answers).error());
}

std::int64_t PostgresCursor::integer(int column) const {
  if (is_null(column)) return 0;
  const std::string_view value = raw(column);
  switch (PQftype(answer_.get(), column)) {
    case type::kInt8:
      return static_cast<std::int64_t>(get_bytes(value.data(), 8));
    case type::kInt4:
    case type::kOid:
      return static_cast<std::int32_t>(static_cast<std::uint32_t>(get_bytes(value.data(), 4)));
    case type::kInt2:
      return static_cast<std::int16_t>(static_cast<std::uint16_t>(get_bytes(value.data(), 2)));
    case type::kBool:
      return value[0] != 0 ? 1 : 0;
    case type::kFloat8:
    case type::kFloat4:
      return static_cast<std::int64_t>(real(column));
    default: {
      std::int64_t number = 0;
      std::from_chars(value.data(), value.data() + value.size(), number);
      return number;
    }
  }
}

double PostgresCursor::real(int column) const {
  if (is_null(column)) return 0;
  const std::string_view value = raw(column);
  switch (PQftype(answer_.get(), column)) {
    case type::kFloat8:
      return std::bit_cast<double>(get_bytes(value.data(), 8));
    case type::kFloat4:
      return std::bit_cast<float>(static_cast<std::uint32_t>(get_bytes(value.data(), 4)));
    default:
      return static_cast<double>(integer(column));
  }
}

std::string_view PostgresCursor::bytes(int column) const {
  if (is_null(column)) return {};
  switch (PQftype(answer_.get(), column)) {
    case type::kInt8:
    case type::kInt4:
    case type::kInt2:
    case type::kBool:
    case type::kOid:
    case type::kFloat8: {
      if (spelled_.empty()) spelled_.resize(static_cast<std::size_t>(columns()));
      auto& buffer = spelled_[static_cast<std::size_t>(column)];
      // 32 bytes hold any.
      char* const last = buffer.data() + buffer.size();
      const char* const end = PQftype(answer_.get(), column) == type::kFloat8
                                  ? std::to_chars(buffer.data(), last, real(column)).ptr
                                  : std::to_chars(buffer.data(), last, integer(column)).ptr;
      return {buffer.data(), static_cast<std::size_t>(end - buffer.data())};
    }
    default:
      return raw(column);
  }
}

}  // namespace

Result<Database> open_postgres(const std::string& address, Database::Access access, milliseconds patience) {
  const bool reads = access == Database::Access::kRead || access == Database::Access::kImmutable;
  auto engine = std::make_unique<PostgresEngine>(address, patience, reads);
  if (Status status = engine->connect(); !status) return std::move(status).error();
  return Database(shown(address), std::move(engine));
}

}  // namespace capbench::schema
