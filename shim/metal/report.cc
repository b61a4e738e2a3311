#include "shim/metal/report.h"

#include <array>

#include "shim/common/banner.h"
#include "shim/common/text.h"

namespace capbench::shim::metal {
namespace {

// Texts of one capability's fields.
struct FieldTexts {
  std::array<char, 20> device{};
  std::array<char, 20> guest{};
  std::array<char, 20> set{};
  std::array<char, 20> reported{};
};

CapabilityReport report_one(const Report& report, std::size_t i, FieldTexts& texts) {
  const CapabilityInfo& info = kCapabilities[i];
  const auto capability = static_cast<Capability>(i);
  const Fact& device = (*report.device)[i];
  const Fact& reported = (*report.reported)[i];
  const Level& guest = report.policy->guest[i];
  const Level& set = report.policy->set[i];
  CapabilityReport fields;
  fields.name = info.toggle;
  if (set.given) fields.set = write_value(info.form, set.value, texts.set);
  if (!device.known) return fields;
  fields.device = write_value(info.form, device.value, texts.device);
  if (guest.given) {
    fields.guest = write_value(info.form, answer_value(report.policy->guest, capability, device.value), texts.guest);
  }
  fields.reported = write_value(info.form, reported.value, texts.reported);
  return fields;
}

bool is_unanswered(const Report& report, std::size_t i) {
  return !(*report.device)[i].known && names(*report.policy, static_cast<Capability>(i));
}

void write_note(const Report& report, TextBuilder& out) {
  if (report.from_lume) out.append("the settings are LUME_METAL_ variables, which only raise");
  if (report.device == nullptr) return;
  bool first = true;
  for (std::size_t i = 0; i < kCapabilityCount; ++i) {
    if (!is_unanswered(report, i)) continue;
    if (first && !out.view().empty()) out.append("; ");
    out.append(first ? "this device has no answer to change for " : ", ");
    out.append(kCapabilities[i].toggle);
    first = false;
  }
}

}  // namespace

std::size_t format_report(const Report& report, char* out) {
  std::array<CapabilityReport, kCapabilityCount> capabilities{};
  std::array<FieldTexts, kCapabilityCount> texts{};
  std::array<char, 512> note{};
  TextBuilder note_builder(note.data(), note.size());
  write_note(report, note_builder);
  BannerReport banner;
  banner.domain = Domain::kMetal;
  banner.pid = report.pid;
  banner.guest = names_any(report.policy->guest);
  banner.shim = names_any(report.policy->set);
  banner.capabilities = capabilities.data();
  if (report.device != nullptr && report.reported != nullptr) {
    for (std::size_t i = 0; i < kCapabilityCount; ++i) {
      const bool known = (*report.device)[i].known;
      if (!known && !is_unanswered(report, i)) continue;
      capabilities[banner.n_capabilities] = report_one(report, i, texts[i]);
      ++banner.n_capabilities;
    }
  }
  banner.note = note_builder.view();
  banner.error = report.error;
  return format_banner(banner, out);
}

}  // namespace capbench::shim::metal
