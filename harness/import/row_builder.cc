#include "harness/import/row_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/import/text.h"
#include "harness/runtime/llama_bench.h"
#include "harness/stats/summary.h"

namespace capbench::imports {
namespace {

// The largest counts that a row may claim: beyond them a product with a rate would lose digits.
constexpr std::int64_t kMaxTokens = 1'000'000'000;
constexpr std::size_t kMaxSamples = 1'000'000;

// Averages of times are cut to whole nanoseconds, avg_ts has six decimals and samples_ts six significant digits.
constexpr double kTimeTolerance = 1e-6;
constexpr double kAverageTolerance = 1e-5;
constexpr double kPrintedDigits = 1e-5;

std::optional<std::int64_t> whole(double value) {
  constexpr double kExactIntegers = 9007199254740992.0;
  if (std::fabs(value) > kExactIntegers || value != std::floor(value)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

std::optional<std::int64_t> integer(const JsonValue& value) {
  switch (value.kind) {
    case JsonKind::kTrue:
      return 1;
    case JsonKind::kFalse:
      return 0;
    case JsonKind::kNumber:
    case JsonKind::kString: {
      if (const auto number = parse_integer(value.text)) return number;
      const auto number = parse_number(value.text);  // 4.67e9: other people's JSON libraries
      return number ? whole(*number) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::optional<double> number(const JsonValue& value) {
  if (value.kind != JsonKind::kNumber && value.kind != JsonKind::kString) return std::nullopt;
  return parse_number(value.text);
}

// "2026-01-31", alone or with a time of day behind it: of some year in which somebody may have measured this.
bool is_time(std::string_view text) {
  constexpr std::string_view kDate = "dddd-dd-dd";
  constexpr std::string_view kTime = "xdd:dd";
  const auto fits = [](std::string_view part, std::string_view shape) {
    if (part.size() < shape.size()) return false;
    for (std::size_t i = 0; i < shape.size(); ++i) {
      const bool is_digit = part[i] >= '0' && part[i] <= '9';
      if (shape[i] == 'd' ? !is_digit : shape[i] == 'x' ? part[i] != 'T' && part[i] != ' ' : part[i] != shape[i]) {
        return false;
      }
    }
    return true;
  };
  if (!fits(text, kDate)) return false;
  const auto two = [&](std::size_t at) { return 10 * (text[at] - '0') + (text[at + 1] - '0'); };
  const int century = two(0);
  const int month = two(5);
  const int day = two(8);
  if (century != 20 || month < 1 || month > 12 || day < 1 || day > 31) return false;
  return text.size() == kDate.size() || (fits(text.substr(kDate.size()), kTime) && two(11) < 24 && two(14) < 60);
}

// Calls take(token) for every element of a flat list of numbers; false if take() is, or if it is no list.
template <class Take>
bool for_each_number(const JsonValue& list, const Take& take) {
  if (list.kind != JsonKind::kArray || list.text.size() < 2) return false;
  const char* at = list.text.data() + 1;
  const char* const end = list.text.data() + list.text.size() - 1;
  const auto skip_space = [&] {
    while (at != end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
  };
  skip_space();
  if (at == end) return true;
  while (true) {
    const char* const start = at;
    while (at != end && *at != ',' && *at != ' ' && *at != '\n' && *at != '\r' && *at != '\t') ++at;
    if (!take(std::string_view(start, static_cast<std::size_t>(at - start)))) return false;
    skip_space();
    if (at == end) return true;
    if (*at != ',') return false;
    ++at;
    skip_space();
  }
}

bool is_near(double value, double expected, double tolerance) {
  return std::fabs(value - expected) <= tolerance * std::fabs(expected);
}

std::string shown(const JsonValue& value) {
  return to_utf8(value.text.substr(0, 60));
}

// The device that an older build ran on, of its booleans, in the order in which those builds asked.
constexpr auto kOldBackends = std::to_array<std::pair<Field, std::string_view>>({{Field::kCuda, "CUDA"},
                                                                                 {Field::kOpencl, "OpenCL"},
                                                                                 {Field::kVulkan, "Vulkan"},
                                                                                 {Field::kKompute, "Kompute"},
                                                                                 {Field::kMetal, "Metal"},
                                                                                 {Field::kSycl, "SYCL"},
                                                                                 {Field::kRpc, "RPC"},
                                                                                 {Field::kGpuBlas, "GPU BLAS"},
                                                                                 {Field::kBlas, "BLAS"}});

}  // namespace

std::optional<TestName> parse_test_name(std::string_view text) {
  std::string compact;
  for (const char c : text) {
    if (c != ' ' && c != '*' && c != '`' && c != '\\') compact.push_back(c);
  }
  TestName test;
  std::string_view rest = compact;
  const std::size_t at = rest.find("@d");
  if (at != std::string_view::npos) {
    const auto depth = parse_integer(rest.substr(at + 2));
    if (!depth || *depth < 0) return std::nullopt;
    test.n_depth = *depth;
    rest = rest.substr(0, at);
  }
  const auto count = [](std::string_view part, std::string_view prefix) -> std::optional<std::int64_t> {
    if (!part.starts_with(prefix)) return std::nullopt;
    const auto n = parse_integer(part.substr(prefix.size()));
    return n && *n > 0 ? n : std::nullopt;
  };
  const std::size_t plus = rest.find('+');
  if (plus != std::string_view::npos) {
    const auto prompt = count(rest.substr(0, plus), "pp");
    const auto gen = count(rest.substr(plus + 1), "tg");
    if (!prompt || !gen) return std::nullopt;
    test.n_prompt = *prompt;
    test.n_gen = *gen;
    return test;
  }
  if (const auto prompt = count(rest, "pp")) {
    test.n_prompt = *prompt;
    return test;
  }
  const auto gen = count(rest, "tg");
  if (!gen) return std::nullopt;
  test.n_gen = *gen;
  return test;
}

void RowBuilder::begin(std::span<const JsonMember> same) {
  if (!has_steps_ || same.empty() || same.size() > steps_.size()) {
    begin();
    for (const JsonMember& member : same) json(member);
    return;
  }
  const Step& last = steps_[same.size() - 1];
  fields_.resize(last.size);
  position_ = last.position;
  repaired_ = last.repaired;
  is_set_.reset();
  for (std::size_t i = 0; i < same.size(); ++i) {
    if (!steps_[i].field) continue;
    const auto index = static_cast<std::size_t>(*steps_[i].field);
    is_set_.set(index);
    values_.at(index) = same[i].value;
  }
  steps_.resize(same.size());
  is_json_ = true;
  avg_ns_.reset();
  avg_ts_.reset();
}

void RowBuilder::begin() {
  steps_.clear();
  has_steps_ = true;
  is_set_.reset();
  is_json_ = false;
  position_ = 0;
  fields_.assign("{");
  twice_.clear();
  repaired_ = false;
  avg_ns_.reset();
  avg_ts_.reset();
}

std::optional<Field> RowBuilder::known_field(std::string_view name) {
  if (position_ < expected_.size() && expected_[position_].name == name) return expected_[position_].field;
  return field_named(name);
}

void RowBuilder::set(Field field, const JsonValue& value) {
  const auto index = static_cast<std::size_t>(field);
  if (is_set_.test(index)) {
    if (twice_.empty()) twice_ = info(field).name;
    return;
  }
  is_set_.set(index);
  values_.at(index) = value;
  if (position_ == expected_.size()) {
    expected_.push_back({info(field).name, field});
  } else if (expected_[position_].field != field) {
    expected_[position_] = {info(field).name, field};
  }
  ++position_;
}

const JsonValue* RowBuilder::find(Field field) const {
  const auto index = static_cast<std::size_t>(field);
  return is_set_.test(index) && values_.at(index).kind != JsonKind::kNull ? &values_.at(index) : nullptr;
}

void RowBuilder::append_name(std::string_view name) {
  if (fields_.size() > 1) fields_.push_back(',');
  append_json_string(fields_, name);
  fields_.push_back(':');
}

void RowBuilder::json(const JsonMember& member) {
  const std::optional<Field> field = add(member);
  // A field that stands twice spoils its row: not to be built upon.
  has_steps_ = has_steps_ && twice_.empty();
  steps_.push_back({field, position_, fields_.size(), repaired_});
}

std::optional<Field> RowBuilder::add(const JsonMember& member) {
  is_json_ = true;
  if (!member.plain_name) {
    std::string name;
    decode_string({JsonKind::kString, member.name, false}, name);
    append_name(name);
    repaired_ |= append_compact(fields_, member.value);
    return std::nullopt;
  }
  const std::optional<Field> field = known_field(member.name);
  if (field) {
    set(*field, member.value);
    if (*field == Field::kSamplesNs || *field == Field::kSamplesTs) return field;  // finish() knows if they are wanted
  }
  if (fields_.size() > 1) fields_.push_back(',');
  // Both stand between quotes in the text that they are views of.
  fields_.append(member.name.data() - 1, member.name.size() + 2);
  fields_.push_back(':');
  if (member.value.kind == JsonKind::kString && member.value.plain) {
    fields_.append(member.value.text.data() - 1, member.value.text.size() + 2);
  } else {
    repaired_ |= append_compact(fields_, member.value);
  }
  return field;
}

void RowBuilder::text(std::string_view name, std::string_view value) {
  if (const std::optional<Field> field = known_field(name)) {
    text(*field, value);
    return;
  }
  append_name(name);
  append_json_string(fields_, value);
}

void RowBuilder::text(Field field, std::string_view value) {
  const FieldInfo& known = info(field);
  JsonValue typed{JsonKind::kString, value, true};
  if (known.type == FieldType::kBool && (value == "1" || value == "true")) typed = {JsonKind::kTrue, "true", true};
  if (known.type == FieldType::kBool && (value == "0" || value == "false")) typed = {JsonKind::kFalse, "false", true};
  if ((known.type == FieldType::kInteger || known.type == FieldType::kReal) && is_json_number(value)) {
    typed.kind = JsonKind::kNumber;
  }
  if (known.type == FieldType::kReal && (value == "nan" || value == "-nan" || value == "inf" || value == "-inf")) {
    typed.kind = JsonKind::kWord;
  }
  if (known.type == FieldType::kList && value.starts_with('[') && value.ends_with(']')) typed.kind = JsonKind::kArray;
  set(field, typed);
  if (known.type == FieldType::kList) return;
  append_name(known.name);
  if (typed.kind == JsonKind::kString) {
    append_json_string(fields_, value);
  } else {
    repaired_ |= append_compact(fields_, typed);
  }
}

std::string RowBuilder::read_counts(ImportedRow& row) const {
  struct Count {
    Field field;
    std::int64_t* value;
    bool is_required;
  };
  for (const Count& count :
       {Count{Field::kNPrompt, &row.result.n_prompt, true}, Count{Field::kNGen, &row.result.n_gen, true},
        Count{Field::kNDepth, &row.result.n_depth, false}}) {
    *count.value = 0;
    const JsonValue* given = find(count.field);
    if (given == nullptr) {
      if (count.is_required) return fmt::format("no field \"{}\"", info(count.field).name);
      continue;
    }
    const auto value = integer(*given);
    if (!value || *value < 0 || *value > kMaxTokens) {
      return fmt::format("impossible {}: {}", info(count.field).name, shown(*given));
    }
    *count.value = *value;
  }
  if (row.result.n_prompt + row.result.n_gen == 0) return "n_prompt and n_gen are both 0";
  row.result.test = runtime::test_name(row.result.n_prompt, row.result.n_gen, row.result.n_depth);
  for (const auto& [field, value] : {std::pair(Field::kModelSize, &row.result.model_size),
                                     std::pair(Field::kModelNParams, &row.result.model_n_params)}) {
    *value = 0;
    const JsonValue* given = find(field);
    if (given == nullptr) continue;
    const auto count = integer(*given);
    if (!count || *count < 0) return fmt::format("impossible {}: {}", info(field).name, shown(*given));
    *value = *count;
  }
  return "";
}

// Numbers that say what ran. None that llama-bench prints is a word, or larger than this.
std::string RowBuilder::check_settings() const {
  constexpr std::int64_t kMost = 1'000'000'000;
  for (const Field field : {Field::kBuildNumber, Field::kNBatch, Field::kNUbatch, Field::kNThreads}) {
    const JsonValue* given = find(field);
    if (given == nullptr) continue;
    const auto value = integer(*given);
    if (!value || *value < -1 || *value > kMost) {
      return fmt::format("impossible {}: {}", info(field).name, shown(*given));
    }
  }
  return "";
}

std::string RowBuilder::read_texts(ImportedRow& row) {
  std::string commit;
  for (const auto& [field, text] :
       {std::pair(Field::kBuildCommit, &commit), std::pair(Field::kModelType, &row.result.model_type),
        std::pair(Field::kBackends, &row.result.backends), std::pair(Field::kCpuInfo, &row.result.cpu_info),
        std::pair(Field::kGpuInfo, &row.result.gpu_info), std::pair(Field::kModelFilename, &row.model_filename),
        std::pair(Field::kTestTime, &row.test_time)}) {
    text->clear();
    const JsonValue* given = find(field);
    if (given == nullptr) continue;
    if (given->kind == JsonKind::kArray || given->kind == JsonKind::kObject) {
      return fmt::format("{} is not a text", info(field).name);
    }
    if (given->kind == JsonKind::kString) {
      // Texts of CSV, SQL and Markdown have no escapes but may hold any bytes.
      if (!is_json_ && !is_utf8(given->text)) {
        *text = to_utf8(given->text);
        repaired_ = true;
      } else {
        repaired_ |= decode_string(*given, *text);
      }
    } else {
      text->assign(given->text);
    }
  }
  // The field keeps what it says.
  if (!row.test_time.empty() && !is_time(row.test_time)) {
    row.test_time.clear();
    row.flags.emplace_back("time not understood");
  }
  row.result.build.clear();
  if (!commit.empty()) {
    const JsonValue* given = find(Field::kBuildNumber);
    const auto build_number = given == nullptr ? std::nullopt : integer(*given);
    row.result.build = commit;
    if (build_number) row.result.build.append(" (").append(std::to_string(*build_number)).append(")");
  }
  return "";
}

std::string RowBuilder::read_averages(ImportedRow& row) {
  row.mean_ts.reset();
  row.stddev_ts.reset();
  row.repetitions.reset();
  for (const auto& [field, average] : {std::pair(Field::kAvgNs, &avg_ns_), std::pair(Field::kAvgTs, &avg_ts_)}) {
    const JsonValue* given = find(field);
    if (given == nullptr) continue;
    *average = number(*given);
    if (!*average || **average <= 0) return fmt::format("impossible {}: {}", info(field).name, shown(*given));
  }
  // The printer's formula can give the root of a negative number; that says nothing against the row.
  for (const Field field : {Field::kStddevNs, Field::kStddevTs}) {
    const JsonValue* given = find(field);
    if (given == nullptr || given->kind == JsonKind::kWord) continue;
    const auto deviation = number(*given);
    if (!deviation || *deviation < 0) return fmt::format("impossible {}: {}", info(field).name, shown(*given));
    if (field == Field::kStddevTs) row.stddev_ts = deviation;
  }
  row.mean_ts = avg_ts_;
  if (!row.mean_ts && avg_ns_) {
    row.mean_ts = 1e9 * static_cast<double>(row.result.n_prompt + row.result.n_gen) / *avg_ns_;
    if (!std::isfinite(*row.mean_ts) || *row.mean_ts <= 0) {
      return fmt::format("impossible avg_ns: {}", shown(*find(Field::kAvgNs)));
    }
    row.flags.emplace_back("rate of the mean time");
  }
  return "";
}

std::string RowBuilder::read_samples(ImportedRow& row) {
  auto& samples = row.result.samples_ns;
  samples.clear();
  rates_.clear();
  const std::int64_t tokens = row.result.n_prompt + row.result.n_gen;
  std::string problem;
  const JsonValue* times = find(Field::kSamplesNs);
  const JsonValue* rates = find(Field::kSamplesTs);
  if (times != nullptr) {
    const bool is_list = for_each_number(*times, [&](std::string_view token) {
      auto ns = parse_integer(token);
      if (!ns) {
        const auto real = parse_number(token);
        ns = real ? whole(*real) : std::nullopt;
      }
      if (!ns || *ns <= 0 || samples.size() == kMaxSamples) {
        problem = fmt::format("impossible sample: {} ns", to_utf8(token.substr(0, 40)));
        return false;
      }
      samples.push_back(*ns);
      return true;
    });
    if (!problem.empty()) return problem;
    if (!is_list) return "samples_ns is not a list of numbers";
  }
  if (rates != nullptr) {
    const bool is_list = for_each_number(*rates, [&](std::string_view token) {
      const auto rate = parse_number(token);
      if (!rate || !is_json_number(token) || *rate <= 0 || rates_.size() == kMaxSamples) {
        problem = fmt::format("impossible sample: {} tokens/s", to_utf8(token.substr(0, 40)));
        return false;
      }
      rates_.push_back(*rate);
      return true;
    });
    if (!problem.empty()) return problem;
    if (!is_list) return "samples_ts is not a list of numbers";
  }
  if (samples.empty() && !rates_.empty()) {
    // Six digits of a rate are better than no samples; the rates themselves stay in the fields.
    for (const double rate : rates_) {
      const double ns = std::round(1e9 * static_cast<double>(tokens) / rate);
      if (ns < 1 || ns > 1e18) return fmt::format("impossible sample: {} tokens/s", rate);
      samples.push_back(static_cast<std::int64_t>(ns));
    }
    append_name("samples_ts");
    repaired_ |= append_compact(fields_, *rates);
    row.flags.emplace_back("samples from rates");
    return "";
  }
  if (rates_.empty()) return "";
  if (rates_.size() != samples.size()) {
    return fmt::format("{} samples_ts beside {} samples_ns", rates_.size(), samples.size());
  }
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (!is_near(rates_[i], stats::tokens_per_second(tokens, samples[i]), kPrintedDigits)) {
      return fmt::format("sample {}: {} tokens/s contradicts {} ns", i + 1, rates_[i], samples[i]);
    }
  }
  return "";
}

std::string RowBuilder::check_rates(const ImportedRow& row) const {
  const auto tokens = static_cast<double>(row.result.n_prompt + row.result.n_gen);
  const auto& samples = row.result.samples_ns;
  if (!samples.empty()) {
    double sum_ns = 0;
    double sum_ts = 0;
    for (const std::int64_t ns : samples) {
      sum_ns += static_cast<double>(ns);
      sum_ts += 1e9 * tokens / static_cast<double>(ns);
    }
    const auto n = static_cast<double>(samples.size());
    if (avg_ns_ && std::fabs(*avg_ns_ - sum_ns / n) > 1 + kTimeTolerance * sum_ns / n) {
      return fmt::format("avg_ns {:.0f} contradicts its samples, whose mean is {:.0f}", *avg_ns_, sum_ns / n);
    }
    if (avg_ts_ && std::fabs(*avg_ts_ - sum_ts / n) > 1e-6 + kAverageTolerance * sum_ts / n) {
      return fmt::format("avg_ts {:.6f} contradicts its samples, whose mean is {:.6f}", *avg_ts_, sum_ts / n);
    }
    return "";
  }
  if (!row.mean_ts) return "neither samples nor an average";
  if (!avg_ns_ || !avg_ts_) return "";
  // A mean of rates is never below the rate of the mean time (harmonic and arithmetic mean), and with a small spread
  // hardly above it.
  const double ratio = *avg_ts_ / (1e9 * tokens / *avg_ns_);
  const bool is_steady = row.stddev_ts && *row.stddev_ts < 0.02 * *avg_ts_;
  if (ratio < 1 - 1e-3 || (is_steady && ratio > 1.05)) {
    return fmt::format("avg_ts {:.6f} contradicts avg_ns {:.0f} at {:.0f} tokens", *avg_ts_, *avg_ns_, tokens);
  }
  return "";
}

void RowBuilder::add_derived_fields(ImportedRow& row) {
  if (find(Field::kBackends) == nullptr) {
    bool is_old_schema = false;
    for (const auto& [field, name] : kOldBackends) {
      const JsonValue* given = find(field);
      is_old_schema |= given != nullptr;
      if (row.result.backends.empty() && given != nullptr && integer(*given).value_or(0) != 0) {
        row.result.backends = name;
      }
    }
    if (is_old_schema) {
      if (row.result.backends.empty()) row.result.backends = "CPU";
      append_name(info(Field::kBackends).name);
      append_json_string(fields_, row.result.backends);
    }
  }
  if (find(Field::kLoadMode) == nullptr) {
    const JsonValue* direct = find(Field::kUseDirectIo);
    const JsonValue* mapped = find(Field::kUseMmap);
    std::string_view mode;
    if (mapped != nullptr) mode = integer(*mapped).value_or(0) != 0 ? "mmap" : "none";
    if (direct != nullptr && integer(*direct).value_or(0) != 0) mode = "dio";
    if (!mode.empty()) {
      append_name(info(Field::kLoadMode).name);
      append_json_string(fields_, mode);
    }
  }
}

std::string RowBuilder::finish(ImportedRow& row) {
  row.flags.clear();
  row.result.median_ts = 0;
  if (!twice_.empty()) return fmt::format("the field \"{}\" stands twice", twice_);
  if (std::string problem = read_counts(row); !problem.empty()) return problem;
  if (std::string problem = check_settings(); !problem.empty()) return problem;
  if (std::string problem = read_texts(row); !problem.empty()) return problem;
  if (std::string problem = read_averages(row); !problem.empty()) return problem;
  if (std::string problem = read_samples(row); !problem.empty()) return problem;
  if (std::string problem = check_rates(row); !problem.empty()) return problem;
  if (row.mean_only()) {
    row.flags.emplace_back("mean only");
    // The deviation of a single repetition is printed as 0.
    if (row.stddev_ts == 0.0) {
      row.repetitions = 1;
      row.stddev_ts.reset();
    }
  } else {
    row.repetitions = static_cast<std::int64_t>(row.result.samples_ns.size());
    const std::int64_t tokens = row.result.n_prompt + row.result.n_gen;
    row.result.median_ts = stats::median(stats::tokens_per_second(tokens, row.result.samples_ns));
  }
  add_derived_fields(row);
  if (repaired_) row.flags.emplace_back("text repaired");
  fields_.push_back('}');
  row.result.fields = fields_;
  return "";
}

}  // namespace capbench::imports
