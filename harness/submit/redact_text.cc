#include "harness/submit/redact_text.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace capbench::submit {
namespace {

using observe::Addresses;
using observe::PersonalDetails;

// Words of the output that is kept, by which it is read and its treatment proven.
constexpr std::string_view kWords =
    " a100 accelerator amd amx apple arch arm arm64 auto avx avx2 avx512 backend backends bare-metal base batch"
    " bench benchmark benchmarks bf16 blas bool buffer bus cache caches capabilities capability capbench capshim"
    " chunk clock code config configuration context coopmat core cpu cpus ctx cuda data date decode depth device"
    " devices driver epyc error executable f16 f32 failed false family file final flash float fp16 free gemma ggml"
    " gguf google-benchmark gpt gpu gpus graph h100 h200 haswell host id idle image info init int integer intel"
    " iterations kernel kv label layer layers level library line list llama llama-bench llama-perplexity llama.cpp"
    " llm load loaded log m1 m2 m3 m4 mask matrix mean median memory metal min mistral mlx mlx-lm mode model"
    " models moe name neon no none null number nvidia off ok on opencl operator parameters params perplexity phi"
    " pp probe prompt quickstart qwen radeon registered result results rocm row run runtime ryzen sample samples"
    " shader shared shim size skylake stand-in stock support supported sycl system tensor test test-backend-ops"
    " tests text tg thread threads time tiny tinyllama token tokens total true twin type unlocked used value"
    " version vm vulkan warmup warp working x64 x86 xeon yes"
    " ";

// Fields of a text that holds versions, or of which the neighbouring word says so.
constexpr auto kVersionWords =
    std::to_array<std::string_view>({"version", "driver", "firmware", "release", "revision"});

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

bool is_word_of_output(std::string_view name) {
  constexpr std::size_t kLongestNumber = 5;  // longer ones are people's: a student's, an employee's
  if (all_digits(name)) return name.size() <= kLongestNumber;
  return name.find(' ') == std::string_view::npos && kWords.find(" " + lower(name) + " ") != std::string_view::npos;
}

bool says_version(std::string_view folded) {
  return std::any_of(kVersionWords.begin(), kVersionWords.end(),
                     [&](std::string_view word) { return folded.find(word) != std::string_view::npos; });
}

bool says_password(std::string_view folded) {
  return folded.find("password") != std::string_view::npos || folded.find("passwd") != std::string_view::npos ||
         folded.find("passphrase") != std::string_view::npos;
}

bool is_stand_in(std::string_view text) {
  return text.size() > 2 && text.front() == '<' && text.find('>') == text.size() - 1;
}

// "driver 31.0.15.52": a version, whatever it looks like.
bool follows_version_word(std::string_view text, std::size_t at) {
  constexpr std::string_view kBetween = " \t:=(\"'vV";
  while (at > 0 && kBetween.find(text[at - 1]) != std::string_view::npos) --at;
  const std::string before = lower(text.substr(at < 16 ? 0 : at - 16, std::min<std::size_t>(at, 16)));
  return std::any_of(kVersionWords.begin(), kVersionWords.end(),
                     [&](std::string_view word) { return before.ends_with(word); });
}

}  // namespace

UsableDetails usable(const PersonalDetails& details) {
  UsableDetails result;
  const auto take = [&](const std::vector<std::string>& names, std::vector<std::string>& kept) {
    for (const std::string& name : names) {
      if (!is_word_of_output(name)) {
        kept.push_back(name);
      } else if (!observe::is_common_name(name) &&
                 std::find(result.left.begin(), result.left.end(), name) == result.left.end()) {
        result.left.push_back(name);
      }
    }
  };
  take(details.users, result.details.users);
  take(details.hosts, result.details.hosts);
  result.details.homes = details.homes;
  result.details.secrets = details.secrets;
  return result;
}

bool TextRedactor::keeps(std::string_view text) const {
  return !keep_.empty() && std::find(keep_.begin(), keep_.end(), lower(text)) != keep_.end();
}

TextRedactor::TextRedactor(PersonalDetails details, std::vector<std::string> keep)
    : details_(std::move(details)), keep_(std::move(keep)) {
  for (std::string& text : keep_) text = lower(text);
}

std::string TextRedactor::redact(std::string_view text, std::string_view key, Addresses addresses) {
  addresses_ = addresses;
  return mixed(text, key, 0);
}

std::map<std::string, std::uint64_t> TextRedactor::take_counts() {
  return std::exchange(counts_, {});
}

