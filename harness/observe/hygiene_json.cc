#include <nlohmann/json.hpp>

#include "harness/observe/hygiene.h"

namespace capbench::observe {
namespace {

using nlohmann::json;

// The fields and their names, once for writing and for reading.
template <class H, class F>
void visit_gpu(H& gpu, const F& f) {
  f("index", gpu.index);
  f("use_percent", gpu.use_percent);
  f("memory_used_bytes", gpu.memory_used_bytes);
  f("temperature_c", gpu.temperature_c);
  f("power_w", gpu.power_w);
  f("clock_mhz", gpu.clock_mhz);
  f("throttle_reasons", gpu.throttle_reasons);
}

template <class H, class F>
void visit(H& hygiene, const F& f) {
  f("load", hygiene.load);
  f("runnable", hygiene.runnable);
  f("cpu_busy_ticks", hygiene.cpu_busy_ticks);
  f("cpu_total_ticks", hygiene.cpu_total_ticks);
  f("gpu_processes", hygiene.gpu_processes);
  f("thermal_pressure", hygiene.thermal_pressure);
  f("temperature_c", hygiene.temperature_c);
  f("cpu_speed_limit_percent", hygiene.cpu_speed_limit_percent);
  f("cpu_throttle_events", hygiene.cpu_throttle_events);
  f("cpu_clock_mhz", hygiene.cpu_clock_mhz);
  f("power_source", hygiene.power_source);
  f("battery_percent", hygiene.battery_percent);
  f("low_power_mode", hygiene.low_power_mode);
  f("memory_pressure", hygiene.memory_pressure);
  f("memory_free_percent", hygiene.memory_free_percent);
  f("memory_stall_percent", hygiene.memory_stall_percent);
  f("swap_used_bytes", hygiene.swap_used_bytes);
  f("swapped_out_bytes", hygiene.swapped_out_bytes);
  f("compressed_bytes", hygiene.compressed_bytes);
}

struct Writer {
  json& object;

  template <class T>
  void operator()(const char* name, const std::optional<T>& value) const {
    if (value) object[name] = *value;
  }
  void operator()(const char* name, const std::string& value) const {
    if (!value.empty()) object[name] = value;
  }
  void operator()(const char* name, const std::vector<std::string>& values) const {
    if (!values.empty()) object[name] = values;
  }
};

struct Reader {
  const json& object;
  std::string& problem;

  const json* find(const char* name) const {
    const auto it = object.find(name);
    return it == object.end() ? nullptr : &*it;
  }
  void complain(const char* name, const char* wanted) const {
    if (problem.empty()) problem = std::string(name) + " is not " + wanted;
  }
  void operator()(const char* name, std::optional<std::int64_t>& value) const {
    const json* member = find(name);
    if (member == nullptr) return;
    constexpr std::uint64_t kMost = std::uint64_t{1} << 62U;
    if (!member->is_number_integer() || (member->is_number_unsigned() && member->get<std::uint64_t>() > kMost)) {
      complain(name, "a whole number in range");
    } else {
      value = member->get<std::int64_t>();
    }
  }
  void operator()(const char* name, std::optional<double>& value) const {
    const json* member = find(name);
    if (member == nullptr) return;
    if (member->is_number()) {
      value = member->get<double>();
    } else {
      complain(name, "a number");
    }
  }
  void operator()(const char* name, std::optional<bool>& value) const {
    const json* member = find(name);
    if (member == nullptr) return;
    if (member->is_boolean()) {
      value = member->get<bool>();
    } else {
      complain(name, "true or false");
    }
  }
  void operator()(const char* name, std::string& value) const {
    const json* member = find(name);
    if (member == nullptr) return;
    if (member->is_string()) {
      value = member->get<std::string>();
    } else {
      complain(name, "a text");
    }
  }
  void operator()(const char* name, std::vector<std::string>& values) const {
    const json* member = find(name);
    if (member == nullptr) return;
    if (!member->is_array()) return complain(name, "a list of texts");
    for (const json& one : *member) {
      if (!one.is_string()) return complain(name, "a list of texts");
      values.push_back(one.get<std::string>());
    }
  }
};

void read_gpus(const json& object, Hygiene& hygiene, std::string& problem) {
  const auto gpus = object.find("gpus");
  if (gpus == object.end()) return;
  const Reader whole{object, problem};
  if (!gpus->is_array()) return whole.complain("gpus", "a list");
  for (const json& one : *gpus) {
    if (!one.is_object()) return whole.complain("gpus", "a list of objects");
    visit_gpu(hygiene.gpus.emplace_back(), Reader{one, problem});
  }
}

void read_vms(const json& object, Hygiene& hygiene, std::string& problem) {
  const auto vms = object.find("vms");
  if (vms == object.end()) return;
  hygiene.processes_known = true;
  const Reader whole{object, problem};
  if (!vms->is_object()) return whole.complain("vms", "an object");
  for (const auto& [name, count] : vms->items()) {
    if (!count.is_number_integer()) return whole.complain("vms", "an object of whole numbers");
    hygiene.vms[name] = count.get<std::int64_t>();
  }
}

}  // namespace

json to_json(const Hygiene& hygiene) {
  json object = json::object();
  visit(hygiene, Writer{object});
  for (const GpuState& gpu : hygiene.gpus) {
    json member = json::object();
    visit_gpu(gpu, Writer{member});
    object["gpus"].push_back(std::move(member));
  }
  if (hygiene.processes_known) {
    object["vms"] = json::object();
    for (const auto& [name, count] : hygiene.vms) object["vms"][name] = count;
  }
  return object;
}

json to_json(const Growth& growth) {
  json object = json::object();
  const Writer write{object};
  write("swapped_out_bytes", growth.swapped_out_bytes);
  write("swap_used_bytes", growth.swap_used_bytes);
  write("compressed_bytes", growth.compressed_bytes);
  write("memory_free_percent", growth.memory_free_percent);
  write("cpu_throttle_events", growth.cpu_throttle_events);
  write("gpu_memory_used_bytes", growth.gpu_memory_used_bytes);
  write("cpu_busy_percent", growth.cpu_busy_percent);
  return object;
}

Result<Hygiene> hygiene_from_json(const json& object) {
  Hygiene hygiene;
  std::string problem = object.is_object() ? "" : "it is no object";
  if (problem.empty()) {
    visit(hygiene, Reader{object, problem});
    read_gpus(object, hygiene, problem);
    read_vms(object, hygiene, problem);
  }
  if (!problem.empty()) {
    return Error{ErrorKind::kUsage, "the hygiene of a trial", std::move(problem), "see where the record came from"};
  }
  return hygiene;
}

}  // namespace capbench::observe
