#include "shim/metal/facts.h"

#include "shim/common/text.h"

namespace capbench::shim::metal {
namespace {

constexpr std::uint64_t kMaxShown = INT64_MAX;

struct AskByMessage {
  id device;

  bool has(std::size_t method) const {
    return class_getInstanceMethod(object_getClass(device), selector_of(method)) != nullptr;
  }
  bool family(std::uint64_t number) const { return send<Boolean>(device, selector_of(kFamilyMethod), number); }
  std::uint64_t number(std::size_t method) const { return send<std::uint64_t>(device, selector_of(method)); }
  bool flag(std::size_t method) const { return send<Boolean>(device, selector_of(method)); }
};

}  // namespace

Facts read_reported(id device) {
  return gather(AskByMessage{device});
}

std::string_view write_value(Form form, std::uint64_t value, std::array<char, 20>& room) {
  if (form == Form::kSwitch) return value != 0 ? "on" : "off";
  if (form == Form::kFamily && value == 0) return "none";
  TextBuilder out(room.data(), room.size());
  out.append_number(static_cast<std::int64_t>(value < kMaxShown ? value : kMaxShown));
  return out.view();
}

}  // namespace capbench::shim::metal
