#include "models/gguf.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include "base/utf8.h"
#include "models/gguf_cursor.h"
#include "models/mapped_file.h"

namespace capbench::models {
namespace {

// Bytes of one element; 0 for strings and arrays, whose size is in the file.
std::uint64_t scalar_bytes(GgufType type) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kI8:
    case GgufType::kBool:
      return 1;
    case GgufType::kU16:
    case GgufType::kI16:
      return 2;
    case GgufType::kU32:
    case GgufType::kI32:
    case GgufType::kF32:
      return 4;
    case GgufType::kU64:
    case GgufType::kI64:
    case GgufType::kF64:
      return 8;
    case GgufType::kString:
    case GgufType::kArray:
      return 0;
  }
  return 0;
}

void read_magic(Cursor& in, std::string_view bytes) {
  if (bytes.empty()) {
    in.fail("the file is empty");
    return;
  }
  if (bytes.starts_with("GGUF")) {
    in.take(4, "the magic");
    return;
  }
  if (bytes.size() < 4 && std::string_view("GGUF").starts_with(bytes)) {
    in.fail_truncated(24, "the header");
  } else if (bytes.starts_with("version https://git-lfs")) {
    in.fail("not a GGUF file but a Git LFS pointer to one", "`git lfs pull` in the folder it came from");
  } else if (bytes.starts_with("<")) {
    in.fail("not a GGUF file (it looks like a web page)");
  } else {
    in.fail("not a GGUF file (it begins with " + in_quotes(bytes.substr(0, 4)) + ")");
  }
}

GgufArray read_array(Cursor& in, const std::string& at) {
  GgufArray array;
  const auto type = in.number<std::uint32_t>(at);
  array.count = in.number<std::uint64_t>(at);
  if (in.failed()) return {};
  if (type == static_cast<std::uint32_t>(GgufType::kArray)) {
    in.fail("an array inside an array (" + at + "), which llama.cpp does not read either");
    return {};
  }
  if (type > static_cast<std::uint32_t>(GgufType::kF64)) {
    in.fail("damaged: array elements of unknown type " + std::to_string(type) + " (" + at + ")");
    return {};
  }
  array.element = static_cast<GgufType>(type);
  std::uint64_t size = 0;
  // A string has at least its length of 8 bytes, so a huge count is caught before anything is walked.
  const std::uint64_t element_bytes = array.element == GgufType::kString ? 8 : scalar_bytes(array.element);
  if (!multiply(array.count, element_bytes, size) || size > kGgufMaxArrayBytes) {
    in.fail("damaged: an array of " + std::to_string(array.count) + " elements (" + at + ")");
    return {};
  }
  if (array.element != GgufType::kString) {
    array.encoded = in.take(size, at);
    return array;
  }
  Cursor ahead = in;
  if (ahead.take(size, at).empty() && size > 0) {
    in = ahead;
    return {};
  }
  ahead = in;
  for (std::uint64_t i = 0; i < array.count && !ahead.failed(); ++i) ahead.string(at);
  const std::uint64_t used = ahead.position() - in.position();
  if (ahead.failed()) {
    in = ahead;
    return {};
  }
  if (used > kGgufMaxArrayBytes) {
    in.fail("damaged: an array of " + std::to_string(used) + " bytes (" + at + ")");
    return {};
  }
  array.encoded = in.take(used, at);
  return array;
}

GgufValue read_value(Cursor& in, const std::string& at) {
  const auto type = in.number<std::uint32_t>(at);
  if (in.failed()) return {};
  if (type > static_cast<std::uint32_t>(GgufType::kF64)) {
    in.fail("damaged: unknown value type " + std::to_string(type) + " (" + at + ")");
    return {};
  }
  switch (static_cast<GgufType>(type)) {
    case GgufType::kU8:
      return in.number<std::uint8_t>(at);
    case GgufType::kI8:
      return in.number<std::int8_t>(at);
    case GgufType::kU16:
      return in.number<std::uint16_t>(at);
    case GgufType::kI16:
      return in.number<std::int16_t>(at);
    case GgufType::kU32:
      return in.number<std::uint32_t>(at);
    case GgufType::kI32:
      return in.number<std::int32_t>(at);
    case GgufType::kF32:
      return in.number<float>(at);
    case GgufType::kBool:
      return in.number<std::uint8_t>(at) != 0;
    case GgufType::kString:
      return std::string(in.string(at));
    case GgufType::kArray:
      return read_array(in, at);
    case GgufType::kU64:
      return in.number<std::uint64_t>(at);
    case GgufType::kI64:
      return in.number<std::int64_t>(at);
    case GgufType::kF64:
      return in.number<double>(at);
  }
  return {};
}

