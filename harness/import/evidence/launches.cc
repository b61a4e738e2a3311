#include "harness/import/evidence/launches.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "harness/import/evidence/names.h"

namespace capbench::imports::evidence {
namespace {

using nlohmann::json;

// What a suite allows. Its reader has the last word: suites are read back before they go out.
struct Range {
  std::int64_t low = 0;
  std::int64_t high = 0;
};
constexpr Range kThreads{1, 512};
constexpr Range kLayers{-1, 10000};
constexpr std::int64_t kMostTokens = 10000000;
constexpr std::int64_t kMostRepetitions = 10000;

struct Setting {
  const char* field;
  const char* option;  // of llama-bench, without its hyphen
};
constexpr auto kSettings = std::to_array<Setting>({
    {"n_cpu_moe", "ncmoe"},
    {"n_batch", "b"},
    {"n_ubatch", "ub"},
    {"type_k", "ctk"},
    {"type_v", "ctv"},
    {"split_mode", "sm"},
    {"main_gpu", "mg"},
    {"no_kv_offload", "nkvo"},
    {"tensor_split", "ts"},
    {"load_mode", "lm"},
    {"embeddings", "embd"},
    {"no_op_offload", "nopo"},
    {"no_host", "nohost"},
    {"cpu_mask", "C"},
    {"cpu_strict", "cpu-strict"},
    {"poll", "poll"},
    {"fit_target", "fitt"},
    {"fit_min_ctx", "fitc"},
    {"tensor_buft_overrides", "ot"},
});

std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Left alone: what llama-bench takes when nothing is said.
bool is_default(std::string_view option, const std::string& value) {
  if (value.empty() || value == "null" || value == "none" || value == "auto" || value == "0x0" || value == "0") {
    return true;
  }
  if (option == "b") return value == "2048";
  if (option == "ub") return value == "512";
  if (option == "ctk" || option == "ctv") return value == "f16";
  if (option == "sm") return value == "layer";
  if (option == "lm") return value == "mmap";
  if (option == "poll") return value == "50";
  return option == "ts" && value == "0.00";
}

// Whether a suite may write it: one value, no list and no range.
bool is_plain(const std::string& value) {
  return value.size() <= 100 && std::all_of(value.begin(), value.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
         });
}

std::optional<std::int64_t> integer(const json& fields, const char* name, Range range) {
  const auto it = fields.find(name);
  if (it == fields.end() || !it->is_number_integer()) return std::nullopt;
  if (it->is_number_unsigned() && it->get<std::uint64_t>() > 1000000000U) return std::nullopt;
  const auto value = it->get<std::int64_t>();
  return value >= range.low && value <= range.high ? std::optional(value) : std::nullopt;
}

std::string text(const json& node, const char* name) {
  if (!node.is_object()) return "";
  const auto it = node.find(name);
  return it != node.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::string flash_attention(const json& fields) {
  const auto it = fields.find("flash_attn");
  if (it == fields.end()) return "";
  const std::string value = text_of(*it);
  if (value == "1" || value == "on") return "on";
  return value == "0" || value == "off" ? "off" : "";
}

void read_settings(const json& fields, Launch& launch) {
  suite::Workload& workload = launch.workload;
  workload.threads = integer(fields, "n_threads", kThreads);
  workload.gpu_layers = integer(fields, "n_gpu_layers", kLayers);
  workload.flash_attention = flash_attention(fields);
  for (const Setting& setting : kSettings) {
    const auto it = fields.find(setting.field);
    if (it == fields.end()) continue;
    const std::string value = text_of(*it);
    if (is_default(setting.option, value)) continue;
    if (is_plain(value)) {
      workload.extra_args.push_back("-" + std::string(setting.option));
      workload.extra_args.push_back(value);
    } else {
      launch.odd_settings.push_back(std::string(setting.option) + "=" + value);
    }
  }
  const std::string devices = text(fields, "devices");
  if (devices != "auto" && is_plain(devices)) launch.device = devices;
}

// Everything of a launch but its tests.
Launch begin_launch(const ImportedRow& row, const Document& document, std::size_t index) {
  Launch launch;
  launch.results = index;
  launch.runtime = document.kind == kMlxLm ? kMlxLm : kLlamaBench;
  launch.cpu = row.result.cpu_info;
  launch.gpu = row.result.gpu_info;
  launch.model_file = row.model_filename;
  launch.model_type = row.result.model_type;
  launch.model_size = row.result.model_size;
  launch.started_at = row.test_time;
  const json fields = json::parse(row.result.fields, nullptr, false);
  if (!fields.is_object()) return launch;
  if (launch.runtime != kMlxLm) {
    read_settings(fields, launch);
    return launch;
  }
  const json none = json::object();
  const json& model = fields.contains("model") ? fields["model"] : none;
  launch.model_file = text(model, "id");
  launch.model_revision = text(model, "revision");
  launch.platform = text(fields.contains("runtime") ? fields["runtime"] : none, "platform");
  return launch;
}

// What rows of one process share.
std::string identity_of(const Launch& launch, const ImportedRow& row) {
  std::string said = row.group + '\n' + row.result.build + '\n' + launch.cpu + '\n' + launch.gpu + '\n' +
                     launch.model_file + '\n' + launch.model_type + '\n' + launch.device + '\n' +
                     std::to_string(launch.workload.threads.value_or(-2)) + '\n' +
                     std::to_string(launch.workload.gpu_layers.value_or(-2)) + '\n' + launch.workload.flash_attention;
  for (const std::string& argument : launch.workload.extra_args) said += '\n' + argument;
  for (const std::string& odd : launch.odd_settings) said += '\n' + odd;
  return said;
}

void add_once(std::vector<std::int64_t>& values, std::int64_t value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

void add_row(Launch& launch, ImportedRow row) {
  suite::Workload& workload = launch.workload;
  const schema::ResultRecord& result = row.result;
  if (result.n_prompt > 0) add_once(workload.n_prompt, std::min(result.n_prompt, kMostTokens));
  if (result.n_gen > 0) add_once(workload.n_gen, std::min(result.n_gen, kMostTokens));
  if (result.n_depth > 0) add_once(workload.n_depth, std::min(result.n_depth, kMostTokens));
  const auto counted = static_cast<std::int64_t>(result.samples_ns.size());
  launch.repetitions = std::max(launch.repetitions, counted > 0 ? counted : row.repetitions.value_or(0));
  for (const std::string& flag : row.flags) {
    if (std::find(launch.flags.begin(), launch.flags.end(), flag) == launch.flags.end()) launch.flags.push_back(flag);
  }
  launch.rows.push_back(std::move(row));
}

}  // namespace

std::vector<Launch> split_launches(Document& document, std::size_t index) {
  std::vector<Launch> launches;
  std::string identity;
  std::set<std::string> tests;
  for (ImportedRow& row : document.rows) {
    Launch next = begin_launch(row, document, index);
    std::string said = identity_of(next, row);
    if (launches.empty() || said != identity || tests.contains(row.result.test)) {
      launches.push_back(std::move(next));
      identity = std::move(said);
      tests.clear();
    }
    tests.insert(row.result.test);
    add_row(launches.back(), std::move(row));
  }
  document.rows.clear();
  for (Launch& launch : launches) {
    if (launch.repetitions > 0) {
      launch.workload.repetitions = std::min(launch.repetitions, kMostRepetitions);
    }
  }
  return launches;
}

}  // namespace capbench::imports::evidence
