#include "models/inspect.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "models/format.h"
#include "models/twin_plan.h"

namespace capbench::models {
namespace {

using Json = nlohmann::ordered_json;

// Room for a value beside its label.
constexpr std::size_t kValueColumns = 62;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json or_null(const std::string& value) {
  return value.empty() ? Json() : Json(value);
}

std::vector<TypeShare> shares(const Gguf& gguf) {
  std::vector<TypeShare> types;
  for (const GgufTensor& tensor : gguf.tensors) {
    auto share = std::find_if(types.begin(), types.end(), [&](const TypeShare& t) { return t.type == tensor.type; });
    if (share == types.end()) share = types.insert(types.end(), TypeShare{tensor.type, 0, 0, 0});
    ++share->tensors;
    share->parameters += tensor.elements;
    share->bytes += tensor.bytes;
  }
  std::stable_sort(types.begin(), types.end(),
                   [](const TypeShare& a, const TypeShare& b) { return a.bytes > b.bytes; });
  return types;
}

std::optional<TwinMark> twin_mark(const Gguf& gguf) {
  if (find_key(gguf, kTwinLikeKey) == nullptr) return std::nullopt;
  return TwinMark{find_string(gguf, kTwinLikeKey).value_or(""), find_unsigned(gguf, kTwinSeedKey),
                  find_string(gguf, kTwinFillKey).value_or("")};
}

std::string optional_count(const std::optional<std::uint64_t>& value) {
  return value ? std::to_string(*value) : "?";
}

std::string kind_text(const ModelInfo& info) {
  if (!info.twin) return "real";
  return fmt::format("twin of {}, seed {}, {} weights", printable(info.twin->like, 20), optional_count(info.twin->seed),
                     printable(info.twin->fill, 10));
}

}  // namespace

ModelInfo inspect(const Gguf& gguf, std::string file) {
  ModelInfo info;
  info.file = std::move(file);
  info.gguf_version = gguf.version;
  info.file_size = gguf.file_size;
  info.types = shares(gguf);
  for (const TypeShare& share : info.types) {
    info.weight_bytes += share.bytes;
    info.parameters += share.parameters;
  }
  info.architecture = find_string(gguf, "general.architecture").value_or("");
  info.name = find_string(gguf, "general.name").value_or("");
  if (const auto type = find_unsigned(gguf, "general.file_type")) {
    info.file_type = file_type_name(*type);
    if (info.file_type.empty()) info.file_type = "file type " + std::to_string(*type);
  }
  const auto number = [&](std::string_view key) { return find_unsigned(gguf, info.architecture + std::string(key)); };
  info.layers = number(".block_count");
  info.width = number(".embedding_length");
  info.heads = number(".attention.head_count");
  info.kv_heads = number(".attention.head_count_kv");
  info.ffn = number(".feed_forward_length");
  info.context = number(".context_length");
  info.tokenizer = find_string(gguf, "tokenizer.ggml.model").value_or("");
  if (const GgufValue* tokens = find_key(gguf, "tokenizer.ggml.tokens")) {
    if (const auto* array = std::get_if<GgufArray>(tokens)) info.tokens = array->count;
  }
  info.twin = twin_mark(gguf);
  return info;
}

Result<ModelInfo> inspect(const std::filesystem::path& path) {
  const auto gguf = read_gguf(path);
  if (!gguf) return gguf.error();
  return inspect(*gguf, path.string());
}

std::string_view kind_of(const ModelInfo& info) {
  return info.twin ? "twin" : "real";
}

std::string inspect_text(const ModelInfo& info) {
  std::string out;
  const auto line = [&out](std::string_view label, std::string_view value) {
    if (!value.empty()) out += fmt::format("{:<16} {}\n", label, printable(value, kValueColumns));
  };
  line("file", std::filesystem::path(info.file).filename().string());
  line("kind", kind_text(info));
  line("name", info.name);
  line("architecture", info.architecture);
  line("quantisation", info.file_type);
  line("parameters", fmt::format("{} ({})", count_text(info.parameters), info.parameters));
  line("weights", fmt::format("{} ({} bytes)", size_text(info.weight_bytes), info.weight_bytes));
  line("file size", fmt::format("{} bytes, GGUF version {}", info.file_size, info.gguf_version));
  if (info.layers) {
    line("shape", fmt::format("{} layers, {} wide, {}/{} heads, {} ffn", *info.layers, optional_count(info.width),
                              optional_count(info.heads), optional_count(info.kv_heads), optional_count(info.ffn)));
  }
  if (info.context) line("context", fmt::format("{} tokens", *info.context));
  if (info.tokens) line("tokenizer", fmt::format("{}, {} tokens", printable(info.tokenizer, 20), *info.tokens));
  out += fmt::format("\n{:<10} {:>8} {:>14} {:>16} {:>7}\n", "TYPE", "TENSORS", "PARAMETERS", "BYTES", "SHARE");
  for (const TypeShare& share : info.types) {
    const double percent =
        info.weight_bytes == 0 ? 0 : 100 * static_cast<double>(share.bytes) / static_cast<double>(info.weight_bytes);
    out += fmt::format("{:<10} {:>8} {:>14} {:>16} {:>6.1f}%\n", tensor_type_info(share.type).name, share.tensors,
                       share.parameters, share.bytes, percent);
  }
  return out;
}

std::string inspect_json(const ModelInfo& info) {
  Json types = Json::array();
  for (const TypeShare& share : info.types) {
    types.push_back({{"type", tensor_type_info(share.type).name},
                     {"tensors", share.tensors},
                     {"parameters", share.parameters},
                     {"bytes", share.bytes}});
  }
  Json object{{"file", info.file},
              {"kind", kind_of(info)},
              {"name", or_null(info.name)},
              {"architecture", or_null(info.architecture)},
              {"file_type", or_null(info.file_type)},
              {"parameters", info.parameters},
              {"weight_bytes", info.weight_bytes},
              {"size", info.file_size},
              {"gguf_version", info.gguf_version},
              {"layers", or_null(info.layers)},
              {"width", or_null(info.width)},
              {"heads", or_null(info.heads)},
              {"kv_heads", or_null(info.kv_heads)},
              {"ffn", or_null(info.ffn)},
              {"context", or_null(info.context)},
              {"tokenizer", {{"model", or_null(info.tokenizer)}, {"tokens", or_null(info.tokens)}}},
              {"quantisation", std::move(types)},
              {"twin", nullptr}};
  if (info.twin) {
    object["twin"] = {
        {"like", info.twin->like}, {"seed", or_null(info.twin->seed)}, {"fill", or_null(info.twin->fill)}};
  }
  // Names come from foreign files and need not be UTF-8.
  return object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace capbench::models