void read_metadata(Cursor& in, std::uint64_t count, Gguf& gguf) {
  std::unordered_set<std::string> seen;
  for (std::uint64_t i = 0; i < count && !in.failed(); ++i) {
    const std::string key(in.string("the name of key " + std::to_string(i)));
    if (in.failed()) return;
    if (key.empty()) in.fail("damaged: key " + std::to_string(i) + " has no name");
    if (!seen.insert(key).second) in.fail("damaged: key " + in_quotes(key) + " is there twice");
    if (in.failed()) return;
    GgufValue value = read_value(in, "the value of key " + in_quotes(key));
    if (!in.failed()) gguf.metadata.push_back({key, std::move(value)});
  }
}

void read_alignment(Cursor& in, Gguf& gguf) {
  const GgufValue* value = find_key(gguf, "general.alignment");
  if (in.failed() || value == nullptr) return;
  const auto* alignment = std::get_if<std::uint32_t>(value);
  if (alignment == nullptr) {
    in.fail("damaged: 'general.alignment' is not an unsigned 32-bit number");
    return;
  }
  // 8 is the format's own unit.
  if (*alignment < 8 || (*alignment & (*alignment - 1)) != 0) {
    in.fail("damaged: the alignment " + std::to_string(*alignment) + " is no power of two of at least 8");
    return;
  }
  gguf.alignment = *alignment;
}

void read_tensor(Cursor& in, std::uint64_t index, std::unordered_set<std::string>& seen, Gguf& gguf) {
  GgufTensor tensor;
  tensor.name = in.string("the name of tensor " + std::to_string(index));
  if (in.failed()) return;
  const std::string at = "tensor " + in_quotes(tensor.name);
  if (!seen.insert(tensor.name).second) return in.fail("damaged: " + at + " is there twice");
  const auto dimensions = in.number<std::uint32_t>(at);
  if (dimensions > kGgufMaxDimensions) {
    return in.fail("damaged: " + at + " has " + std::to_string(dimensions) + " dimensions; at most " +
                   std::to_string(kGgufMaxDimensions) + " exist");
  }
  tensor.elements = 1;
  for (std::uint32_t i = 0; i < dimensions; ++i) {
    const auto length = in.number<std::uint64_t>(at);
    tensor.shape.push_back(length);
    if (!multiply(tensor.elements, length, tensor.elements) || length > std::numeric_limits<std::int64_t>::max()) {
      return in.fail("damaged: " + at + " has more elements than can be counted");
    }
  }
  const auto type = in.number<std::uint32_t>(at);
  tensor.offset = in.number<std::uint64_t>(at);
  if (in.failed()) return;
  const auto info = tensor_type_info(type);
  if (!info) {
    return in.fail(at + " has the unknown type " + std::to_string(type),
                   "check that the file is whole; a type newer than this program needs a newer capbench");
  }
  tensor.type = info->type;
  const std::uint64_t row = tensor.shape.empty() ? 1 : tensor.shape.front();
  if (row % info->block_elements != 0) {
    return in.fail("damaged: " + at + " has rows of " + std::to_string(row) + " elements, no whole number of " +
                   std::string(info->name) + " blocks of " + std::to_string(info->block_elements));
  }
  const auto bytes = tensor_bytes(tensor.type, tensor.elements, row);
  if (!bytes) return in.fail("damaged: " + at + " has more bytes than can be counted");
  tensor.bytes = *bytes;
  if (tensor.offset % gguf.alignment != 0) {
    return in.fail("damaged: " + at + " starts at " + std::to_string(tensor.offset) + ", no multiple of " +
                   std::to_string(gguf.alignment));
  }
  gguf.tensors.push_back(std::move(tensor));
}

