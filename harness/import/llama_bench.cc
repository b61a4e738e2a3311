#include "harness/import/llama_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "harness/import/decoder.h"
#include "harness/import/emitter.h"
#include "harness/import/json_scan.h"
#include "harness/import/table_readers.h"
#include "harness/import/text.h"

namespace capbench::imports {
namespace {

constexpr std::size_t kMaxLine = 1U << 20U;
constexpr std::size_t kMaxRow = 4U << 20U;
constexpr std::string_view kUtf8Mark = "\xEF\xBB\xBF";

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

// By memchr: most of what is counted here is one long line.
std::uint64_t count_lines(std::string_view text) {
  std::uint64_t lines = 0;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) ++lines;
  return lines;
}

// A line as it was meant: without the quote marks of a mail or an issue, and only what a progress line left standing.
std::string_view bare_line(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const std::size_t rewound = line.rfind('\r');
  if (rewound != std::string_view::npos) line.remove_prefix(rewound + 1);
  while (line.starts_with("> ")) line.remove_prefix(2);
  return line;
}

}  // namespace

std::string LlamaBenchCounts::format() const {
  const auto formats = std::to_array<std::pair<std::uint64_t, std::string_view>>(
      {{json, "json"}, {jsonl, "jsonl"}, {csv, "csv"}, {sql, "sql"}, {markdown, "md"}});
  std::string_view found;
  for (const auto& [rows, name] : formats) {
    if (rows == 0) continue;
    if (!found.empty()) return "mixed";
    found = name;
  }
  return std::string(found);
}

struct LlamaBenchReader::State {
  State(RowSink& sink, ColumnMapping mapping)
      : emitter(sink), markdown(emitter), csv(emitter, std::move(mapping)), sql(emitter) {}

  void process(bool at_end);
  bool step(bool at_end);
  bool object(std::size_t at, bool at_end);
  void row_of_object(std::size_t at, std::size_t end);
  void broken_object(std::size_t at, const JsonScan& scan);
  bool array_begins(std::size_t at, bool at_end, bool& needs_more) const;
  void end_array(bool is_whole);
  bool plain_line(bool at_end);
  bool handle_line(std::string_view line);
  bool wait();
  void finish();

  Place place(std::size_t at) const { return {base + at, line}; }
  // Consumes up to `end`.
  void move_to(std::size_t end) {
    line += count_lines(std::string_view(buffer).substr(position, end - position));
    is_line_start = end > position ? buffer[end - 1] == '\n' : is_line_start;
    position = end;
  }

  Emitter emitter;
  MarkdownReader markdown;
  CsvReader csv;
  SqlReader sql;
  TextDecoder decoder;
  ObjectScanner scanner;
  std::vector<JsonMember> members;

  std::string buffer;  // text not consumed yet, from `position` on
  std::size_t position = 0;
  std::uint64_t base = 0;            // offset of the buffer's first byte
  std::uint64_t line = 1;            // at `position`
  std::uint64_t returned_lines = 0;  // of the first line, those that a carriage return ended
  std::size_t wanted = 0;            // how much must wait in the buffer before another look is worth it
  bool is_line_start = true;
  bool skips_line = false;  // in the middle of a line that is too long
  bool is_in_json = false;  // commas and closing brackets between rows mean nothing
  bool is_in_array = false;
  std::uint64_t array_line = 0;
  std::uint64_t array_rows = 0;
};

// Too little to go on with. Looking again only after half as much more came keeps small feeds from costing squares.
bool LlamaBenchReader::State::wait() {
  const std::size_t waiting = buffer.size() - position;
  wanted = waiting + waiting / 2 + 1;
  return false;
}

void LlamaBenchReader::State::process(bool at_end) {
  wanted = 0;
  while (position < buffer.size() && step(at_end)) {
  }
  base += position;
  buffer.erase(0, position);
  position = 0;
}

bool LlamaBenchReader::State::step(bool at_end) {
  const std::string_view text = buffer;
  if (skips_line) {
    const std::size_t newline = text.find('\n', position);
    skips_line = newline == std::string_view::npos;
    move_to(skips_line ? text.size() : newline + 1);
    return true;
  }
  // All of them, however they arrive: files that were put together have several.
  while (is_line_start && text.substr(position).starts_with(kUtf8Mark)) position += kUtf8Mark.size();
  std::size_t at = position;
  while (at < text.size() && (is_blank(text[at]) || (is_in_json && text[at] == ','))) ++at;
  if (at == text.size()) {
    if (!at_end && at - position < kMaxLine) return wait();
    move_to(at);
    return true;
  }
  const char c = text[at];
  if (c == '\n') {
    move_to(at + 1);
    return true;
  }
  if (c == '{') return object(at, at_end);
  if (c == '[' && is_line_start) {
    bool needs_more = false;
    if (array_begins(at, at_end, needs_more)) {
      if (is_in_array) end_array(false);
      is_in_array = is_in_json = true;
      array_line = line;
      array_rows = 0;
      move_to(at + 1);
      is_line_start = false;
      return true;
    }
    if (needs_more) return wait();
  }
  if (c == ']' && is_in_array) {
    end_array(true);
    move_to(at + 1);
    return true;
  }
  return plain_line(at_end);
}

