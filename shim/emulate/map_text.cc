#include <fmt/format.h>

#include "shim/emulate/capability_map.h"
#include "shim/emulate/explain_parts.h"
#include "shim/emulate/text_layout.h"

namespace capbench::emulate {
namespace {

std::string at_least(const Factor& factor, std::int64_t level) {
  if (factor.name == "device name") return "a device called M5";
  if (factor.name == "tensor compiler") return "a compiler for tensor shaders";
  if (factor.levels.size() == 2 && factor.levels.front() == 0 && factor.levels.back() == 1) return factor.name;
  return fmt::format("{} >= {}", factor.name, level);
}

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + item;
  return text;
}

// Uses that differ in their types are told apart by them; one row may stand for all types that no other row names.
std::string title_of(const CapabilityMap& map, const OperatorNeeds& row) {
  constexpr std::size_t kNamed = 4;
  if (row.whole) return row.op;
  if (row.types.size() <= kNamed) return fmt::format("{} ({})", row.op, joined(row.types));
  std::size_t large = 0;
  for (const OperatorNeeds& other : map.operators) {
    if (other.op == row.op && other.types.size() > kNamed) ++large;
  }
  return fmt::format("{} ({})", row.op, large == 1 ? "other types" : joined(row.roles));
}

Json needs_json(const CapabilityMap& map, const Needs& needs) {
  Json json = Json::array();
  for (const Answers& answers : needs) {
    Json all = Json::object();
    for (const Answers::AtLeast& part : answers.all) all[map.factors[part.factor].name] = part.level;
    json.push_back(std::move(all));
  }
  return json;
}

}  // namespace

std::string needs_text(const CapabilityMap& map, const Needs& needs) {
  if (needs.empty()) return "never";
  std::string text;
  for (const Answers& answers : needs) {
    if (answers.all.empty()) return "always";
    std::string all;
    for (const Answers::AtLeast& part : answers.all) {
      all += (all.empty() ? "" : " and ") + at_least(map.factors[part.factor], part.level);
    }
    text += (text.empty() ? "" : ", or ") + all;
  }
  return text;
}

std::string map_text(const CapabilityMap& map) {
  const LibraryIdentity& library = map.library;
  std::string out = wrapped("library  ", fmt::format("{}, SHA-256 {}...", library.name, library.sha256.substr(0, 16)));
  std::string release = library.release.empty() ? std::string() : "llama.cpp " + library.release;
  if (!library.ggml.empty()) release += (release.empty() ? "" : ", ") + library.ggml;
  if (!release.empty()) out += wrapped("release  ", release);
  out += wrapped("tried    ", fmt::format("{} devices, {} of them drawn at random; {} answers contradict the map",
                                          map.runs, map.checked, map.contradictions));

  out += "\nWhat ggml derives, and the least that it needs\n";
  for (const PropertyNeeds& property : map.properties) {
    out += wrapped(fmt::format("  {:<24} ", property.name), needs_text(map, property.needs));
  }
  for (const PropertyFollows& property : map.follows) {
    std::vector<std::string> names;
    for (const std::size_t factor : property.factors) names.push_back(map.factors[factor].name);
    out += wrapped(fmt::format("  {:<24} ", property.name), "follows " + joined(names));
  }

  out += "\nWhich operators the GPU takes, and the least that they need\n";
  std::vector<std::string> always;
  for (const OperatorNeeds& row : map.operators) {
    const std::string needs = needs_text(map, row.needs);
    if (needs == "always" && row.whole) {
      always.push_back(row.op);
      continue;
    }
    const std::string title = title_of(map, row);
    if (title.size() <= 24) {
      out += wrapped(fmt::format("  {:<24} ", title), needs);
    } else {
      out += wrapped("  ", title) + wrapped(std::string(27, ' '), needs);
    }
  }
  if (!always.empty()) out += wrapped(fmt::format("  {:<24} ", "always"), joined(always));

  out += "\nWhat was varied\n";
  for (const Factor& factor : map.factors) {
    std::string steps;
    for (std::size_t i = 1; i < factor.steps.size(); ++i) steps += fmt::format(" {}", factor.steps[i]);
    out += wrapped(fmt::format("  {:<31} ", factor.name),
                   steps.empty() ? "changes no yes or no" : "something changes at" + steps);
  }
  for (const std::string& failure : map.failures) out += wrapped("does not start: ", failure);
  for (const std::string& variant : map.not_asked) out += wrapped("not asked: ", variant);
  return out;
}

std::string map_json(const CapabilityMap& map) {
  Json json{{"kind", "capbench.map"}, {"format", 1}};
  json["library"] = library_json(map.library);
  json["model"] = map.model;
  json["runs"] = map.runs;
  json["checked"] = map.checked;
  json["contradictions"] = map.contradictions;
  json["factors"] = Json::array();
  for (const Factor& factor : map.factors) {
    json["factors"].push_back({{"name", factor.name}, {"levels", factor.levels}, {"steps", factor.steps}});
  }
  json["properties"] = Json::array();
  for (const PropertyNeeds& property : map.properties) {
    json["properties"].push_back({{"name", property.name}, {"needs", needs_json(map, property.needs)}});
  }
  json["follows"] = Json::array();
  for (const PropertyFollows& property : map.follows) {
    Json names = Json::array();
    for (const std::size_t factor : property.factors) names.push_back(map.factors[factor].name);
    json["follows"].push_back({{"name", property.name}, {"factors", std::move(names)}});
  }
  json["operators"] = Json::array();
  for (const OperatorNeeds& row : map.operators) {
    json["operators"].push_back({{"operator", row.op},
                                 {"whole", row.whole},
                                 {"types", row.types},
                                 {"roles", row.roles},
                                 {"situations", row.situations},
                                 {"needs", needs_json(map, row.needs)}});
  }
  json["failures"] = map.failures;
  json["not_asked"] = map.not_asked;
  return dump_json(json);
}

}  // namespace capbench::emulate