std::vector<Find> TextRedactor::take_finds() {
  return std::exchange(finds_, {});
}

void TextRedactor::note(std::string_view kind, std::string_view key, std::string_view text) {
  ++counts_[std::string(kind)];
  constexpr std::size_t kLongest = 80;
  if (finds_.size() < kMostFinds) {
    finds_.push_back({std::string(kind), std::string(key), std::string(text.substr(0, kLongest))});
  }
}

// Whether a find is none: kept on request, a version, or digits in the middle of a number.
bool TextRedactor::stays(std::string_view around, std::size_t offset, std::size_t length, std::string_view kind) const {
  const std::string_view found = around.substr(offset, length);
  if (keeps(found)) return true;
  if (kind == "ipv4") return follows_version_word(around, offset);
  if (kind != "secret" || !all_digits(found)) return false;
  const auto is_numeric = [](char c) { return is_digit(c) || c == '.'; };
  return (offset > 0 && is_numeric(around[offset - 1])) ||
         (offset + length < around.size() && is_numeric(around[offset + length]));
}

// The finds in `text`, or in a view of it, as places of the original.
void TextRedactor::find_in(std::string_view text, std::string_view key, const View* view,
                           std::vector<Span>& spans) const {
  const std::string_view seen = view == nullptr ? text : std::string_view(view->text);
  const std::string prefix = key.empty() ? "" : std::string(key) + ": ";
  const std::string whole = prefix.empty() ? std::string() : prefix + std::string(seen);
  const std::string_view given = prefix.empty() ? seen : std::string_view(whole);
  const Addresses addresses = says_version(lower(key)) ? Addresses::kKeep : addresses_;
  for (const observe::Replacement& replacement : observe::redact(given, details_, addresses).replaced) {
    const std::size_t end = replacement.offset + replacement.length;
    if (end <= prefix.size()) continue;
    const std::size_t begin = std::max(replacement.offset, prefix.size());
    if (stays(given, begin, end - begin, replacement.kind)) continue;
    const std::size_t first = begin - prefix.size();
    const std::size_t last = end - prefix.size();
    const bool is_own = view == nullptr || view->from.empty();
    const std::size_t from = is_own ? first : view->from[first];
    const std::size_t to = is_own ? last : view->to[last - 1];
    spans.push_back({from, to - from, replacement.kind});
  }
}

std::vector<TextRedactor::Span> TextRedactor::find(std::string_view text, std::string_view key) const {
  std::vector<Span> spans;
  if (says_password(lower(key)) && !text.empty() && !is_stand_in(text) && text != "true" && text != "false" &&
      text != "null") {
    return {{0, text.size(), "password"}};
  }
  find_in(text, key, nullptr, spans);
  const auto look_through = [&](const View& view) {
    if (view.text != text) find_in(text, key, &view, spans);
  };
  if (text.find('\\') != std::string_view::npos) {
    const View view = without_escapes(text);
    look_through(view);
    if (view.text.find('\x1B') != std::string::npos) look_through(through(view, without_colours(view.text)));
  }
  if (text.find('\x1B') != std::string_view::npos) look_through(without_colours(text));
  if (text.find('%') != std::string_view::npos) look_through(without_percents(text));
  if (text.find('.') != std::string_view::npos) look_through(without_endings(text));
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.length > b.length;
  });
  std::vector<Span> united;
  for (Span& span : spans) {
    if (!united.empty() && span.offset < united.back().offset + united.back().length) {
      Span& last = united.back();
      last.length = std::max(last.length, span.offset + span.length - last.offset);
    } else {
      united.push_back(std::move(span));
    }
  }
  return united;
}

std::string TextRedactor::plain(std::string_view text, std::string_view key) {
  std::string shown(text);
  // What stood next to a find may be one itself, now that it ends where the find began.
  constexpr int kMostPasses = 16;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const std::vector<Span> spans = find(shown, key);
    if (spans.empty()) break;
    std::string next;
    std::size_t done = 0;
    for (const Span& span : spans) {
      note(span.kind, key, std::string_view(shown).substr(span.offset, span.length));
      next.append(shown, done, span.offset - done).append("<").append(span.kind).append(">");
      done = span.offset + span.length;
    }
    shown = std::move(next.append(shown, done));
  }
  return shown;
}

std::string TextRedactor::value(std::string_view text, std::string_view key, int depth) {
  if (says_password(lower(key))) return plain(text, key);
  return mixed(text, key, depth);
}

