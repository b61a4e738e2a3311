#include "models/catalog.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "models/format.h"
#include "models/twin_plan.h"

namespace capbench::models {
namespace {

using Json = nlohmann::ordered_json;

Shape tinyllama_shape() {
  Shape shape;
  shape.name = "tinyllama-1.1b";
  shape.title = "TinyLlama 1.1B";
  shape.layers = 22;
  shape.width = 2048;
  shape.heads = 32;
  shape.kv_heads = 4;
  shape.ffn = 5632;
  shape.vocab = 32000;
  shape.context = 2048;
  shape.mix = Mix::kQ4_K_M;
  return shape;
}

// The same model in another mix; the variants exist as twins only.
Shape tinyllama_in(const char* name, const char* title, Mix mix) {
  Shape shape = tinyllama_shape();
  shape.name = name;
  shape.title = title;
  shape.mix = mix;
  return shape;
}

Shape quickstart_shape() {
  Shape shape;
  shape.name = "quickstart";
  shape.title = "Quickstart";
  shape.layers = 8;
  shape.width = 512;
  shape.heads = 8;
  shape.kv_heads = 4;
  shape.ffn = 1536;
  shape.vocab = 2048;
  shape.context = 2048;
  shape.mix = Mix::kQ4_0;
  shape.pure = true;
  return shape;
}

Shape tiny_shape() {
  Shape shape;
  shape.name = "tiny";
  shape.title = "Tiny";
  shape.layers = 4;
  shape.width = 512;
  shape.heads = 8;
  shape.kv_heads = 4;
  shape.ffn = 1024;
  shape.vocab = 512;
  shape.context = 512;
  shape.mix = Mix::kQ4_K_M;
  return shape;
}

std::vector<CatalogEntry> make_catalog() {
  return {
      {"tinyllama-1.1b", "TinyLlama 1.1B Chat, Q4_K_M", "the published matrix's small model",
       PinnedFile{"tinyllama-1.1b-chat-v1.0.Q4_K_M.gguf", 668788096,
                  "9fecc3b3cd76bba89d504f29b616eedf7da85b96540e490ca5824d3f7d2776a0",
                  "TheBloke/TinyLlama-1.1B-Chat-v1.0-GGUF", "52e7645ba7c309695bec7ac98f4f005b139cf465"},
       tinyllama_shape()},
      {"tinyllama-1.1b-q4_0", "TinyLlama 1.1B, Q4_0", "a mix whose products have integer kernels", std::nullopt,
       tinyllama_in("tinyllama-1.1b-q4_0", "TinyLlama 1.1B", Mix::kQ4_0)},
      {"tinyllama-1.1b-f16", "TinyLlama 1.1B, F16", "not quantised: no integer kernels", std::nullopt,
       tinyllama_in("tinyllama-1.1b-f16", "TinyLlama 1.1B", Mix::kF16)},
      {"gemma-4-12b", "Gemma 4 12B QAT, Q4_0", "the published matrix's large model",
       PinnedFile{"gemma-4-12b-it-qat-q4_0.gguf", 6975879296,
                  "93567e57a8fe10b23569b9d9ec38cd005deedf71e29477c421a4b83f418a538b",
                  "google/gemma-4-12B-it-qat-q4_0-gguf", "29d097773436b69ff9feafd636ab4cf873786537"},
       std::nullopt},
      {"muse-glimmer-30b", "Muse Glimmer 30B, Q4_K_M", "the published matrix's largest model",
       PinnedFile{"muse-glimmer-30B-kquant-17gb.gguf", 16756681056,
                  "7e9b74b7c8875e9e265695df9613bf6290f2392e479ce740495a129019c488d8",
                  "meta-models/Muse-Glimmer-30B-GGUF", "a0532f7263ee67f1e0a5f5c5fdcd50dd62fc9aa4"},
       std::nullopt},
      {"llama-3.2-3b-mlx", "Llama 3.2 3B Instruct, 4 bit, MLX", "the published matrix's MLX control (a folder)",
       PinnedFile{"", 0, "", "mlx-community/Llama-3.2-3B-Instruct-4bit", "7f0dc925e0d0afb0322d96f9255cfddf2ba5636e"},
       std::nullopt},
      {"quickstart", "Quickstart, Q4_0", "measured in seconds on a slow CPU", std::nullopt, quickstart_shape()},
      {"tiny", "Tiny, Q4_K_M", "for tests", std::nullopt, tiny_shape()},
  };
}

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
  static const std::vector<CatalogEntry> entries = make_catalog();
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