// A bracket with a row, the end of the line or its closing bracket behind it: not that of a log's time stamp.
bool LlamaBenchReader::State::array_begins(std::size_t at, bool at_end, bool& needs_more) const {
  std::size_t next = at + 1;
  while (next < buffer.size() && is_blank(buffer[next])) ++next;
  if (next == buffer.size()) {
    needs_more = !at_end && next - at < kMaxLine;
    return at_end;
  }
  return buffer[next] == '\n' || buffer[next] == '{' || buffer[next] == ']';
}

void LlamaBenchReader::State::end_array(bool is_whole) {
  if (!is_whole) {
    emitter.note(array_line, fmt::format("the JSON array that begins here is cut short: its {} whole {} kept",
                                         array_rows, array_rows == 1 ? "row is" : "rows are"));
  }
  is_in_array = is_in_json = false;
}

bool LlamaBenchReader::State::object(std::size_t at, bool at_end) {
  JsonScan scan = scanner.scan(std::string_view(buffer).substr(at), members);
  if (scan.state == JsonScan::State::kNeedsMore) {
    const bool is_too_long = buffer.size() - at > kMaxRow;
    if (!at_end && !is_too_long) return wait();
    scan.end = buffer.size() - at;
    scan.what = is_too_long ? "it is longer than 4 MiB" : "it ends in the middle";
    if (scan.first_log_line != 0) scan.end = scan.first_log_line;
  }
  // What is wrong is passed over up to the end of its line, which must be there.
  const bool has_line_end = buffer.find('\n', at + scan.end) != std::string::npos;
  if (scan.state == JsonScan::State::kWrong && !has_line_end && !at_end && buffer.size() - at <= kMaxRow) return wait();
  if (scan.state == JsonScan::State::kWhole) {
    row_of_object(at, at + scan.end);
  } else {
    broken_object(at, scan);
  }
  return true;
}

void LlamaBenchReader::State::row_of_object(std::size_t at, std::size_t end) {
  const std::string_view raw = std::string_view(buffer).substr(at, end - at);
  RowBuilder& builder = emitter.builder();
  const std::span<const JsonMember> all(members);
  builder.begin(all.first(scanner.same()));
  for (const JsonMember& member : all.subspan(scanner.same())) builder.json(member);
  if (builder.known() == 0) {
    emitter.other_line();
  } else {
    const bool is_line = !is_in_array && raw.find('\n') == std::string_view::npos;
    const bool is_row = emitter.finish(place(at), raw, is_line ? &LlamaBenchCounts::jsonl : &LlamaBenchCounts::json);
    if (is_in_array && is_row) ++array_rows;
  }
  is_in_json = true;
  move_to(end);
}

namespace {

// How llama-bench begins a row.
constexpr std::string_view kRowBegins = R"({"build_commit")";

// Where reading goes on in the line of an error inside an object: behind the object's closing bracket, or where another
// one begins; npos if the line has neither. Other objects may stand behind it, up to a whole file of them.
std::size_t resumed_in_line(std::string_view text, std::size_t object, std::size_t wrong) {
  text = text.substr(0, text.find('\n', wrong));
  // An object that was cut has the next one inside.
  std::size_t resumed = text.find(kRowBegins, object + 1);
  bool in_text = false;
  for (std::size_t at = wrong; at < std::min(text.size(), resumed); ++at) {
    const char c = text[at];
    if (in_text && c == '\\') {
      ++at;
    } else if (c == '"') {
      in_text = !in_text;
    } else if (!in_text && (c == '}' || c == '{')) {
      resumed = c == '}' ? at + 1 : at;
    }
  }
  return resumed;
}

}  // namespace

