#include "harness/import/sqlite_source.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "harness/import/emitter.h"
#include "harness/import/fields.h"
#include "harness/import/row_builder.h"
#include "harness/import/text.h"

namespace capbench::imports {
namespace {

// "capb", what capbench's own store says in its header.
constexpr std::int64_t kOwnApplication = 0x63617062;

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

class Source {
 public:
  Source(Database database, std::string name) : database_(std::move(database)), name_(std::move(name)) {
    // A foreign schema is data: its views and functions must not run anything, nor for ever.
    sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
    sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(database_.get(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_limit(database_.get(), SQLITE_LIMIT_LENGTH, 16 << 20);
  }

  Error error(std::string cause, std::string remedy) const {
    return {ErrorKind::kUsage, name_, std::move(cause), std::move(remedy)};
  }

  Error sqlite_error() const {
    return error(fmt::format("not a whole SQLite database: {}", sqlite3_errmsg(database_.get())),
                 "copy the file again, or restore it with `sqlite3 FILE .recover`");
  }

  Result<Statement> prepare(const std::string& sql) const {
    sqlite3_stmt* raw = nullptr;
    const int status = sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &raw, nullptr);
    Statement statement(raw);
    if (status != SQLITE_OK) return sqlite_error();
    return statement;
  }

  // Calls take(statement) for every row.
  template <class Take>
  Status each(const std::string& sql, const Take& take) const {
    Result<Statement> statement = prepare(sql);
    if (!statement) return statement.error();
    while (true) {
      const int status = sqlite3_step(statement->get());
      if (status == SQLITE_DONE) return {};
      if (status != SQLITE_ROW) return sqlite_error();
      take(statement->get());
    }
  }

 private:
  Database database_;
  std::string name_;
};

std::string text_column(sqlite3_stmt* statement, int column) {
  const auto* text = static_cast<const char*>(static_cast<const void*>(sqlite3_column_text(statement, column)));
  if (text == nullptr) return "";
  return {text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column))};
}

std::optional<double> real_column(sqlite3_stmt* statement, int column) {
  const int type = sqlite3_column_type(statement, column);
  if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) return std::nullopt;
  const double value = sqlite3_column_double(statement, column);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::int64_t integer_column(sqlite3_stmt* statement, int column) {
  return sqlite3_column_int64(statement, column);
}

// The columns of a table; none if it does not exist.
Result<std::vector<std::string>> columns_of(const Source& source, const std::string& table) {
  std::vector<std::string> columns;
  const Status status = source.each(fmt::format("SELECT name FROM pragma_table_info('{}')", table),
                                    [&](sqlite3_stmt* row) { columns.push_back(text_column(row, 0)); });
  if (!status) return status.error();
  return columns;
}

bool has_all(const std::vector<std::string>& columns, std::initializer_list<std::string_view> wanted) {
  return std::all_of(wanted.begin(), wanted.end(), [&](std::string_view name) {
    return std::find(columns.begin(), columns.end(), name) != columns.end();
  });
}

// ---- llama-bench's own table ----

Status read_llama_bench(const Source& source, const std::string& table, const std::vector<std::string>& columns,
                        RowSink& sink, SqliteCounts& counts) {
  Emitter emitter(sink);
  std::string list;
  for (const std::string& column : columns) {
    std::string name;
    for (const char c : column) name.append(c == '"' ? 2 : 1, c);
    list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name);
  }
  std::uint64_t number = 0;
  const Status status = source.each(fmt::format("SELECT {} FROM \"{}\"", list, table), [&](sqlite3_stmt* row) {
    std::vector<std::string> values(columns.size());
    RowBuilder& builder = emitter.builder();
    builder.begin();
    std::string raw;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (sqlite3_column_type(row, static_cast<int>(i)) == SQLITE_NULL) continue;
      values[i] = text_column(row, static_cast<int>(i));
      raw += fmt::format("{}{}={}", raw.empty() ? "" : " ", columns[i], values[i]);
      builder.text(columns[i], values[i]);
    }
    emitter.finish({0, ++number}, raw, &LlamaBenchCounts::sql);
  });
  counts.kind = "llama-bench-sqlite";
  counts.rows = counts.runs = emitter.counts().rows();
  counts.quarantined = emitter.counts().quarantined;
  return status;
}

// ---- LocalScore ----

struct Shape {
  std::int64_t id = 0;
  std::string name;
  std::int64_t n_prompt = 0;
  std::int64_t n_gen = 0;
  std::optional<double> prompt_tps;
  std::optional<double> gen_tps;
  std::optional<double> ttft_ms;
  std::optional<double> power_watts;
};

