#include "harness/observe/hygiene.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "harness/observe/hygiene_flags.h"
#include "harness/observe/hygiene_gate.h"
#include "harness/observe/recordings.h"

namespace capbench::observe {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Hygiene of(std::string_view machine) {
  return hygiene_from(recording(machine));
}

TEST(Hygiene, OfAnIdleMacWithAVirtualMachine) {
  const Hygiene hygiene = of("m1-ultra-host");
  EXPECT_EQ(hygiene.load, 1.52);
  EXPECT_EQ(hygiene.vms, (std::map<std::string, std::int64_t>{{"com.apple.Virtualization.VirtualMachine", 1}}));
  ASSERT_EQ(hygiene.gpus.size(), 1U);
  EXPECT_EQ(hygiene.gpus[0].use_percent, 3);
  EXPECT_EQ(hygiene.gpus[0].memory_used_bytes, 1837498368);
  EXPECT_EQ(hygiene.thermal_pressure, "nominal");
  EXPECT_EQ(hygiene.cpu_speed_limit_percent, std::nullopt);
  EXPECT_EQ(hygiene.power_source, "ac");
  EXPECT_EQ(hygiene.battery_percent, std::nullopt);
  EXPECT_EQ(hygiene.low_power_mode, false);
  EXPECT_EQ(hygiene.memory_pressure, "normal");
  EXPECT_EQ(hygiene.memory_free_percent, 92);
  EXPECT_EQ(hygiene.swap_used_bytes, 0);
  EXPECT_EQ(hygiene.swapped_out_bytes, 0);
}

TEST(Hygiene, OfAHotLaptopOnItsBattery) {
  const Hygiene hygiene = of("m3-laptop-battery");
  EXPECT_EQ(hygiene.power_source, "battery");
  EXPECT_EQ(hygiene.battery_percent, 41);
  EXPECT_EQ(hygiene.low_power_mode, true);
  EXPECT_EQ(hygiene.thermal_pressure, "moderate");
  EXPECT_EQ(hygiene.cpu_speed_limit_percent, 78);
  EXPECT_EQ(hygiene.memory_pressure, "warning");
  EXPECT_EQ(hygiene.swap_used_bytes, 3271819264);  // 3120.25 MiB
  EXPECT_EQ(hygiene.swapped_out_bytes, std::int64_t{812345} * 16384);
  EXPECT_EQ(hygiene.compressed_bytes, std::int64_t{402118} * 16384);
  EXPECT_EQ(hygiene.vms, (std::map<std::string, std::int64_t>{{"prl_vm_app", 1}, {"qemu-system", 1}}));
}

TEST(Hygiene, LowPowerModeHasTwoNames) {
  SourceTexts texts = recording("m3-laptop-battery");
  texts["pmset"].text = " powermode            2\n";
  EXPECT_EQ(hygiene_from(texts).low_power_mode, false);
  texts["pmset"].text = " powermode            1\n";
  EXPECT_EQ(hygiene_from(texts).low_power_mode, true);
  texts["pmset"].text = " sleep                1\n";
  EXPECT_EQ(hygiene_from(texts).low_power_mode, std::nullopt);
}

TEST(Hygiene, OfAGuest) {
  const Hygiene hygiene = of("virtualmac-guest");
  ASSERT_EQ(hygiene.gpus.size(), 1U);
  EXPECT_EQ(hygiene.gpus[0].use_percent, std::nullopt);
  EXPECT_EQ(hygiene.gpus[0].memory_used_bytes, 23166976);
  EXPECT_TRUE(hygiene.processes_known);
  EXPECT_THAT(hygiene.vms, IsEmpty());
}

TEST(Hygiene, OfAServersGpu) {
  const Hygiene hygiene = of("epyc-kvm-h200");
  ASSERT_EQ(hygiene.gpus.size(), 1U);
  EXPECT_EQ(hygiene.gpus[0], (GpuState{0, 0.0, 0, 35.0, 90.06, 360.0, {}}));
  EXPECT_EQ(hygiene.gpu_processes, 0);
  EXPECT_EQ(hygiene.runnable, 1);
  EXPECT_EQ(hygiene.cpu_busy_ticks, 63 + 501 + 15);
  EXPECT_EQ(hygiene.cpu_total_ticks, 63 + 501 + 41484 + 91 + 15);
  EXPECT_EQ(hygiene.power_source, "");
  EXPECT_NEAR(*hygiene.memory_free_percent, 95.8, 0.1);
}

TEST(Hygiene, OfADesktop) {
  const Hygiene hygiene = of("amd-desktop");
  ASSERT_EQ(hygiene.gpus.size(), 1U);
  EXPECT_EQ(hygiene.gpus[0], (GpuState{1, 12.0, 1913389056, 54.0, 43.0, 1250.0, {}}));
  EXPECT_EQ(hygiene.vms, (std::map<std::string, std::int64_t>{{"qemu-system", 2}}));
  EXPECT_EQ(hygiene.temperature_c, 91.25) << "the disk's sensor is hotter and says nothing of the CPU";
  EXPECT_EQ(hygiene.power_source, "") << "a mouse's battery is not the machine's";
  EXPECT_EQ(hygiene.low_power_mode, false);
  EXPECT_NEAR(*hygiene.cpu_clock_mhz, 5412.338, 1e-9);
  EXPECT_EQ(hygiene.swapped_out_bytes, 65536 * 4096);
  EXPECT_EQ(hygiene.memory_stall_percent, 0.11);
}

TEST(Hygiene, TakesTheDriversWaysToSayNothing) {
  const Hygiene hygiene = of("wsl2");
  ASSERT_EQ(hygiene.gpus.size(), 1U);
  EXPECT_EQ(hygiene.gpus[0], (GpuState{0, 14.0, std::int64_t{1310} << 20, 51.0, std::nullopt, 210.0, {}}));
  EXPECT_EQ(hygiene.gpu_processes, 1);
  EXPECT_EQ(hygiene.power_source, "ac");
  EXPECT_EQ(hygiene.battery_percent, 100);
}

TEST(Hygiene, NamesTheReasonsForLowerClocks) {
  EXPECT_THAT(nvidia_throttle_reasons(0x1), IsEmpty());
  EXPECT_THAT(nvidia_throttle_reasons(0x2), IsEmpty());
  EXPECT_THAT(nvidia_throttle_reasons(0x4 | 0x20), ElementsAre("power cap", "thermal"));
  EXPECT_EQ(nvidia_throttle_reasons(~std::uint64_t{0}).size(), 6U);
}

TEST(Hygiene, OfThisMachine) {
  const Hygiene hygiene = collect_hygiene();
  ASSERT_TRUE(hygiene.load);
  EXPECT_GE(*hygiene.load, 0);
  EXPECT_TRUE(hygiene.processes_known);
  ASSERT_TRUE(hygiene.memory_free_percent);
  EXPECT_GT(*hygiene.memory_free_percent, 0);
  EXPECT_LE(*hygiene.memory_free_percent, 100);
}

TEST(HygieneJson, HoldsEverything) {
  for (const std::string_view machine : kRecordedMachines) {
    const Hygiene hygiene = of(machine);
    const auto again = hygiene_from_json(json::parse(to_json(hygiene).dump()));
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*again, hygiene) << machine;
  }
  EXPECT_EQ(to_json(Hygiene{}), json::object());
}