void LlamaBenchReader::State::broken_object(std::size_t at, const JsonScan& scan) {
  const std::string_view text = buffer;
  const bool is_row = std::any_of(members.begin(), members.end(), [](const JsonMember& member) {
    return member.plain_name && field_named(member.name).has_value();
  });
  const std::size_t wrong = std::min(at + scan.end, text.size());
  const std::size_t line_end = std::min(text.find('\n', wrong), text.size());
  if (is_row) {
    emitter.quarantine(place(at), fmt::format("not a whole JSON object: {}", scan.what),
                       text.substr(at, line_end - at));
  } else {
    emitter.other_line();
  }
  const std::size_t resumed = resumed_in_line(text, at, wrong);
  // Whatever it is, a row inside it is one.
  const bool goes_on = resumed != std::string_view::npos && resumed > at;
  if (goes_on && (is_row || text.substr(resumed).starts_with(kRowBegins))) {
    move_to(resumed);
    is_in_json = true;
    return;
  }
  // Goes on with the line of the error, where something else may begin, unless that is the line of the object itself.
  const std::size_t newline = wrong > at ? text.rfind('\n', wrong - 1) : std::string_view::npos;
  const bool has_line = newline != std::string_view::npos && newline > at && wrong < text.size();
  if (has_line) {
    move_to(newline + 1);
  } else if (line_end < text.size()) {
    move_to(line_end + 1);
  } else {
    skips_line = !text.empty() && line_end == text.size() && text.size() - at > kMaxRow;
    move_to(text.size());
  }
}

bool LlamaBenchReader::State::plain_line(bool at_end) {
  const std::string_view text = buffer;
  const std::size_t newline = text.find('\n', position);
  if (newline == std::string_view::npos && !at_end) {
    if (text.size() - position <= kMaxLine) return wait();
    // Lines that end in a carriage return alone, or what a progress bar left.
    if (const std::size_t returned = text.rfind('\r'); returned != std::string_view::npos && returned > position) {
      static_cast<void>(handle_line(text.substr(position, returned + 1 - position)));
      move_to(returned + 1);
      return true;
    }
    emitter.note(line, "a line longer than 1 MiB was skipped");
    skips_line = true;
    move_to(text.size());
    return true;
  }
  const std::size_t end = std::min(newline, text.size());
  const std::string_view whole_line = text.substr(position, end - position);
  if (!handle_line(whole_line)) {
    // A row of JSON behind something that did not end its own line.
    const std::size_t brace = whole_line.find(kRowBegins);
    if (brace != std::string_view::npos && brace > 0) {
      move_to(position + brace);
      return true;
    }
    emitter.other_line();
  }
  is_in_json = is_in_array;
  move_to(std::min(end + 1, text.size()));
  return true;
}

bool LlamaBenchReader::State::handle_line(std::string_view whole_line) {
  const Place here = place(position);
  const auto is_known = [&](std::string_view bare, const Place& at) {
    return sql.line(bare, at) || csv.line(bare, at) || markdown.line(bare, at);
  };
  while (whole_line.ends_with('\r')) whole_line.remove_suffix(1);
  if (here.line > 1 || whole_line.find('\r') == std::string_view::npos) return is_known(bare_line(whole_line), here);
  // A first line with carriage returns inside: a progress bar's, or a whole file from where they end lines.
  bool any = false;
  for (; !whole_line.empty(); ++returned_lines) {
    const std::size_t end = std::min(whole_line.find('\r'), whole_line.size());
    any |= is_known(bare_line(whole_line.substr(0, end)), {here.offset, here.line + returned_lines});
    whole_line.remove_prefix(std::min(end + 1, whole_line.size()));
  }
  return any;
}

void LlamaBenchReader::State::finish() {
  sql.finish();
  csv.finish();
  markdown.finish();
  if (is_in_array) end_array(false);
  if (emitter.counts().format() == "mixed") {
    emitter.note(0, "it holds rows in more than one format: the same measurement may be there more than once");
  }
}

LlamaBenchReader::LlamaBenchReader(RowSink& sink, ColumnMapping mapping)
    : state_(std::make_unique<State>(sink, std::move(mapping))) {}
LlamaBenchReader::LlamaBenchReader(LlamaBenchReader&&) noexcept = default;
LlamaBenchReader& LlamaBenchReader::operator=(LlamaBenchReader&&) noexcept = default;
LlamaBenchReader::~LlamaBenchReader() = default;

void LlamaBenchReader::feed(std::string_view bytes) {
  state_->decoder.feed(bytes, state_->buffer);
  if (state_->buffer.size() - state_->position >= state_->wanted) state_->process(false);
}

void LlamaBenchReader::finish() {
  state_->decoder.finish(state_->buffer);
  state_->process(true);
  state_->finish();
}

const LlamaBenchCounts& LlamaBenchReader::counts() const {
  return state_->emitter.counts();
}

}  // namespace capbench::imports
