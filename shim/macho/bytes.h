// Reading numbers and strings out of bytes that nobody vouches for. Nothing here reads outside its span.
#ifndef CAPBENCH_SHIM_MACHO_BYTES_H_
#define CAPBENCH_SHIM_MACHO_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace capbench::macho {

using Bytes = std::span<const std::byte>;

inline Bytes as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Whether [offset, offset + size) lies within `length` bytes.
constexpr bool within(std::uint64_t offset, std::uint64_t size, std::uint64_t length) {
  return offset <= length && size <= length - offset;
}

inline std::optional<Bytes> slice_of(Bytes bytes, std::uint64_t offset, std::uint64_t size) {
  if (!within(offset, size, bytes.size())) return std::nullopt;
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(size));
}

// A little-endian unsigned number at any alignment.
template <class T>
std::optional<T> little(Bytes bytes, std::uint64_t offset) {
  static_assert(std::is_unsigned_v<T>);
  if (!within(offset, sizeof(T), bytes.size())) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= std::to_integer<std::uint64_t>(bytes[static_cast<std::size_t>(offset) + i]) << (8 * i);
  }
  return static_cast<T>(value);
}

// The same in network order: fat headers and signatures.
template <class T>
std::optional<T> big(Bytes bytes, std::uint64_t offset) {
  static_assert(std::is_unsigned_v<T>);
  if (!within(offset, sizeof(T), bytes.size())) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value = value << 8U | std::to_integer<std::uint64_t>(bytes[static_cast<std::size_t>(offset) + i]);
  }
  return static_cast<T>(value);
}

// The bytes from `offset` to the NUL; nothing if there is none before the end.
inline std::optional<std::string_view> c_string(Bytes bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return std::nullopt;
  const Bytes rest = bytes.subspan(static_cast<std::size_t>(offset));
  const void* const end = std::memchr(rest.data(), 0, rest.size());
  if (end == nullptr) return std::nullopt;
  const auto* const first = reinterpret_cast<const char*>(rest.data());
  return std::string_view(first, static_cast<std::size_t>(static_cast<const char*>(end) - first));
}

// The bytes of a field of fixed size, up to the first NUL if it has one.
inline std::string_view padded_string(Bytes field) {
  const std::string_view text(reinterpret_cast<const char*>(field.data()), field.size());
  return text.substr(0, text.find('\0'));
}

}  // namespace capbench::macho

#endif  // CAPBENCH_SHIM_MACHO_BYTES_H_