TEST(HygieneJson, RefusesWhatIsNone) {
  const json whole = to_json(of("wsl2"));
  for (const auto& [name, value] : whole.items()) {
    for (const json& bad :
         {json(nullptr), json(json::object({{"a", "b"}})), json::array({1}), json(18446744073709551615U)}) {
      json changed = whole;
      changed[name] = bad;
      if (value.is_number_float() && bad.is_number()) continue;
      const auto read = hygiene_from_json(changed);
      EXPECT_FALSE(read.ok()) << name << " " << bad;
      EXPECT_THAT(read.ok() ? name : read.error().cause, HasSubstr(name));
    }
  }
  for (const char* bad : {"[]", "3", "null", R"({"gpus":[{"throttle_reasons":[1]}]})", R"({"gpus":[{"index":"0"}]})"}) {
    EXPECT_FALSE(hygiene_from_json(json::parse(bad)).ok()) << bad;
  }
  EXPECT_TRUE(hygiene_from_json(json::parse(R"({"from_the_future":[1]})")).ok());
}

TEST(Growth, IsTheDifference) {
  Hygiene before = of("amd-desktop");
  Hygiene after = before;
  *after.swapped_out_bytes += 4096;
  *after.memory_free_percent -= 2.5;
  *after.cpu_busy_ticks += 50;
  *after.cpu_total_ticks += 200;
  *after.gpus[0].memory_used_bytes -= 100;
  const Growth grown = growth(before, after);
  EXPECT_EQ(grown.swapped_out_bytes, 4096);
  EXPECT_EQ(grown.swap_used_bytes, 0);
  EXPECT_EQ(grown.compressed_bytes, std::nullopt);
  EXPECT_EQ(grown.memory_free_percent, -2.5);
  EXPECT_EQ(grown.cpu_busy_percent, 25);
  EXPECT_EQ(grown.gpu_memory_used_bytes, -100);
  EXPECT_EQ(to_json(grown)["cpu_busy_percent"], 25.0);
  EXPECT_EQ(growth(Hygiene{}, after), Growth{});
  // Counters that ran backwards (a restart in between) tell nothing.
  EXPECT_EQ(growth(after, before).cpu_busy_percent, std::nullopt);
}

