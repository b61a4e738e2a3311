#include "shim/metal/lume.h"

#include <cstring>

namespace capbench::shim::metal {
namespace {

constexpr std::size_t kMaxNumberBytes = 64;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 46U;  // as shim/common/toggles.h
constexpr std::uint64_t kLowestFamily = 1001;
constexpr std::uint64_t kHighestFamily = 1999;

struct Variable {
  std::string_view name;
  std::string_view value;  // empty: unset
  std::uint64_t low;
  std::uint64_t high;
  std::string_view remedy;
};

std::string_view view_of(const char* value) {
  return value == nullptr ? std::string_view() : std::string_view(value, strnlen(value, kMaxNumberBytes + 1));
}

// The digit's value, or 16 if it is none.
unsigned digit_of(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10U;
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10U;
  return 16;
}

bool parse_number(std::string_view text, std::uint64_t& number) {
  unsigned base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
    text.remove_prefix(1);
  }
  if (text.empty() || text.size() > kMaxNumberBytes) return false;
  number = 0;
  for (const char c : text) {
    const unsigned digit = digit_of(c);
    if (digit >= base || number > (UINT64_MAX - digit) / base) return false;
    number = number * base + digit;
  }
  return true;
}

void refuse(ErrorText& error, const Variable& variable, std::string_view cause) {
  TextBuilder out(error.bytes.data(), error.bytes.size());
  out.append(variable.name);
  out.append(": ");
  if (!variable.value.empty()) {
    out.append_quoted(variable.value);
    out.append(" ");
  }
  out.append(cause);
  out.append("; nothing is changed; try: ");
  out.append(variable.remedy);
  error.size = out.view().size();
}

// False if there is an error, which it fills.
bool read_number(const Variable& variable, std::uint64_t& number, ErrorText& error) {
  if (!parse_number(variable.value, number)) {
    refuse(error, variable, "is not a number");
    return false;
  }
  if (number < variable.low || number > variable.high) {
    refuse(error, variable, "is out of range");
    return false;
  }
  return true;
}

}  // namespace

LumeRequest read_lume(const LumeVariables& variables) {
  const Variable family{kLumeFamily, view_of(variables.family), kLowestFamily, kHighestFamily,
                        "an integer from 1001 to 1999"};
  const std::array<Variable, 2> sizes = {{
      {kLumeThreadgroupMemory, view_of(variables.threadgroup_memory), 0, kMaxBytes, "bytes, at most 2^46"},
      {kLumeWorkingSet, view_of(variables.working_set), 0, kMaxBytes, "bytes, at most 2^46"},
  }};
  constexpr std::array<Capability, 2> kSizes = {Capability::kThreadgroupMemory, Capability::kWorkingSet};

  LumeRequest request;
  request.given = !family.value.empty() || !sizes[0].value.empty() || !sizes[1].value.empty();
  if (!request.given) return request;
  Variable missing = family;
  missing.remedy = "setting it, or unsetting the other LUME_METAL_ variables";
  if (family.value.empty()) {
    refuse(request.error, missing, "not set, though another LUME_METAL_ variable is");
    return request;
  }
  Layer layer{};
  Level& highest = layer[index_of(Capability::kAppleFamily)];
  highest = {true, true, 0};
  if (!read_number(family, highest.value, request.error)) return request;
  layer[index_of(Capability::kThreadgroupMemory)] = {true, true, kLumeDefaultThreadgroupMemory};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i].value.empty()) continue;
    Level& level = layer[index_of(kSizes[i])];
    level = {true, true, 0};
    if (!read_number(sizes[i], level.value, request.error)) return request;
  }
  request.layer = layer;
  return request;
}

}  // namespace capbench::shim::metal
