#include "shim/metal/probe/answers.h"

#include <cstring>

namespace capbench::shim::metal {
namespace {

constexpr std::size_t kMaxText = 255;

// As MTLSize: returned in memory by every ABI.
struct Size {
  std::uint64_t width;
  std::uint64_t height;
  std::uint64_t depth;
};

}  // namespace

bool responds(id object, const char* selector) {
  return send<Boolean>(object, sel_registerName("respondsToSelector:"), sel_registerName(selector));
}

std::string_view text_of(id object, const char* selector) {
  if (object == nullptr || !responds(object, selector)) return {};
  const id text = send<id>(object, sel_registerName(selector));
  if (text == nullptr || !responds(text, "UTF8String")) return {};
  const auto* bytes = send<const char*>(text, sel_registerName("UTF8String"));
  return bytes == nullptr ? std::string_view() : std::string_view(bytes, strnlen(bytes, kMaxText));
}

bool supports_family(id device, std::uint64_t family) {
  return responds(device, "supportsFamily:") && send<Boolean>(device, sel_registerName("supportsFamily:"), family);
}

Fact ask_number(id device, const char* selector) {
  if (!responds(device, selector)) return {};
  return {true, send<std::uint64_t>(device, sel_registerName(selector))};
}

Fact ask_flag(id device, const char* selector) {
  if (!responds(device, selector)) return {};
  return {true, send<Boolean>(device, sel_registerName(selector)) ? 1U : 0U};
}

std::array<std::uint64_t, 3> max_threads_per_threadgroup(id device) {
  if (!responds(device, "maxThreadsPerThreadgroup")) return {};
  const Size size = send<Size>(device, sel_registerName("maxThreadsPerThreadgroup"));
  return {size.width, size.height, size.depth};
}

}  // namespace capbench::shim::metal
