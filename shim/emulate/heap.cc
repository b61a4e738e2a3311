#include "shim/emulate/heap.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace capbench::emulate {
namespace {

constexpr std::uint64_t kChunk = 4U << 20U;
constexpr std::uint64_t kLarge = 1U << 20U;

std::uint64_t size_class(std::uint64_t size) {
  if (size <= 4096) return std::max<std::uint64_t>((size + 15) / 16 * 16, 16);
  return (size + 4095) / 4096 * 4096;
}

}  // namespace

Address Heap::allocate(std::uint64_t size, std::uint64_t alignment) {
  if (machine_.failed()) return 0;
  if (size > UINT64_MAX / 4 || !std::has_single_bit(alignment) || alignment > kChunk) {
    machine_.fail({ErrorKind::kUsage, "the emulated program",
                   fmt::format("asks for {} bytes at a multiple of {}", size, alignment), "a library as published"});
    return 0;
  }
  const std::uint64_t whole = size_class(size);
  std::vector<Address>& free = state_.released[whole];
  for (std::size_t i = free.size(); i-- > 0;) {
    if (free[i] % alignment != 0) continue;
    const Address address = free[i];
    free.erase(free.begin() + static_cast<std::ptrdiff_t>(i));
    if (std::byte* const host = machine_.at(address, whole); host != nullptr) std::memset(host, 0, whole);
    state_.blocks[address] = whole;
    return address;
  }
  if (whole >= kLarge) {
    // A mapping starts at a multiple of 1 MiB.
    const std::uint64_t extra = alignment > kLarge ? alignment : 0;
    const Address mapped = machine_.map(whole + extra, Protection::kReadWrite, "heap");
    if (mapped == 0) return 0;
    const Address address = (mapped + alignment - 1) / alignment * alignment;
    state_.blocks[address] = whole;
    return address;
  }
  Address address = (state_.next + alignment - 1) / alignment * alignment;
  if (state_.next == 0 || address > state_.end || whole > state_.end - address) {
    state_.next = machine_.map(kChunk, Protection::kReadWrite, "heap");
    if (state_.next == 0) return 0;
    state_.end = state_.next + kChunk;
    address = (state_.next + alignment - 1) / alignment * alignment;
    if (address > state_.end || whole > state_.end - address) return allocate(kLarge, alignment);
  }
  state_.next = address + whole;
  state_.blocks[address] = whole;
  return address;
}

void Heap::release(Address address) {
  if (address == 0) return;
  const auto block = state_.blocks.find(address);
  if (block == state_.blocks.end()) {
    machine_.fail({ErrorKind::kUsage, "the emulated program",
                   fmt::format("frees {:#x}, which it did not allocate", address), "a library as published"});
    return;
  }
  state_.released[block->second].push_back(address);
  state_.blocks.erase(block);
}

Address Heap::reallocate(Address address, std::uint64_t size) {
  if (address == 0) return allocate(size);
  const std::uint64_t old_size = size_of(address);
  const Address fresh = allocate(size);
  if (fresh == 0) return 0;
  const std::uint64_t kept = std::min(old_size, size);
  const std::byte* const from = machine_.at(address, kept);
  std::byte* const to = machine_.at(fresh, kept);
  if (from != nullptr && to != nullptr && kept != 0) std::memcpy(to, from, kept);
  release(address);
  return fresh;
}

Address Heap::text(std::string_view text) {
  const Address address = allocate(text.size() + 1);
  if (address != 0) machine_.write_bytes(address, text);
  return address;
}

std::uint64_t Heap::size_of(Address address) const {
  const auto block = state_.blocks.find(address);
  return block == state_.blocks.end() ? 0 : block->second;
}

}  // namespace capbench::emulate