// Every tensor's data must lie inside the file and apart from all others.
void check_extents(Cursor& in, Gguf& gguf) {
  if (in.failed()) return;
  if (gguf.tensors.empty()) {
    gguf.data_start = std::min(gguf.data_start, gguf.file_size);
    return;
  }
  std::vector<const GgufTensor*> order;
  order.reserve(gguf.tensors.size());
  for (const GgufTensor& tensor : gguf.tensors) order.push_back(&tensor);
  std::stable_sort(order.begin(), order.end(),
                   [](const GgufTensor* a, const GgufTensor* b) { return a->offset < b->offset; });
  std::uint64_t end = 0;
  const GgufTensor* before = nullptr;
  for (const GgufTensor* tensor : order) {
    if (before != nullptr && tensor->offset < end && tensor->bytes > 0) {
      return in.fail("damaged: tensors " + in_quotes(before->name) + " and " + in_quotes(tensor->name) + " overlap");
    }
    std::uint64_t tensor_end = 0;
    std::uint64_t in_file = 0;
    if (!add(tensor->offset, tensor->bytes, tensor_end) || !add(gguf.data_start, tensor_end, in_file)) {
      return in.fail("damaged: tensor " + in_quotes(tensor->name) + " lies beyond any file");
    }
    if (tensor_end >= end) {
      end = tensor_end;
      before = tensor;
    }
  }
  if (gguf.data_start + end > gguf.file_size) {
    in.fail_truncated(gguf.data_start + end, "the data of tensor " + in_quotes(before->name));
  }
}

}  // namespace

std::optional<std::uint64_t> tensor_bytes(TensorType type, std::uint64_t elements, std::uint64_t row) {
  const TensorTypeInfo info = tensor_type_info(type);
  std::uint64_t bytes = 0;
  if (row % info.block_elements != 0) return std::nullopt;
  if (!multiply(elements / info.block_elements, info.block_bytes, bytes)) return std::nullopt;
  return bytes;
}

Result<Gguf> parse_gguf(std::string_view bytes, std::string_view name) {
  Cursor in(bytes, name);
  Gguf gguf;
  gguf.file_size = bytes.size();
  read_magic(in, bytes);
  gguf.version = in.number<std::uint32_t>("the version");
  if (!in.failed() && (gguf.version & 0xFFFFU) == 0) {
    in.fail("a big-endian or damaged GGUF file (its version reads " + std::to_string(gguf.version) + ")",
            "use the little-endian file");
  }
  if (!in.failed() && (gguf.version < 2 || gguf.version > 3)) {
    in.fail("GGUF version " + std::to_string(gguf.version) + "; versions 2 and 3 are read",
            "convert it with llama.cpp's own tools");
  }
  const auto tensors = in.number<std::uint64_t>("the number of tensors");
  const auto keys = in.number<std::uint64_t>("the number of keys");
  if (tensors > kGgufMaxTensors) in.fail("damaged: it announces " + std::to_string(tensors) + " tensors");
  if (keys > kGgufMaxKeys) in.fail("damaged: it announces " + std::to_string(keys) + " keys");
  read_metadata(in, keys, gguf);
  read_alignment(in, gguf);
  std::unordered_set<std::string> seen;
  for (std::uint64_t i = 0; i < tensors && !in.failed(); ++i) read_tensor(in, i, seen, gguf);
  gguf.data_start = (in.position() + gguf.alignment - 1) / gguf.alignment * gguf.alignment;
  check_extents(in, gguf);
  if (in.failed()) return in.error();
  return gguf;
}

Result<Gguf> read_gguf(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  if (!file) return file.error();
  return parse_gguf(file->bytes(), path.string());
}

const GgufValue* find_key(const Gguf& gguf, std::string_view key) {
  for (const GgufKey& entry : gguf.metadata) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

std::optional<std::uint64_t> find_unsigned(const Gguf& gguf, std::string_view key) {
  const GgufValue* value = find_key(gguf, key);
  if (value == nullptr) return std::nullopt;
  return std::visit(
      [](const auto& held) -> std::optional<std::uint64_t> {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
          if (std::in_range<std::uint64_t>(held)) return static_cast<std::uint64_t>(held);
        }
        return std::nullopt;
      },
      *value);
}

std::optional<double> find_number(const Gguf& gguf, std::string_view key) {
  const GgufValue* value = find_key(gguf, key);
  if (value == nullptr) return std::nullopt;
  return std::visit(
      [](const auto& held) -> std::optional<double> {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) return static_cast<double>(held);
        return std::nullopt;
      },
      *value);
}

std::optional<std::string> find_string(const Gguf& gguf, std::string_view key) {
  const GgufValue* value = find_key(gguf, key);
  if (value == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  return std::nullopt;
}

GgufType type_of(const GgufValue& value) {
  return static_cast<GgufType>(value.index());
}

std::vector<std::string> strings_of(const GgufArray& array, std::uint64_t limit) {
  std::vector<std::string> strings;
  if (array.element != GgufType::kString) return strings;
  Cursor in(array.encoded, "array");
  for (std::uint64_t i = 0; i < std::min(array.count, limit) && !in.failed(); ++i) {
    const std::string_view text = in.string("a string");
    if (!in.failed()) strings.emplace_back(text);
  }
  return strings;
}

}  // namespace capbench::models
