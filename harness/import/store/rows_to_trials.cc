#include "harness/import/store/rows_to_trials.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/digest.h"
#include "base/path.h"
#include "base/utf8.h"
#include "harness/import/origin_fields.h"
#include "harness/import/text.h"
#include "schema/canonical.h"
#include "schema/identity.h"
#include "schema/restated.h"

namespace capbench::imports {
namespace {

using nlohmann::json;

constexpr std::string_view kArm = "imported";
constexpr std::int64_t kMostBlocks = 1'000'000;  // more than any series has: a larger number is damaged

// Settings that change what is measured, with the name that they have in a workload. Everything else that a row prints
// is a measurement, the machine, the model or the build.
struct SettingField {
  const char* field;
  const char* name;
};
constexpr std::array kSettings{
    SettingField{"n_threads", "t"},        SettingField{"n_gpu_layers", "ngl"},
    SettingField{"n_cpu_moe", "ncmoe"},    SettingField{"n_batch", "b"},
    SettingField{"n_ubatch", "ub"},        SettingField{"type_k", "ctk"},
    SettingField{"type_v", "ctv"},         SettingField{"flash_attn", "fa"},
    SettingField{"split_mode", "sm"},      SettingField{"main_gpu", "mg"},
    SettingField{"no_kv_offload", "nkvo"}, SettingField{"devices", "dev"},
    SettingField{"tensor_split", "ts"},    SettingField{"tensor_buft_overrides", "ot"},
    SettingField{"load_mode", "lm"},       SettingField{"lazy_mode", "lazy"},
    SettingField{"embeddings", "embd"},    SettingField{"no_op_offload", "nopo"},
    SettingField{"no_host", "nohost"},     SettingField{"cpu_mask", "C"},
    SettingField{"cpu_strict", "strict"},  SettingField{"poll", "poll"},
    SettingField{"f16_kv", "f16kv"},       SettingField{"mul_mat_q", "mmq"},
    SettingField{"low_vram", "lv"},        SettingField{"rpc", "rpc"},
    SettingField{"fit_target", "fitt"},    SettingField{"fit_min_ctx", "fitc"},
};

// Values that say that an option was left alone; naming them would make every workload's name a page.
bool is_default(std::string_view name, const json& value) {
  if (value.is_null() || value == false || value == "none" || value == "auto" || value == "" || value == "0x0") {
    return true;
  }
  if (value == 0) return name != "ngl" && name != "t";
  return (name == "poll" && value == 50) || (name == "ts" && value == "0.00") || (name == "sm" && value == "layer") ||
         (name == "fa" && value == -1);
}

std::string text_of(const json& value) {
  if (const auto* text = value.get_ptr<const std::string*>()) return *text;
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string settings_text(const json& fields) {
  std::string text;
  if (!fields.is_object()) return text;
  for (const SettingField& setting : kSettings) {
    const auto it = fields.find(setting.field);
    if (it == fields.end() || is_default(setting.name, *it)) continue;
    text += (text.empty() ? "" : " ") + std::string(setting.name) + "=" + text_of(*it);
  }
  return text;
}

// What tells the settings of a row: its fields up to the measurement, as llama-bench orders them; all of them where
// somebody else ordered them and more than the measurement comes behind. `last` is what the row before gave: mostly the
// same again.
std::string_view told_settings(std::string_view fields, std::string_view last) {
  constexpr auto kMeasurement =
      std::to_array<std::string_view>({"n_prompt", "n_gen", "n_depth", "test_time", "avg_ns", "stddev_ns", "avg_ts",
                                       "stddev_ts", "samples_ts", kOriginTrial, kOriginBlock});
  constexpr std::string_view kFirst = "\"n_prompt\":";
  const bool as_last = !last.empty() && fields.starts_with(last) && fields.substr(last.size()).starts_with(kFirst);
  const std::size_t end = as_last ? last.size() : fields.find(kFirst);
  if (end == std::string_view::npos) return fields;
  // A quotation mark within a text has a backslash before it, so a comma and one begin a name, or a text in a list.
  for (std::size_t at = end; at != std::string_view::npos && at < fields.size();) {
    const std::size_t begin = at + 1;
    const std::size_t quote = fields.find('"', begin);
    if (quote == std::string_view::npos) return fields;
    const std::string_view name = fields.substr(begin, quote - begin);
    const bool is_name = quote + 1 < fields.size() && fields[quote + 1] == ':';
    if (is_name && std::find(kMeasurement.begin(), kMeasurement.end(), name) == kMeasurement.end()) return fields;
    at = fields.find(",\"", quote + 1);
    if (at != std::string_view::npos) ++at;
  }
  return fields.substr(0, end);
}

// A text that an export adds to a row; empty if it does not.
std::string exported(const json& fields, std::string_view name) {
  if (!fields.is_object()) return "";
  const auto it = fields.find(name);
  return it == fields.end() || it->is_null() ? "" : text_of(*it);
}

std::string machine_label(const ImportedRow& row) {
  const schema::ResultRecord& result = row.result;
  if (result.gpu_info.empty()) return result.cpu_info.empty() ? "a machine that is not named" : result.cpu_info;
  return result.cpu_info.empty() ? result.gpu_info : result.gpu_info + ", " + result.cpu_info;
}

// What a row says of where it was measured. `machine`: as an export names it; without one, the devices' names tell
// machines apart.
schema::EnvironmentRecord environment_of(const ImportedRow& row, const std::string& machine, const std::string& label) {
  json facts = {{"imported", true}, {"cpu", to_utf8(row.result.cpu_info)}, {"gpu", to_utf8(row.result.gpu_info)}};
  if (!machine.empty()) facts["machine_id"] = machine;
  schema::EnvironmentRecord environment;
  environment.json = schema::canonical(facts);
  environment.id = schema::environment_id(environment);
  environment.machine_id = machine.empty() ? environment.id : machine;
  environment.machine_label = to_utf8(label.empty() ? machine_label(row) : label);
  return environment;
}

}  // namespace

schema::SuiteRecord imported_suite(std::string_view kind) {
  const json document = {
      {"capbench", 1},
      {"name", "imported " + std::string(kind)},
      {"imported", true},
      {"description",
       "Results that were measured without capbench and imported from files. Which files: table source."}};
  schema::SuiteRecord suite;
  suite.name = document["name"].get<std::string>();
  suite.json = schema::canonical(document);
  suite.id = schema::suite_id(suite);
  return suite;
}

RowsToTrials::RowsToTrials(schema::SuiteRecord suite, std::string source, std::string harness_version, TrialSink sink)
    : suite_(std::move(suite)),
      source_(std::move(source)),
      harness_version_(std::move(harness_version)),
      sink_(std::move(sink)) {}

const RowsToTrials::Setting& RowsToTrials::setting_of(const ImportedRow& row) {
  // Reading a row's fields costs more than all else together, and most rows say what the one before them said.
  const std::string_view told = told_settings(row.result.fields, std::string_view(last_said_).substr(0, last_told_));
  const std::array<std::string_view, 5> others{row.result.build, row.result.cpu_info, row.result.gpu_info,
                                               row.model_filename, row.result.model_type};
  const auto is_as_last = [&] {
    std::string_view last = last_said_;
    if (last_told_ != told.size() || !last.starts_with(told)) return false;
    last.remove_prefix(told.size());
    for (const std::string_view text : others) {
      if (!last.starts_with('\n') || !last.substr(1).starts_with(text)) return false;
      last.remove_prefix(1 + text.size());
    }
    return last.empty();
  };
  if (last_setting_ != nullptr && is_as_last()) return *last_setting_;
  std::string said(told);
  for (const std::string_view text : others) said.append("\n").append(text);
  last_said_ = said;
  last_told_ = told.size();
  const auto known = settings_.find(said);
  if (known != settings_.end()) return *(last_setting_ = &known->second);
  constexpr std::size_t kMostKnown = 4096;
  if (settings_.size() >= kMostKnown) settings_.clear();
  const json fields = json::parse(row.result.fields, nullptr, false);
  const auto first_of = [](std::initializer_list<std::string> texts) {
    return *std::find_if(texts.begin(), texts.end() - 1, [](const std::string& text) { return !text.empty(); });
  };
  Setting setting;
  setting.build = row.result.build;
  setting.arm = first_of({exported(fields, kOriginArm), std::string(kArm)});
  setting.mode = first_of({exported(fields, kOriginMode), std::string(kArm)});
  setting.guest = exported(fields, kOriginGuest);
  setting.model = first_of({exported(fields, kOriginModel), std::string(foreign_base_name(row.model_filename)),
                            row.result.model_type, "unnamed model"});
  setting.model_kind = exported(fields, kOriginModelKind) == "twin" ? "twin" : "real";
  setting.workload = first_of({exported(fields, kOriginWorkload), settings_text(fields), "default"});
  setting.is_exported = fields.is_object() && fields.contains(kOriginTrial);
  const std::string machine = exported(fields, kOriginMachine);
  setting.machine_label = exported(fields, kOriginMachineLabel);
  setting.suite = exported(fields, kOriginSuite);
  setting.suite_of = exported(fields, kOriginSuiteId);
  setting.run_of = exported(fields, kOriginRun);
  const schema::EnvironmentRecord environment = environment_of(row, machine, setting.machine_label);
  setting.environment_id = environment.id;
  setting.machine_id = environment.machine_id;
  return *(last_setting_ = &settings_.emplace(std::move(said), std::move(setting)).first->second);
}

RowsToTrials::Run& RowsToTrials::run_of(const ImportedRow& row) {
  const auto [place, is_new] = runs_.try_emplace({of_trial_.machine_id, of_trial_.suite_of, of_trial_.run_of});
  Run& found = place->second;
  if (!is_new) return found;
  found.suite = of_trial_.suite.empty() ? suite_ : schema::restated_suite(of_trial_.suite, of_trial_.suite_of);
  schema::RunRecord& run = found.run;
  if (!of_trial_.run_of.empty()) {
    run = schema::restated_run(of_trial_.run_of, found.suite.id, of_trial_.machine_id);
  } else {
    run.suite_id = found.suite.id;
    run.machine_id = of_trial_.machine_id;
    // The same file gives the same run wherever it is imported; another file gives another.
    run.seed = std::stoull(source_.substr(0, 16), nullptr, 16);
    run.started_at = row.test_time;
    run.state = "complete";
    run.id = schema::run_id(run);
  }
  run.harness_version = harness_version_;
  return found;
}

// What the trial refers to and nothing before it did.
Status RowsToTrials::put_origin() {
  if (!run_->is_put) {
    if (auto status = sink_.suite(run_->suite); !status) return status;
    if (auto status = sink_.run(run_->run); !status) return status;
    run_->is_put = true;
  }
  if (!environment_) return {};
  environments_.insert(environment_->id);
  return sink_.environment(*std::exchange(environment_, std::nullopt));
}

std::int64_t RowsToTrials::block_of(const schema::TrialRecord& trial, std::optional<std::int64_t> wanted) {
  std::set<std::int64_t>& taken = blocks_[{trial.run_id, trial.arm, trial.workload, trial.model}];
  std::int64_t block = taken.empty() ? 0 : *taken.rbegin() + 1;
  if (wanted && *wanted >= 0 && *wanted <= kMostBlocks && !taken.contains(*wanted)) block = *wanted;
  taken.insert(block);
  return block;
}

Status RowsToTrials::take(ImportedRow& row) {
  const Setting& setting = setting_of(row);
  std::string name;
  std::optional<std::int64_t> block;
  if (setting.is_exported) {
    const json fields = json::parse(row.result.fields, nullptr, false);
    name = exported(fields, kOriginTrial);
    block = parse_integer(exported(fields, kOriginBlock));
  }
  const bool is_next = name != name_of_trial_ || setting != of_trial_ || tests_.contains(row.result.test);
  if (trial_ && (is_next || tests_.size() >= kMostResults || trial_bytes_ > kMostTrialBytes)) {
    if (auto status = flush(); !status) return status;
  }
  if (!trial_) {
    of_trial_ = setting;
    name_of_trial_ = std::move(name);
    environment_.reset();
    if (!environments_.contains(of_trial_.environment_id)) {
      const bool is_named = of_trial_.machine_id != of_trial_.environment_id;
      environment_ = environment_of(row, is_named ? of_trial_.machine_id : "", of_trial_.machine_label);
    }
    run_ = &run_of(row);
    schema::TrialRecord trial;
    trial.run_id = run_->run.id;
    trial.suite_id = run_->suite.id;
    trial.environment_id = setting.environment_id;
    trial.arm = setting.arm;
    trial.mode = setting.mode;
    trial.target = kArm;
    trial.guest = setting.guest;
    trial.workload = setting.workload;
    trial.model = setting.model;
    trial.model_kind = setting.model_kind;
    trial.block = block_of(trial, block);
    trial.position = position_++;
    trial.status = "ok";
    trial.treatment = "unproven";
    trial.quality = "unchecked";
    trial.started_at = row.test_time;
    trial.source_sha256 = source_;
    trial.results.reserve(spare_.size());
    trial_ = std::move(trial);
    ++run_->run.planned_trials;
  }
  tests_.insert(row.result.test);
  trial_bytes_ += row.result.fields.size() + row.result.samples_ns.size() * sizeof(std::int64_t);
  for (std::string& flag : row.flags) {
    if (std::find(trial_->flags.begin(), trial_->flags.end(), flag) == trial_->flags.end()) {
      trial_->flags.push_back(std::move(flag));
    }
  }
  if (row.mean_only()) {
    trial_->stated.push_back(stated(row));
  } else {
    trial_->results.push_back(std::move(row.result));
    if (!spare_.empty()) {
      row.result = std::move(spare_.back());
      spare_.pop_back();
    }
  }
  return {};
}

Status RowsToTrials::flush() {
  if (!trial_) return {};
  trial_->id = schema::trial_id(*trial_);
  bool is_known = false;
  if (!schema::restated_trial(*trial_).empty()) {
    const Result<bool> known = sink_.knows(*trial_);
    if (!known) return known.error();
    is_known = *known;
  }
  Status status = is_known ? Status() : put_origin();
  if (status) status = sink_.trial(*trial_);
  if (spare_.empty()) spare_ = std::move(trial_->results);
  trial_.reset();
  trial_bytes_ = 0;
  tests_.clear();
  return status;
}

Status RowsToTrials::finish() {
  if (auto status = flush(); !status) return status;
  for (const auto& [name, run] : runs_) {
    if (!run.is_put) continue;
    if (auto status = sink_.run(run.run); !status) return status;
  }
  return {};
}

}  // namespace capbench::imports
