// What a GGUF file (version 2 or 3) says about itself: its metadata and where its tensors are.
//
// The format: "GGUF", u32 version, u64 tensors, u64 keys; each key as string, u32 type, value; each tensor as name,
// u32 dimensions, u64 per dimension, u32 type, u64 offset; padding; tensor data. Everything is little-endian.
#ifndef CAPBENCH_MODELS_GGUF_H_
#define CAPBENCH_MODELS_GGUF_H_

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "models/tensor_type.h"

namespace capbench::models {

inline constexpr std::uint64_t kGgufDefaultAlignment = 32;
inline constexpr std::uint32_t kGgufMaxDimensions = 4;

// Bounds no honest file reaches; a file beyond them is called damaged before anything of that size is allocated.
inline constexpr std::uint64_t kGgufMaxStringBytes = 64U << 20U;
inline constexpr std::uint64_t kGgufMaxArrayBytes = 512U << 20U;
inline constexpr std::uint64_t kGgufMaxKeys = 1U << 16U;
inline constexpr std::uint64_t kGgufMaxTensors = 1U << 20U;

// The numbers are those in the file, and the order of GgufValue's alternatives.
enum class GgufType : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

// Kept as the file has it: a vocabulary of 250,000 strings need not become as many objects.
struct GgufArray {
  GgufType element = GgufType::kU8;  // never kArray
  std::uint64_t count = 0;
  std::string encoded;  // the elements' bytes, as in the file

  bool operator==(const GgufArray&) const = default;
};

using GgufValue = std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t,
                               float, bool, std::string, GgufArray, std::uint64_t, std::int64_t, double>;

struct GgufKey {
  std::string key;
  GgufValue value;

  bool operator==(const GgufKey&) const = default;
};

struct GgufTensor {
  std::string name;
  std::vector<std::uint64_t> shape;  // the length of a row first
  TensorType type = TensorType::kF32;
  std::uint64_t offset = 0;    // bytes from the start of the tensor data
  std::uint64_t elements = 0;  // product of `shape`
  std::uint64_t bytes = 0;     // of its data, without padding

  bool operator==(const GgufTensor&) const = default;
};

struct Gguf {
  std::uint32_t version = 3;
  std::uint64_t alignment = kGgufDefaultAlignment;
  std::uint64_t data_start = 0;  // bytes from the start of the file to the first tensor's data
  std::uint64_t file_size = 0;
  std::vector<GgufKey> metadata;    // in the file's order, keys unique
  std::vector<GgufTensor> tensors;  // in the file's order, names unique, data inside the file and disjoint
};

// Reads the head of the file at `path`; tensor data are not touched. Errors name the file, the cause and a remedy.
Result<Gguf> read_gguf(const std::filesystem::path& path);

// The same for bytes in memory (a whole file); `name` is what errors call them. Never crashes, whatever the bytes.
Result<Gguf> parse_gguf(std::string_view bytes, std::string_view name);

// Null if there is no such key.
const GgufValue* find_key(const Gguf& gguf, std::string_view key);

// The value if the key is there and is a non-negative integer of any width.
std::optional<std::uint64_t> find_unsigned(const Gguf& gguf, std::string_view key);
std::optional<double> find_number(const Gguf& gguf, std::string_view key);
std::optional<std::string> find_string(const Gguf& gguf, std::string_view key);

GgufType type_of(const GgufValue& value);

// The first `limit` strings of an array of strings; none if it is an array of something else.
std::vector<std::string> strings_of(const GgufArray& array, std::uint64_t limit = UINT64_MAX);

// Bytes of `elements` in rows of `row` elements; nothing if the row is no whole number of blocks or on overflow.
std::optional<std::uint64_t> tensor_bytes(TensorType type, std::uint64_t elements, std::uint64_t row);

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_GGUF_H_