struct Run {
  std::int64_t id = 0;
  std::optional<double> prompt_tps;
  std::optional<double> gen_tps;
  std::optional<double> ttft_ms;
  std::optional<double> score;
  std::string created_at;
  std::string cpu;
  std::string kernel;
  std::string accelerator;
  std::string accelerator_type;
  std::string model;
  std::string quantization;
  std::int64_t n_params = 0;
  std::string runtime;
  std::string version;
  std::string commit;
  std::vector<Shape> shapes;
};

constexpr const char* kRuns =
    "SELECT r.id, r.avg_prompt_tps, r.avg_gen_tps, r.avg_ttft_ms, r.performance_score, r.created_at, s.cpu_name,"
    " s.kernel_type || ' ' || s.kernel_release, a.name, a.type, m.name, v.quantization, m.params, t.name, t.version,"
    " t.commit_hash"
    " FROM benchmark_runs AS r"
    " LEFT JOIN benchmark_systems AS s ON s.id = r.system_id"
    " LEFT JOIN accelerators AS a ON a.id = r.accelerator_id"
    " LEFT JOIN model_variants AS v ON v.id = r.model_variant_id"
    " LEFT JOIN models AS m ON m.id = v.model_id"
    " LEFT JOIN runtimes AS t ON t.id = r.runtime_id"
    " ORDER BY r.id";

Run read_run(sqlite3_stmt* row) {
  Run run;
  run.id = integer_column(row, 0);
  run.prompt_tps = real_column(row, 1);
  run.gen_tps = real_column(row, 2);
  run.ttft_ms = real_column(row, 3);
  run.score = real_column(row, 4);
  run.created_at = text_column(row, 5);
  run.cpu = text_column(row, 6);
  run.kernel = text_column(row, 7);
  run.accelerator = text_column(row, 8);
  run.accelerator_type = text_column(row, 9);
  run.model = text_column(row, 10);
  run.quantization = text_column(row, 11);
  run.n_params = integer_column(row, 12);
  run.runtime = text_column(row, 13);
  run.version = text_column(row, 14);
  run.commit = text_column(row, 15);
  return run;
}

Shape read_shape(sqlite3_stmt* row) {
  Shape shape;
  shape.id = integer_column(row, 1);
  shape.name = text_column(row, 2);
  shape.n_prompt = integer_column(row, 3);
  shape.n_gen = integer_column(row, 4);
  shape.prompt_tps = real_column(row, 5);
  shape.gen_tps = real_column(row, 6);
  shape.ttft_ms = real_column(row, 7);
  shape.power_watts = real_column(row, 8);
  return shape;
}

// A run's stated average against its shapes: the arithmetic mean, as its client computes it. Empty if they agree.
std::string check_average(std::string_view name, std::optional<double> stated, const std::vector<Shape>& shapes,
                          std::optional<double> Shape::*member) {
  if (!stated || *stated <= 0) return fmt::format("impossible {}", name);
  double sum = 0;
  for (const Shape& shape : shapes) {
    const std::optional<double> value = shape.*member;
    if (!value || *value <= 0) return fmt::format("impossible value in shape \"{}\"", to_utf8(shape.name));
    sum += *value;
  }
  const double mean = sum / static_cast<double>(shapes.size());
  constexpr double kPrintedDigits = 1e-5;
  if (std::fabs(mean - *stated) <= kPrintedDigits * mean) return "";
  return fmt::format("{} {:.6f} contradicts its shapes, whose mean is {:.6f}", name, *stated, mean);
}

std::string check_run(const Run& run) {
  if (run.shapes.empty()) return "it has no shapes";
  if (std::string problem = check_average("avg_prompt_tps", run.prompt_tps, run.shapes, &Shape::prompt_tps);
      !problem.empty()) {
    return problem;
  }
  return check_average("avg_gen_tps", run.gen_tps, run.shapes, &Shape::gen_tps);
}

std::string run_text(const Run& run) {
  return fmt::format("run {} of {} on {}, {}", run.id, run.model, run.accelerator, run.created_at);
}

void append_field(std::string& fields, std::string_view name, std::string_view text) {
  if (text.empty()) return;
  fields.push_back(fields.empty() ? '{' : ',');
  append_json_string(fields, name);
  fields.push_back(':');
  append_json_string(fields, text);
}

void append_field(std::string& fields, std::string_view name, std::optional<double> value) {
  if (!value) return;
  fields.push_back(fields.empty() ? '{' : ',');
  append_json_string(fields, name);
  fields += fmt::format(":{}", *value);
}

