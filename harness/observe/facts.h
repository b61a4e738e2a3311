// What the sources say about a machine: the facts that name its environment. facts.md lists every one of them.
//
// The parsers take any bytes. A fact that cannot be read is left out, never guessed; what changes from one minute to
// the next (load, clocks, temperatures, process numbers) is no fact. Only values that a parser picks by name come
// through, so serial numbers and the like have no way in. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_OBSERVE_FACTS_H_
#define CAPBENCH_HARNESS_OBSERVE_FACTS_H_

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "harness/observe/redact.h"
#include "harness/observe/sources.h"
#include "harness/observe/text.h"

namespace capbench::observe {

using Fact = std::variant<bool, std::int64_t, std::string>;

struct FactGroup {
  std::map<std::string, Fact, std::less<>> values;

  // An empty text or an absent number is no fact.
  void set(std::string_view name, std::string_view text);
  void set(std::string_view name, std::optional<std::int64_t> number);
  void set_flag(std::string_view name, bool flag) { values[std::string(name)] = flag; }

  std::string text(std::string_view name) const;  // "" if there is none
  std::optional<std::int64_t> number(std::string_view name) const;
  bool flag(std::string_view name) const;
};

struct Facts {
  FactGroup machine;                                      // "cpu": "Apple M1 Ultra"
  std::map<std::string, std::vector<FactGroup>> rows;     // "gpus", "vulkan_devices"
  std::map<std::string, std::vector<std::string>> lists;  // "vulkan_layers"
  std::map<std::string, TextMap> tables;                  // "frontends": {"lume": "0.5.1"}
};

Facts facts_from(const SourceTexts& texts);

// {"os": ..., "gpus": [{...}], "vulkan_layers": [...], "frontends": {...}}, every text valid UTF-8 and without the
// personal details.
nlohmann::json facts_json(const Facts& facts, const PersonalDetails& details);

// Whose machine it is, from the sources that hold nothing else: what must not be kept.
PersonalDetails personal_details(const SourceTexts& texts);

// The parts of facts_from(), one file each.
void add_linux_cpu(const SourceTexts& texts, Facts& facts);
void add_linux_system(const SourceTexts& texts, Facts& facts);
void add_linux_virtual(const SourceTexts& texts, Facts& facts);
void add_linux_gpus(const SourceTexts& texts, Facts& facts);
void add_nvidia(const SourceTexts& texts, Facts& facts);
void add_vulkan(const SourceTexts& texts, Facts& facts);
void add_macos_hardware(const SourceTexts& texts, Facts& facts);
void add_macos_gpus(const SourceTexts& texts, Facts& facts);
void add_macos_system(const SourceTexts& texts, Facts& facts);
void add_frontends(const SourceTexts& texts, Facts& facts);

// The fields of `lscpu -J`, those of its children too; empty if it is no such JSON.
TextMap lscpu_fields(std::string_view text);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_FACTS_H_
