// Recorded output of the facts script on several machines, for tests.
#ifndef CAPBENCH_HARNESS_OBSERVE_RECORDINGS_H_
#define CAPBENCH_HARNESS_OBSERVE_RECORDINGS_H_

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "base/file.h"
#include "harness/observe/sources.h"

namespace capbench::observe {

inline constexpr std::array<std::string_view, 7> kRecordedMachines{
    "m1-ultra-host", "virtualmac-guest",  "m3-laptop-battery", "epyc-kvm-h200", "amd-desktop",
    "wsl2",          "llvmpipe-container"};

inline std::string recorded_file(std::string_view name) {
  auto text = read_file("harness/observe/testdata/" + std::string(name));
  EXPECT_TRUE(text.ok()) << (text.ok() ? "" : to_string(text.error()));
  return text.ok() ? *text : "";
}

inline SourceTexts recording(std::string_view machine) {
  auto texts = parse_facts_output(recorded_file(std::string(machine) + ".txt"), "recorded");
  EXPECT_TRUE(texts.ok()) << machine;
  return texts.ok() ? *texts : SourceTexts{};
}

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_RECORDINGS_H_