std::string fields_of(const Run& run, const Shape& shape, const schema::ResultRecord& result, double mean) {
  std::string fields;
  append_field(fields, "localscore_run", fmt::format("{}", run.id));
  append_field(fields, "localscore_shape", shape.name);
  append_field(fields, "cpu_info", result.cpu_info);
  append_field(fields, "gpu_info", result.gpu_info);
  append_field(fields, "accelerator", run.accelerator);
  append_field(fields, "accelerator_type", run.accelerator_type);
  append_field(fields, "kernel", run.kernel);
  append_field(fields, "model_type", result.model_type);
  append_field(fields, "runtime", run.runtime);
  append_field(fields, "runtime_version", run.version);
  append_field(fields, "build_commit", run.commit);
  append_field(fields, "test_time", run.created_at);
  append_field(fields, "model_n_params", static_cast<double>(result.model_n_params));
  append_field(fields, "n_prompt", static_cast<double>(result.n_prompt));
  append_field(fields, "n_gen", static_cast<double>(result.n_gen));
  append_field(fields, "n_depth", static_cast<double>(result.n_depth));
  append_field(fields, "avg_ts", mean);
  append_field(fields, "ttft_ms", shape.ttft_ms);
  append_field(fields, "power_watts", shape.power_watts);
  append_field(fields, "performance_score", run.score);
  fields.push_back('}');
  return fields;
}

ImportedRow row_of(const Run& run, const Shape& shape, bool is_prompt) {
  ImportedRow row;
  schema::ResultRecord& result = row.result;
  result.n_prompt = is_prompt ? shape.n_prompt : 0;
  result.n_gen = is_prompt ? 0 : shape.n_gen;
  result.n_depth = is_prompt ? 0 : shape.n_prompt;  // it generates behind its own prompt
  result.test =
      is_prompt ? fmt::format("pp{}", result.n_prompt) : fmt::format("tg{} @ d{}", result.n_gen, result.n_depth);
  result.build = to_utf8(run.commit.empty() ? fmt::format("{} {}", run.runtime, run.version)
                                            : fmt::format("{} {} ({})", run.runtime, run.version, run.commit));
  result.model_type = to_utf8(fmt::format("{} {}", run.model, run.quantization));
  result.model_n_params = run.n_params;
  result.cpu_info = to_utf8(run.cpu);
  if (run.accelerator_type == "GPU") result.gpu_info = to_utf8(run.accelerator);
  row.mean_ts = is_prompt ? shape.prompt_tps : shape.gen_tps;
  row.test_time = to_utf8(run.created_at);
  row.group = fmt::format("run {}", run.id);
  row.flags = {"mean only"};
  row.place = {0, static_cast<std::uint64_t>(std::max<std::int64_t>(shape.id, 0))};
  result.fields = fields_of(run, shape, result, row.mean_ts.value_or(0));
  return row;
}

// LocalScore's formula: ten times the cubic root of prompt rate, generation rate and inverse seconds to the first
// token.
void check_score(const Run& run, RowSink& sink) {
  if (!run.prompt_tps || !run.gen_tps || !run.ttft_ms || *run.ttft_ms <= 0 || !run.score) return;
  const double score = 10 * std::cbrt(*run.prompt_tps * *run.gen_tps * 1000 / *run.ttft_ms);
  if (std::fabs(score - *run.score) <= 1e-3 * score) return;
  sink.note(
      {0, fmt::format("the score of run {} is stated as {:.2f}; its averages give {:.2f}", run.id, *run.score, score)});
}

void give_run(const Run& run, RowSink& sink, SqliteCounts& counts) {
  constexpr std::int64_t kMaxTokens = 1'000'000'000;
  const auto is_impossible = [](std::int64_t n) { return n <= 0 || n > kMaxTokens; };
  std::string problem = check_run(run);
  for (const Shape& shape : run.shapes) {
    if (problem.empty() && (is_impossible(shape.n_prompt) || is_impossible(shape.n_gen))) {
      problem = fmt::format("impossible token counts in shape \"{}\"", to_utf8(shape.name));
    }
  }
  if (!problem.empty()) {
    ++counts.quarantined;
    sink.quarantine(
        {{0, static_cast<std::uint64_t>(std::max<std::int64_t>(run.id, 0))}, problem, to_utf8(run_text(run))});
    return;
  }
  ++counts.runs;
  for (const Shape& shape : run.shapes) {
    for (const bool is_prompt : {true, false}) {
      ImportedRow row = row_of(run, shape, is_prompt);
      ++counts.rows;
      sink.row(row);
    }
  }
  check_score(run, sink);
}