std::vector<std::string> names_of(const std::vector<HygieneFinding>& findings) {
  std::vector<std::string> names;
  for (const HygieneFinding& finding : findings) {
    names.push_back(finding.name + (finding.known ? "" : "?"));
    EXPECT_NE(finding.why, "");
    EXPECT_NE(finding.remedy, "");
    EXPECT_NE(finding.value, "");
    EXPECT_NE(finding.limit, "");
  }
  return names;
}

HygieneLimits strict() {
  HygieneLimits limits;
  limits.max_load = 1;
  limits.max_gpu_use_percent = 10;
  limits.min_memory_free_percent = 50;
  limits.max_temperature_c = 60;
  limits.require_ac = true;
  limits.vms_stopped = true;
  return limits;
}

TEST(Gate, AsksForNothingByDefault) {
  for (const std::string_view machine : kRecordedMachines) EXPECT_THAT(evaluate({}, of(machine)), IsEmpty());
}

TEST(Gate, FindsWhatSpeaksAgainstATrial) {
  EXPECT_THAT(names_of(evaluate(strict(), of("m1-ultra-host"))), ElementsAre("max_load", "vms"));
  EXPECT_THAT(names_of(evaluate(strict(), of("m3-laptop-battery"))),
              ElementsAre("max_load", "max_gpu_use_percent", "min_memory_free_percent", "max_temperature_c",
                          "require_ac", "require_ac", "vms", "vms"));
  EXPECT_THAT(names_of(evaluate(strict(), of("epyc-kvm-h200"))), IsEmpty());
  EXPECT_THAT(names_of(evaluate(strict(), of("amd-desktop"))),
              ElementsAre("max_load", "max_gpu_use_percent", "max_temperature_c", "vms"));
}

TEST(Gate, SaysWhatItCannotTell) {
  EXPECT_THAT(
      names_of(evaluate(strict(), Hygiene{})),
      ElementsAre("max_load?", "max_gpu_use_percent?", "min_memory_free_percent?", "max_temperature_c?", "vms?"));
  EXPECT_THAT(names_of(evaluate(strict(), of("virtualmac-guest"))), ElementsAre("max_gpu_use_percent?"));
}

TEST(Gate, LimitsAreInclusive) {
  Hygiene hygiene;
  hygiene.load = 1;
  hygiene.memory_free_percent = 50;
  hygiene.temperature_c = 60;
  hygiene.gpus.push_back({0, 10.0, {}, 60.0, {}, {}, {}});
  hygiene.processes_known = true;
  EXPECT_THAT(evaluate(strict(), hygiene), IsEmpty());
  hygiene.load = 1.01;
  hygiene.gpus[0].temperature_c = 60.5;
  const auto findings = evaluate(strict(), hygiene);
  EXPECT_THAT(names_of(findings), ElementsAre("max_load", "max_temperature_c"));
  EXPECT_EQ(findings[0].value, "1.01");
  EXPECT_EQ(findings[0].limit, "1");
  EXPECT_EQ(findings[0].why, "the 1-minute load average is 1.01, more than 1");
}

TEST(Gate, OnlyTheNamedGpusCount) {
  Hygiene hygiene;
  hygiene.gpus = {{0, 1.0, {}, 40.0, {}, {}, {}}, {5, 97.0, {}, 80.0, {}, {}, {}}};
  hygiene.gpu_processes = 3;
  HygieneLimits limits;
  limits.max_gpu_use_percent = 10;
  EXPECT_THAT(names_of(evaluate(limits, hygiene)), ElementsAre("max_gpu_use_percent"));
  limits.gpus = {0};
  EXPECT_THAT(evaluate(limits, hygiene), IsEmpty());
  limits.gpus = {5};
  EXPECT_THAT(names_of(evaluate(limits, hygiene)), ElementsAre("max_gpu_use_percent"));
}

