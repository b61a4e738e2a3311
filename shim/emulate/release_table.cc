#include "shim/emulate/release_table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string_view>

namespace capbench::emulate {
namespace {

using Json = nlohmann::ordered_json;

// "apple_family 1007 or metal_family 5001", of a list of sets of answers.
std::string short_needs(const Json& needs) {
  constexpr std::string_view kDomain = "metal.";
  std::string text;
  for (const Json& answers : needs) {
    std::string all;
    for (const auto& [name, level] : answers.items()) {
      const bool capability = name.starts_with(kDomain);
      // The others are how the device is called and whether tensor shaders compile.
      const std::string shown = capability ? fmt::format("{} {}", name.substr(kDomain.size()), level.dump()) : name;
      all += (all.empty() ? "" : " and ") + shown;
    }
    text += (text.empty() ? "" : " or ") + (all.empty() ? "always" : all);
  }
  return text.empty() ? "never" : text;
}

// Of the row of that operator which has a use with such types; empty `types` means any.
std::string operator_needs(const Json& map, std::string_view op, std::string_view types) {
  for (const Json& row : map.at("operators")) {
    if (row.at("operator") != op) continue;
    for (const Json& used : row.at("types")) {
      if (types.empty() || used == types) return short_needs(row.at("needs"));
    }
  }
  return "-";
}

std::string property_needs(const Json& map, std::string_view name) {
  for (const Json& property : map.at("properties")) {
    if (property.at("name") == name) return short_needs(property.at("needs"));
  }
  return "-";
}

}  // namespace

Result<std::string> release_table(const std::vector<std::string>& maps) {
  std::string out =
      "| release | MUL_MAT (Q4_K) | MUL_MAT (BF16) | FLASH_ATTN_EXT (F16) | RMS_NORM | has bfloat | has tensor |\n"
      "|---|---|---|---|---|---|---|\n";
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const Json map = Json::parse(maps[i], nullptr, false);
    try {
      if (!map.is_object() || map.at("kind") != "capbench.map") throw std::invalid_argument("no map");
      const Json& release = map.at("library").at("release");
      out +=
          fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", release.is_string() ? release.get<std::string>() : "?",
                      operator_needs(map, "MUL_MAT", "Q4_K x F32"), operator_needs(map, "MUL_MAT", "BF16 x F32"),
                      operator_needs(map, "FLASH_ATTN_EXT", "F32 x F16 x F16"), operator_needs(map, "RMS_NORM", ""),
                      property_needs(map, "has bfloat"), property_needs(map, "has tensor"));
    } catch (const std::exception&) {
      return Error{ErrorKind::kUsage, fmt::format("map {}", i + 1), "not what `capbench explain --map` writes",
                   "`capbench explain LIBRARY --map --format json`"};
    }
  }
  return out;
}

}  // namespace capbench::emulate