// Runs and shapes come in the same order, a run at a time.
Status read_localscore(const Source& source, RowSink& sink, SqliteCounts& counts) {
  counts.kind = "localscore";
  Result<Statement> shapes = source.prepare(
      "SELECT benchmark_run_id, id, name, n_prompt, n_gen, prompt_tps, gen_tps, ttft_ms, power_watts FROM test_results"
      " WHERE benchmark_run_id = ? ORDER BY id");
  if (!shapes) return shapes.error();
  std::optional<Error> failure;
  const Status status = source.each(kRuns, [&](sqlite3_stmt* row) {
    if (failure) return;
    Run run = read_run(row);
    sqlite3_reset(shapes->get());
    sqlite3_bind_int64(shapes->get(), 1, run.id);
    constexpr std::size_t kMaxShapes = 1000;
    int step = SQLITE_ROW;
    while (run.shapes.size() < kMaxShapes && (step = sqlite3_step(shapes->get())) == SQLITE_ROW) {
      run.shapes.push_back(read_shape(shapes->get()));
    }
    if (step != SQLITE_DONE && step != SQLITE_ROW) {
      failure = source.sqlite_error();
      return;
    }
    give_run(run, sink, counts);
  });
  if (failure) return *failure;
  if (!status) return status;
  const Status orphans = source.each(
      "SELECT id, name FROM test_results WHERE benchmark_run_id IS NULL OR benchmark_run_id NOT IN"
      " (SELECT id FROM benchmark_runs)",
      [&](sqlite3_stmt* row) {
        ++counts.quarantined;
        sink.quarantine({{0, static_cast<std::uint64_t>(std::max<std::int64_t>(integer_column(row, 0), 0))},
                         "the run that it belongs to is missing",
                         to_utf8(text_column(row, 1))});
      });
  if (!orphans) return orphans;
  sink.note({0, "LocalScore keeps averages only: no row has samples"});
  return {};
}

Result<SqliteCounts> import_source(const Source& source, RowSink& sink) {
  SqliteCounts counts;
  std::int64_t application = 0;
  if (Status status =
          source.each("PRAGMA application_id", [&](sqlite3_stmt* row) { application = integer_column(row, 0); });
      !status) {
    return status.error();
  }
  if (application == kOwnApplication) {
    return source.error("it is a capbench store, not a foreign file",
                        "merge it with `capbench copy --from FILE --to DB`");
  }
  for (const std::string table : {"llama_bench", "test"}) {
    const Result<std::vector<std::string>> columns = columns_of(source, table);
    if (!columns) return columns.error();
    if (!has_all(*columns, {"n_prompt", "n_gen"})) continue;
    if (Status status = read_llama_bench(source, table, *columns, sink, counts); !status) return status.error();
    return counts;
  }
  const Result<std::vector<std::string>> runs = columns_of(source, "benchmark_runs");
  const Result<std::vector<std::string>> shapes = columns_of(source, "test_results");
  if (!runs) return runs.error();
  if (!shapes) return shapes.error();
  if (!has_all(*runs, {"id", "avg_prompt_tps", "avg_gen_tps", "performance_score"}) ||
      !has_all(*shapes, {"benchmark_run_id", "n_prompt", "n_gen", "prompt_tps", "gen_tps"})) {
    return source.error("a database of neither LocalScore nor llama-bench",
                        "give a file with the tables benchmark_runs and test_results, or with llama_bench");
  }
  if (Status status = read_localscore(source, sink, counts); !status) return status.error();
  return counts;
}

// The path as an SQLite URI: read only, and promised to be unchanging, so that nothing is written beside it.
std::string uri_of(const std::filesystem::path& path) {
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/' ||
                          c == '.' || c == '-' || c == '_';
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }
  return uri + "?mode=ro&immutable=1";
}

}  // namespace

Result<SqliteCounts> import_sqlite(const std::filesystem::path& path, RowSink& sink) {
  sqlite3* raw = nullptr;
  const int status = sqlite3_open_v2(uri_of(path).c_str(), &raw,
                                     SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(raw);
  if (status != SQLITE_OK) {
    return Error{ErrorKind::kUsage, path.string(),
                 database ? fmt::format("cannot be opened: {}", sqlite3_errmsg(database.get())) : "no memory",
                 "give a readable file"};
  }
  return import_source(Source(std::move(database), path.string()), sink);
}

Result<SqliteCounts> import_sqlite_bytes(std::string_view bytes, RowSink& sink) {
  sqlite3* raw = nullptr;
  const int status = sqlite3_open_v2(":memory:", &raw, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(raw);
  if (status != SQLITE_OK) return Error{ErrorKind::kMachine, "SQLite", "no memory", ""};
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(std::max<std::size_t>(bytes.size(), 1)));
  if (copy == nullptr) return Error{ErrorKind::kMachine, "SQLite", "no memory", ""};
  std::copy(bytes.begin(), bytes.end(), copy);
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  // Frees the copy itself, also when it fails.
  if (sqlite3_deserialize(database.get(), "main", copy, size, size,
                          SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY) != SQLITE_OK) {
    return Error{ErrorKind::kUsage, "the database", "not a SQLite database", "give a whole file"};
  }
  return import_source(Source(std::move(database), "the database"), sink);
}

}  // namespace capbench::imports