// A number stands for a serial number or a password where its key says so, or where it is one that is known.
bool TextRedactor::is_secret_number(std::string_view number, std::string_view key) const {
  if (key.empty()) return false;
  const std::string folded = lower(key);
  if (says_password(folded)) return true;
  constexpr std::size_t kShortest = 8;
  const bool known = number.size() >= kShortest && std::find(details_.secrets.begin(), details_.secrets.end(),
                                                             std::string(number)) != details_.secrets.end();
  if (known) return true;
  if (folded.find("serial") == std::string::npos) return false;
  const std::vector<Span> spans = find(number, key);
  return std::any_of(spans.begin(), spans.end(), [](const Span& span) { return span.kind == "serial"; });
}

// One whole value of JSON, copied but for the strings that are replaced.
class TextRedactor::Json {
 public:
  Json(TextRedactor& redactor, std::string_view text, int depth) : redactor_(redactor), text_(text), depth_(depth) {}

  std::string redacted(std::string_view outer_key) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '{' || c == '[') {
        open_.push_back({c == '{', c == '{', open_.empty() ? std::string(outer_key) : open_.back().key, {}, {}});
        out_ += text_[at_++];
      } else if (c == '}' || c == ']') {
        open_.pop_back();
        out_ += text_[at_++];
      } else if (c == '"') {
        take_string();
      } else if (c == '-' || is_digit(c)) {
        take_number();
      } else {
        if (c == ',' && open_.back().is_object) open_.back().expects_key = true;
        out_ += text_[at_++];
      }
    }
    return std::move(out_);
  }

 private:
  struct Level {
    bool is_object;
    bool expects_key;
    std::string key;  // of the value that comes; in a list, of the list
    std::set<std::string> keys;
    std::set<std::string> replaced_keys;
  };

  void take_string() {
    const std::size_t end = string_end(text_, at_).value_or(text_.size());
    const std::string_view literal = text_.substr(at_, end - at_);
    at_ = end;
    const std::string before = decoded_string(literal);
    Level& level = open_.back();
    if (level.expects_key) {
      level.expects_key = false;
      const std::string after = unique(redactor_.plain(before, {}), before);
      level.key = before;
      out_ += after == before ? std::string(literal) : encoded_string(after);
      return;
    }
    const std::string after = redactor_.value(before, level.key, depth_ + 1);
    out_ += after == before ? std::string(literal) : encoded_string(after);
  }

  // Two keys that were different stay so.
  std::string unique(const std::string& name, const std::string& before) {
    Level& level = open_.back();
    std::string result = name;
    const bool clashes = name != before ? level.keys.contains(name) : level.replaced_keys.contains(name);
    for (int n = 2; clashes && level.keys.contains(result); ++n) result = name + " " + std::to_string(n);
    level.keys.insert(result);
    if (result != before) level.replaced_keys.insert(result);
    return result;
  }

  void take_number() {
    const std::size_t end = number_end(text_, at_).value_or(text_.size());
    const std::string_view number = text_.substr(at_, end - at_);
    at_ = end;
    const Level& level = open_.back();
    if (level.is_object && redactor_.is_secret_number(number, level.key)) {
      const char* kind = says_password(lower(level.key)) ? "password" : "serial";
      redactor_.note(kind, level.key, number);
      out_ += std::string("\"<") + kind + ">\"";
    } else {
      out_ += number;
    }
  }

  TextRedactor& redactor_;
  std::string_view text_;
  int depth_;
  std::size_t at_ = 0;
  std::string out_;
  std::vector<Level> open_;
};

std::string TextRedactor::mixed(std::string_view text, std::string_view key, int depth) {
  constexpr int kDeepest = 8;  // of JSON in a string of JSON
  std::vector<JsonSpan> spans = depth < kDeepest ? json_spans(text) : std::vector<JsonSpan>();
  // Brackets without a string in them ("Jo's Mac [2]") are a part of the text around them.
  std::erase_if(spans, [&](const JsonSpan& span) {
    return text.substr(span.begin, span.end - span.begin).find('"') == std::string_view::npos;
  });
  if (spans.empty()) return plain(text, key);
  std::string out;
  std::size_t done = 0;
  for (const JsonSpan& span : spans) {
    out += plain(text.substr(done, span.begin - done), {});
    out += Json(*this, text.substr(span.begin, span.end - span.begin), depth).redacted(key);
    done = span.end;
  }
  return out + plain(text.substr(done), {});
}

}  // namespace capbench::submit
