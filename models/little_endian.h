// Integers and floats as little-endian bytes, on any host.
#ifndef CAPBENCH_MODELS_LITTLE_ENDIAN_H_
#define CAPBENCH_MODELS_LITTLE_ENDIAN_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace capbench::models {

namespace detail {

// The unsigned integer of T's size.
template <class T>
using Bits = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                   std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

}  // namespace detail

// Writes sizeof(T) bytes at `out`.
template <class T>
void store(char* out, T value) {
  const auto bits = std::bit_cast<detail::Bits<T>>(value);
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out[i] = static_cast<char>(static_cast<unsigned char>(static_cast<std::uint64_t>(bits) >> (8 * i)));
  }
}

template <class T>
void append(std::string& out, T value) {
  char bytes[sizeof(T)];
  store(bytes, value);
  out.append(bytes, sizeof(T));
}

// Reads sizeof(T) bytes at `in`.
template <class T>
T load(const char* in) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    bits |= std::uint64_t{static_cast<unsigned char>(in[i])} << (8 * i);
  }
  return std::bit_cast<T>(static_cast<detail::Bits<T>>(bits));
}

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_LITTLE_ENDIAN_H_