std::vector<std::string> flags_of(const Hygiene& before, const Hygiene& after, std::int64_t cpus = 8) {
  std::vector<std::string> names;
  for (const HygieneFlag& flag : flag_hygiene(before, after, cpus)) {
    names.push_back(flag.name);
    EXPECT_NE(flag.why, "");
  }
  return names;
}

TEST(HygieneFlags, OfRecordedMachines) {
  EXPECT_THAT(flags_of(of("epyc-kvm-h200"), of("epyc-kvm-h200"), 16), IsEmpty());
  EXPECT_THAT(flags_of(of("virtualmac-guest"), of("virtualmac-guest")), IsEmpty());
  EXPECT_THAT(flags_of(of("m1-ultra-host"), of("m1-ultra-host"), 20), IsEmpty());
  EXPECT_THAT(flags_of(of("m3-laptop-battery"), of("m3-laptop-battery"), 12),
              ElementsAre("load", "gpu busy", "on battery", "low power mode", "thermal", "throttled"));
  EXPECT_THAT(flags_of(of("amd-desktop"), of("amd-desktop"), 32), ElementsAre("load", "gpu busy", "thermal"));
  EXPECT_THAT(flags_of(Hygiene{}, Hygiene{}, 0), IsEmpty());
}

TEST(HygieneFlags, EachRuleByItself) {
  const Hygiene quiet = of("epyc-kvm-h200");
  const auto after = [&](const auto& change) {
    Hygiene hygiene = quiet;
    change(hygiene);
    return flags_of(quiet, hygiene);
  };
  const auto before = [&](const auto& change) {
    Hygiene hygiene = quiet;
    change(hygiene);
    return flags_of(hygiene, quiet);
  };
  EXPECT_THAT(after([](Hygiene& h) { *h.swapped_out_bytes += (1 << 20) - 1; }), IsEmpty());
  EXPECT_THAT(after([](Hygiene& h) { *h.swapped_out_bytes += 1 << 20; }), ElementsAre("swapped"));
  EXPECT_THAT(after([](Hygiene& h) { *h.swap_used_bytes += 1 << 20; }), ElementsAre("swapped"));
  EXPECT_THAT(after([](Hygiene& h) { *h.memory_free_percent -= 5; }), IsEmpty());
  EXPECT_THAT(after([](Hygiene& h) { *h.memory_free_percent -= 5.1; }), ElementsAre("memory grew"));
  EXPECT_THAT(after([](Hygiene& h) { h.load = 100; }), IsEmpty()) << "the trial's own load";
  EXPECT_THAT(after([](Hygiene& h) { h.gpus[0].use_percent = 99; }), IsEmpty()) << "the trial's own use";
  EXPECT_THAT(after([](Hygiene& h) { h.gpus[0].throttle_reasons = {"power cap"}; }), IsEmpty());
  EXPECT_THAT(before([](Hygiene& h) { h.gpus[0].throttle_reasons = {"power cap"}; }), ElementsAre("throttled"));
  EXPECT_THAT(after([](Hygiene& h) {
                h.gpus[0].throttle_reasons = {"power cap", "thermal"};
              }),
              ElementsAre("throttled"));
  EXPECT_THAT(after([](Hygiene& h) { h.gpus[0].temperature_c = 90; }), ElementsAre("thermal"));
  EXPECT_THAT(after([](Hygiene& h) { h.power_source = "battery"; }), ElementsAre("on battery"));
  EXPECT_THAT(after([](Hygiene& h) { h.low_power_mode = true; }), ElementsAre("low power mode"));
  EXPECT_THAT(before([](Hygiene& h) { h.load = 1; }), IsEmpty());
  EXPECT_THAT(before([](Hygiene& h) { h.load = 1.1; }), ElementsAre("load"));
  EXPECT_THAT(before([](Hygiene& h) { h.gpu_processes = 1; }), ElementsAre("gpu busy"));
  Hygiene counting = quiet;
  counting.cpu_throttle_events = 3;
  Hygiene more = counting;
  EXPECT_THAT(flags_of(counting, more), IsEmpty());
  more.cpu_throttle_events = 4;
  EXPECT_THAT(flags_of(counting, more), ElementsAre("throttled"));
  counting.compressed_bytes = 0;
  more = counting;
  more.compressed_bytes = 256 << 20;
  EXPECT_THAT(flags_of(counting, more), ElementsAre("memory grew"));
}

}  // namespace
}  // namespace capbench::observe
