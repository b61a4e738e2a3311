#include "reports/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

namespace capbench::reports {
namespace {

// "CPU" and "BLAS,CPU" are the processor alone.
bool has_gpu_backend(std::string_view backends) {
  while (!backends.empty()) {
    const std::size_t end = std::min(backends.find(','), backends.size());
    const std::string_view name = backends.substr(0, end);
    const std::size_t first = name.find_first_not_of(' ');
    const std::string_view trimmed = first == std::string_view::npos ? "" : name.substr(first);
    if (!trimmed.empty() && trimmed != "CPU" && trimmed != "BLAS") return true;
    backends.remove_prefix(std::min(end + 1, backends.size()));
  }
  return false;
}

struct Choice {
  bool any_layer = true;
  std::string devices;  // "none", "auto", "Vulkan0", "CUDA0/CUDA1"; empty if not printed
};

// Takes two values of the outermost object and builds no tree of the rest: a report asks for every result.
class ChoiceReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  const Choice& choice() const { return choice_; }

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t value) override { return layers(value != 0); }
  bool number_unsigned(number_unsigned_t value) override { return layers(value != 0); }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return layers(value != 0); }
  bool string(string_t& value) override {
    if (depth_ == 1 && key_ == "devices") choice_.devices = value;
    return layers(value != "0");
  }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*size*/) override { return open(); }
  bool key(string_t& name) override {
    if (depth_ == 1) key_.swap(name);
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t /*size*/) override { return open(); }
  bool end_array() override { return close(); }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::json::exception& /*why*/) override {
    choice_ = {};
    return false;
  }

 private:
  bool layers(bool any) {
    if (depth_ == 1 && key_ == "n_gpu_layers") choice_.any_layer = any;
    return true;
  }
  bool open() {
    ++depth_;
    return true;
  }
  bool close() {
    --depth_;
    return true;
  }

  Choice choice_;
  std::string key_;
  int depth_ = 0;
};

Choice choice_of(const std::string& fields) {
  ChoiceReader reader;
  // What is wrong with it is told by the reader itself.
  static_cast<void>(nlohmann::json::sax_parse(fields, &reader));
  return reader.choice();
}

struct DeviceSet {
  std::map<std::string, std::string> by_arm;
  std::set<std::string> runs;
  std::vector<std::size_t> blocks;
};

bool agrees(const DeviceSet& set, const BlockDevices& block) {
  return std::all_of(block.by_arm.begin(), block.by_arm.end(), [&](const auto& entry) {
    const auto found = set.by_arm.find(entry.first);
    return found == set.by_arm.end() || found->second == entry.second;
  });
}

DeviceSet& place_of(std::vector<DeviceSet>& sets, const BlockDevices& block) {
  for (const bool same_run : {true, false}) {
    for (DeviceSet& set : sets) {
      if ((!same_run || set.runs.contains(block.run_id)) && agrees(set, block)) return set;
    }
  }
  return sets.emplace_back();
}

}  // namespace

std::string device_of(const schema::ResultRecord& result) {
  if (result.gpu_info.empty() || !has_gpu_backend(result.backends)) return result.cpu_info;
  const Choice choice = choice_of(result.fields);
  if (!choice.any_layer || choice.devices == "none") return result.cpu_info;
  const bool chosen = !choice.devices.empty() && choice.devices != "auto";
  const bool several = result.gpu_info.find(", ") != std::string::npos;
  return several && chosen ? fmt::format("{} ({})", result.gpu_info, choice.devices) : result.gpu_info;
}

std::vector<std::vector<std::size_t>> sets_of_one_device(const std::vector<BlockDevices>& blocks) {
  std::vector<DeviceSet> sets;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].by_arm.empty()) continue;
    DeviceSet& set = place_of(sets, blocks[i]);
    set.by_arm.insert(blocks[i].by_arm.begin(), blocks[i].by_arm.end());
    set.runs.insert(blocks[i].run_id);
    set.blocks.push_back(i);
  }
  if (sets.empty() && !blocks.empty()) sets.emplace_back();
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].by_arm.empty()) continue;
    const bool run_known = std::any_of(sets.begin(), sets.end(),
                                       [&](const DeviceSet& set) { return set.runs.contains(blocks[i].run_id); });
    for (DeviceSet& set : sets) {
      if (!run_known || set.runs.contains(blocks[i].run_id)) set.blocks.push_back(i);
    }
  }
  std::vector<std::vector<std::size_t>> out;
  out.reserve(sets.size());
  for (DeviceSet& set : sets) out.push_back(std::move(set.blocks));
  return out;
}

}  // namespace capbench::reports
