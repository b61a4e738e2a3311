#include "reports/paper/compose.h"

#include <fmt/format.h>

#include <cctype>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "reports/text.h"

namespace capbench::reports::paper {
namespace {

// As a text of jq's.
std::string quoted(const std::string& text) {
  return nlohmann::json(valid_utf8(text)).dump(-1, ' ', true);
}

std::string equals(std::string_view member, const std::string& text) {
  return fmt::format(".{}=={}", member, text.empty() ? "null" : quoted(text));
}

// Inside single quotes of a shell.
std::string in_shell_quotes(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out;
}

std::string in_sql(std::string_view text) {
  std::string out = "'";
  for (const char c : valid_utf8(text)) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

std::string slug(std::string_view text) {
  constexpr std::size_t kMost = 32;
  std::string out;
  for (const char c : text) {
    if (out.size() == kMost) break;
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && std::isalnum(byte) != 0) {
      out += static_cast<char>(std::tolower(byte));
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  while (out.ends_with('-')) out.pop_back();
  return out.empty() ? "x" : out;
}

// Everything that tells rows apart, arms and devices aside.
std::string identity(const Subject& row) {
  std::string out;
  for (const std::string* part : {&row.suite_id, &row.machine_id, &row.build, &row.executable_sha256, &row.workload,
                                  &row.model, &row.model_kind, &row.test, &row.guest}) {
    out += fmt::format("{}:{};", part->size(), *part);
  }
  return out;
}

std::string key_of(const Subject& row, const std::string& identity) {
  constexpr std::size_t kDigits = 6;
  return fmt::format("{}-{}-{}", slug(row.model), slug(row.test), sha256(identity).substr(0, kDigits));
}

std::string selector(const Subject& row) {
  return fmt::format("{} and {} and {} and {} and {} and {} and {}", equals("suite_id", row.suite_id),
                     equals("machine_id", row.machine_id), equals("workload", row.workload), equals("model", row.model),
                     equals("test", row.test), equals("guest", row.guest), equals("device", row.device));
}

std::string selector(const SpeedupRow& row) {
  std::string out = selector(static_cast<const Subject&>(row));
  for (const ModeSummary& mode : row.modes) {
    if (is_core_mode(mode.mode)) out += fmt::format(" and {}", equals("arms." + quoted(mode.mode), mode.arm));
  }
  return out;
}

}  // namespace

Words& Words::say(std::string text) {
  if (!text.empty()) line_.push_back({false, std::move(text)});
  return *this;
}

Words& Words::number(std::string key) {
  line_.push_back({true, std::move(key)});
  return *this;
}

Line words(std::string text) {
  return {{false, std::move(text)}};
}

Line number_line(std::string key) {
  return {{true, std::move(key)}};
}

Block paragraph(Line line) {
  Block block;
  block.lines.push_back(std::move(line));
  return block;
}

Block list(std::vector<Line> items) {
  Block block;
  block.kind = Block::Kind::kList;
  block.lines = std::move(items);
  return block;
}

Block table(PaperTable table) {
  Block block;
  block.kind = Block::Kind::kTable;
  block.table = std::move(table);
  return block;
}

Composer::Composer(const PaperSource& source, Numbers& numbers) : source_(source), numbers_(numbers) {
  for (const SpeedupRow& row : source_.speedup.rows) {
    for (const TrialPoint& point : row.trials) {
      all_trials_.insert(point.id);
      if (point.counted) trials_by_arm_[{identity(row), point.arm}].insert(point.id);
    }
  }
}

std::string Composer::row_key(const SpeedupRow& row) {
  std::string whole = identity(row) + row.device;
  for (const ModeSummary& mode : row.modes) {
    if (is_core_mode(mode.mode)) whole += ";" + mode.arm;
  }
  return key_of(row, whole);
}

std::string Composer::row_key(const AblationRow& row) {
  return key_of(row, identity(row) + row.device);
}

std::string Composer::command(std::string_view report, std::string_view jq) const {
  const std::string suite = source_.suite.empty() ? "" : fmt::format(" --suite '{}'", in_shell_quotes(source_.suite));
  return fmt::format("capbench report {} --db \"$DB\"{} --format json | jq -r '{}'", report, suite,
                     in_shell_quotes(jq));
}

std::string Composer::put(std::string key, std::string text, std::optional<double> value, std::string query,
                          const std::set<std::string>& ids) {
  return numbers_.add({std::move(key), std::move(text), value, std::move(query), {ids.begin(), ids.end()}});
}

std::string Composer::of_row(const SpeedupRow& row, std::string_view name, std::string text,
                             std::optional<double> value, std::string_view member, const std::set<std::string>& modes) {
  std::set<std::string> ids;
  for (const TrialPoint& point : row.trials) {
    if (point.counted && modes.contains(point.mode)) ids.insert(point.id);
  }
  return put(fmt::format("{}-{}", row_key(row), name), std::move(text), value,
             command("speedup", fmt::format(".rows[]|select({})|{}", selector(row), member)), ids);
}

std::string Composer::of_row(const AblationRow& row, std::string_view name, std::string text,
                             std::optional<double> value, std::string_view member, const std::set<std::string>& arms) {
  return put(fmt::format("{}-{}", row_key(row), name), std::move(text), value,
             command("ablation", fmt::format(".rows[]|select({})|{}", selector(row), member)), trials_of(row, arms));
}

std::string Composer::count(std::string_view name, std::size_t count, std::string_view select, std::string_view join,
                            std::string_view also) {
  std::string sql = fmt::format("SELECT {} FROM latest_trial t{} WHERE t.block >= 0{}", select, join, also);
  if (!source_.suite.empty()) {
    sql += fmt::format(" AND t.suite_id IN (SELECT id FROM suite WHERE {0} IN (name, id))", in_sql(source_.suite));
  }
  return put(fmt::format("count-{}", name), fmt::format("{}", count), static_cast<double>(count),
             fmt::format("sqlite3 -readonly \"$DB\" '{}'", in_shell_quotes(sql)), all_trials_);
}

std::set<std::string> Composer::trials_of(const AblationRow& row, const std::set<std::string>& arms) const {
  std::set<std::string> ids;
  for (const std::string& arm : arms) {
    const auto found = trials_by_arm_.find({identity(row), arm});
    if (found != trials_by_arm_.end()) ids.insert(found->second.begin(), found->second.end());
  }
  return ids;
}

}  // namespace capbench::reports::paper
