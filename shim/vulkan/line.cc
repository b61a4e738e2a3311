#include "shim/vulkan/line.h"

#include <unistd.h>

#include <array>

#include "shim/common/banner.h"
#include "shim/common/text.h"

namespace capbench::shim::vulkan {
namespace {

using Text = std::array<char, 12>;  // room for any 32-bit number

std::string_view text_of(Text& buffer, Capability capability, std::int64_t value) {
  if (toggle_of(capability).kind == ValueKind::kSwitch) return value != 0 ? "on" : "off";
  TextBuilder out(buffer.data(), buffer.size());
  out.append_number(value);
  return out.view();
}

}  // namespace

void print_line(const Line& line) {
  std::array<CapabilityReport, kCapabilityCount> capabilities{};
  std::array<std::array<Text, 4>, kCapabilityCount> texts{};
  std::size_t count = 0;
  for (std::size_t i = 0; line.device != nullptr && i < kCapabilityCount; ++i) {
    const auto capability = static_cast<Capability>(i);
    if (line.touched != 0 && (line.touched & bit_of(capability)) == 0) continue;
    std::array<Text, 4>& text = texts[count];
    CapabilityReport& out = capabilities[count++];
    out.name = kCapabilityNames[i];
    out.device = text_of(text[0], capability, line.device->value(capability));
    out.reported = text_of(text[1], capability, line.told->value(capability));
    if (line.guest) out.guest = text_of(text[2], capability, line.of_guest->value(capability));
    const Setting* const setting = line.set == nullptr ? nullptr : line.set->find(out.name);
    if (setting != nullptr) out.set = text_of(text[3], capability, setting->value);
  }
  BannerReport report;
  report.domain = Domain::kVulkan;
  report.pid = getpid();
  report.guest = line.guest;
  report.shim = line.shim;
  report.capabilities = capabilities.data();
  report.n_capabilities = count;
  report.note = line.note;
  report.error = line.error;
  std::array<char, kMaxBannerBytes> bytes{};
  write_line(STDERR_FILENO, {bytes.data(), format_banner(report, bytes.data())});
}

}  // namespace capbench::shim::vulkan
