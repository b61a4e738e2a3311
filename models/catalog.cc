#include "models/catalog.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "models/embedded_catalog.h"
#include "models/format.h"
#include "models/twin_plan.h"

namespace capbench::models {
namespace {

using Json = nlohmann::ordered_json;

Error unknown_name(std::string_view name, bool shapes_only) {
  std::string known;
  for (const CatalogEntry& entry : catalog()) {
    if (shapes_only && !entry.shape) continue;
    if (!known.empty()) known += ", ";
    known += entry.name;
  }
  return {ErrorKind::kUsage, fmt::format("model '{}'", printable(name, 60)),
          shapes_only ? "no shape of that name" : "not in the catalog", "one of " + known};
}

}  // namespace

std::span<const CatalogEntry> catalog() {
  // The embedded file is part of the build and read by a test: an error in it is a mistake of ours, and throws.
  static const std::vector<CatalogEntry> entries = parse_catalog(embedded_catalog()).value();
  return entries;
}

Result<CatalogEntry> find_model(std::string_view name) {
  for (const CatalogEntry& entry : catalog()) {
    if (entry.name == name) return entry;
  }
  return unknown_name(name, false);
}

Result<Shape> find_shape(std::string_view name) {
  for (const CatalogEntry& entry : catalog()) {
    if (entry.name == name && entry.shape) return *entry.shape;
  }
  return unknown_name(name, true);
}

std::string catalog_text() {
  std::string out = fmt::format("{:<19} {:<34} {:>11} {:>11}\n", "NAME", "MODEL", "REAL FILE", "TWIN");
  for (const CatalogEntry& entry : catalog()) {
    const std::string real = !entry.file ? "-" : entry.file->size == 0 ? "folder" : size_text(entry.file->size);
    std::string twin = "-";
    if (entry.shape) {
      if (const auto size = twin_size(*entry.shape)) twin = size_text(*size);
    }
    out += fmt::format("{:<19} {:<34} {:>11} {:>11}\n", entry.name, entry.title, real, twin);
  }
  return out;
}

std::string catalog_json() {
  Json list = Json::array();
  for (const CatalogEntry& entry : catalog()) {
    Json item{
        {"name", entry.name}, {"title", entry.title}, {"purpose", entry.purpose}, {"file", nullptr}, {"twin", nullptr}};
    if (entry.file) {
      const PinnedFile& file = *entry.file;
      item["file"] = {{"name", file.file_name.empty() ? Json() : Json(file.file_name)},
                      {"size", file.size == 0 ? Json() : Json(file.size)},
                      {"sha256", file.sha256.empty() ? Json() : Json(file.sha256)},
                      {"repository", file.repository},
                      {"revision", file.revision}};
    }
    if (entry.shape) {
      const Shape& shape = *entry.shape;
      item["twin"] = {{"architecture", "llama"},   {"layers", shape.layers},     {"width", shape.width},
                      {"heads", shape.heads},      {"kv_heads", shape.kv_heads}, {"ffn", shape.ffn},
                      {"vocabulary", shape.vocab}, {"context", shape.context},   {"mix", mix_name(shape.mix)}};
      if (const auto size = twin_size(shape)) item["twin"]["size"] = *size;
    }
    list.push_back(std::move(item));
  }
  return list.dump(2) + "\n";
}

}  // namespace capbench::models
