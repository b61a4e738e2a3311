#include "harness/observe/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <random>

#include "harness/observe/environment.h"
#include "harness/observe/hygiene.h"
#include "harness/observe/recordings.h"

namespace capbench::observe {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

json facts_of(const SourceTexts& texts) {
  return json::parse(environment_from(texts).json);
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

TEST(Facts, AreTheGoldenOnesOfEveryRecordedMachine) {
  for (const std::string_view machine : kRecordedMachines) {
    const json facts = facts_of(recording(machine));
    const std::string name = std::string(machine) + ".facts.json";
    const json golden = json::parse(recorded_file(name), nullptr, false);
    EXPECT_EQ(facts, golden) << name << " should be:\n" << facts.dump(2);
  }
}

TEST(Facts, LabelTheMachineForPeople) {
  EXPECT_EQ(environment_from(recording("m1-ultra-host")).machine_label, "Apple M1 Ultra, 20 cores, 128 GiB");
  EXPECT_EQ(environment_from(recording("virtualmac-guest")).machine_label, "Apple M1 Ultra (Virtual), 8 cores, 16 GiB");
  EXPECT_EQ(environment_from(recording("amd-desktop")).machine_label,
            "AMD Ryzen 9 7950X 16-Core Processor, 32 cores, 62 GiB");
}

TEST(Facts, TellGuestsFromHosts) {
  const std::map<std::string_view, std::string> hypervisors{{"m1-ultra-host", ""},
                                                            {"virtualmac-guest", "Apple Virtualization"},
                                                            {"m3-laptop-battery", ""},
                                                            {"epyc-kvm-h200", "KVM"},
                                                            {"amd-desktop", ""},
                                                            {"wsl2", "Hyper-V"},
                                                            {"llvmpipe-container", "Google Compute Engine"}};
  for (const auto& [machine, hypervisor] : hypervisors) {
    const schema::EnvironmentRecord environment = environment_from(recording(machine));
    EXPECT_EQ(virtualization(environment), hypervisor) << machine;
    EXPECT_EQ(environment.is_virtual, !hypervisor.empty()) << machine;
  }
}

TEST(Facts, ASoftwareDriverIsNoGpu) {
  const json facts = facts_of(recording("llvmpipe-container"));
  EXPECT_FALSE(facts.contains("gpus"));
  EXPECT_EQ(facts["vulkan_devices"][0]["software"], true);
  EXPECT_EQ(facts_of(recording("amd-desktop"))["gpus"].size(), 1U);
}

TEST(Facts, HygieneIsNoPartOfThem) {
  for (const std::string_view machine : kRecordedMachines) {
    SourceTexts texts = recording(machine);
    const std::string id = environment_from(texts).id;
    for (const Source& source : sources(Purpose::kHygiene)) {
      const auto shared = [&](const Source& other) { return other.name == source.name; };
      const auto environment = sources(Purpose::kEnvironment);
      if (std::none_of(environment.begin(), environment.end(), shared)) texts.erase(source.name);
    }
    // The same machine a minute later.
    if (const auto it = texts.find("meminfo"); it != texts.end()) it->second.text += "MemAvailable: 1 kB\n";
    if (const auto it = texts.find("cpuinfo"); it != texts.end()) {
      for (std::size_t at = 0; (at = it->second.text.find("cpu MHz\t\t: ", at)) != std::string::npos; at += 12) {
        it->second.text[at + 11] = '9';
      }
    }
    EXPECT_EQ(environment_from(texts).id, id) << machine;
  }
}

// What the recordings hold and nobody may read in the facts.
TEST(Facts, HoldNothingPersonal) {
  std::map<std::string_view, std::vector<std::string>> secrets{
      {"m1-ultra-host", {"FAKED1SPLAY", "00006000-000FAKE00FAKE"}},
      {"m3-laptop-battery", {"22151267"}},
      {"amd-desktop",
       {"192.168.1.77", "lake-otter", "fe80::1c2d:3eff:fe4a:5b6c", "aa:bb:cc:dd:ee:ff",
        "00000000-0300-0000-0000-000000000000"}},
      {"wsl2", {"5a3b1c2d-0000-1111-2222-333344445555"}}};
  for (const std::string_view machine : kRecordedMachines) {
    const SourceTexts texts = recording(machine);
    const PersonalDetails details = personal_details(texts);
    std::vector<std::string> hidden = secrets[machine];
    for (const auto* list : {&details.users, &details.homes, &details.hosts, &details.secrets}) {
      hidden.insert(hidden.end(), list->begin(), list->end());
    }
    EXPECT_GE(hidden.size(), 3U) << machine;
    const schema::EnvironmentRecord environment = environment_from(texts);
    const std::string published = lower(environment.json + environment.machine_label);
    const std::string given = lower(recorded_file(std::string(machine) + ".txt"));
    for (const std::string& word : hidden) {
      ASSERT_THAT(given, HasSubstr(lower(word))) << machine;
      const std::string last = word.substr(word.rfind('/') + 1);
      if (!is_common_name(last)) {
        EXPECT_THAT(published, Not(HasSubstr(lower(word)))) << machine;
      }
    }
    EXPECT_TRUE(redact(environment.json, {}, Addresses::kKeep).replaced.empty()) << machine;
    const Hygiene hygiene = hygiene_from(texts);
    EXPECT_TRUE(redact(to_json(hygiene).dump(), details).replaced.empty()) << machine;
  }
}

TEST(Facts, TheMachinesOwnIdNamesItAndCannotBeRead) {
  SourceTexts texts = recording("epyc-kvm-h200");
  const schema::EnvironmentRecord environment = environment_from(texts);
  EXPECT_EQ(environment.machine_id.size(), 16U);
  EXPECT_THAT(environment.json, Not(HasSubstr("0123456789abcdef")));
  texts["machine_id"].text = "another\n";
  EXPECT_NE(environment_from(texts).machine_id, environment.machine_id);
  SourceTexts mac = recording("m1-ultra-host");
  const std::string id = environment_from(mac).machine_id;
  mac["cpuinfo"].text = "x";
  EXPECT_EQ(environment_from(mac).machine_id, id);
  mac.erase("platform");
  EXPECT_NE(environment_from(mac).machine_id, id);
}

TEST(Facts, OneFactAtATime) {
  const auto with = [](std::string_view machine, const std::string& name, SourceText text) {
    SourceTexts texts = recording(machine);
    texts[name] = std::move(text);
    return facts_of(texts);
  };
  EXPECT_EQ(with("m1-ultra-host", "host_preference", {"0\n", 0})["host_preference"], "off");
  EXPECT_EQ(with("m1-ultra-host", "host_preference", {"", 1})["host_preference"], "unset");
  EXPECT_FALSE(with("m1-ultra-host", "host_preference", {"", 127}).contains("host_preference"));
  // Without a display nothing is listed, and the registry still knows the GPU.
  const json headless = with("m1-ultra-host", "system_profiler", {"{\"SPDisplaysDataType\" : []}", 0});
  EXPECT_EQ(headless["gpus"], json::parse(R"([{"name":"Apple M1 Ultra","cores":48}])"));
  EXPECT_EQ(with("amd-desktop", "detect_virt", {"qemu\n", 0})["hypervisor"], "QEMU (emulated)");
  EXPECT_EQ(with("amd-desktop", "detect_container", {"podman\n", 0})["container"], "podman");
  EXPECT_EQ(facts_of(recording("wsl2"))["kernel"], "5.15.167.4-microsoft-standard-WSL2") << "no address";
  EXPECT_EQ(facts_of(recording("m3-laptop-battery"))["frontends"]["anka"], "3.7.0.208");
  // A host may be called like its hardware.
  EXPECT_EQ(with("amd-desktop", "personal", {"user=amd\nhome=/home/ryzen\nhost=AMD\n", 0})["cpu"],
            "AMD Ryzen 9 7950X 16-Core Processor");
  EXPECT_EQ(with("amd-desktop", "uname", {"Linux 6.1.0 aarch64\n", 0})["arch"], "aarch64");
  const json fallback = with("epyc-kvm-h200", "nvidia.gpus", {"No devices were found\n", 6});
  EXPECT_FALSE(fallback.contains("gpus"));
  EXPECT_EQ(fallback["nvidia_driver"], "580.159.04");
  const json without = with("epyc-kvm-h200", "nvidia.version", {"", 127});
  EXPECT_EQ(without["nvidia_driver"], "580.159.04");
}

TEST(Facts, AnEmptyMachineHasNone) {
  const schema::EnvironmentRecord environment = environment_from({});
  EXPECT_FALSE(environment.is_virtual);
  EXPECT_EQ(environment.machine_label, "unknown CPU");
  EXPECT_FALSE(environment.id.empty());
}

TEST(FactsHostile, EverySourceCutAtEveryByte) {
  for (const std::string_view machine : kRecordedMachines) {
    const SourceTexts whole = recording(machine);
    for (const auto& [name, source] : whole) {
      SourceTexts texts{{"uname", whole.at("uname")}};
      if (whole.contains("vm_stat")) texts["vm_stat"];
      for (std::size_t length = 0; length <= source.text.size(); ++length) {
        texts[name] = {source.text.substr(0, length), source.status};
        facts_from(texts);
        hygiene_from(texts);
      }
    }
  }
}

// Whatever the texts say, the record is valid JSON that its own id names, and the hygiene survives its JSON.
void expect_sound(const SourceTexts& texts) {
  const schema::EnvironmentRecord environment = environment_from(texts);
  ASSERT_FALSE(json::parse(environment.json, nullptr, false).is_discarded());
  const Hygiene hygiene = hygiene_from(texts);
  const auto again = hygiene_from_json(to_json(hygiene));
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_EQ(*again, hygiene);
}

TEST(FactsHostile, FlippedBitsAndBytesThatAreNoUtf8) {
  std::mt19937 random(11);  // NOLINT: the same bytes every time
  for (const std::string_view machine : kRecordedMachines) {
    const SourceTexts whole = recording(machine);
    for (int i = 0; i < 150; ++i) {
      SourceTexts texts = whole;
      for (auto& [name, source] : texts) {
        if (source.text.empty() || random() % 4 == 0) continue;
        const std::size_t at = random() % source.text.size();
        if (i % 2 == 0) {
          source.text[at] = static_cast<char>(source.text[at] ^ (1 << (random() % 8)));
        } else {
          source.text.insert(at, "\xff\xfe\x00\xc3", 4);
        }
      }
      expect_sound(texts);
    }
  }
}

TEST(FactsHostile, NumbersOutOfAllBounds) {
  for (const std::string_view machine : kRecordedMachines) {
    for (const char* number :
         {"99999999999999999999999", "-1", "1e308", "0", "18446744073709551615", "9223372036854775807", ""}) {
      SourceTexts texts = recording(machine);
      for (auto& [name, source] : texts) {
        if (name == "uname") continue;
        std::string changed;
        bool inside = false;
        for (const char c : source.text) {
          const bool digit = c >= '0' && c <= '9';
          if (!digit) changed += c;
          if (digit && !inside) changed += number;
          inside = digit;
        }
        source.text = std::move(changed);
      }
      expect_sound(texts);
    }
  }
}

TEST(FactsHostile, DeepJson) {
  SourceTexts texts = recording("amd-desktop");
  std::string deep = "{\"lscpu\":[";
  for (int i = 0; i < 20000; ++i) deep += "{\"field\":\"a\",\"children\":[";
  texts["lscpu"] = {deep, 0};
  expect_sound(texts);
  for (int i = 0; i < 20000; ++i) deep += "]}";
  texts["lscpu"] = {deep + "]}", 0};
  expect_sound(texts);
  texts["lscpu"] = {
      "{\"lscpu\":[1,{\"field\":3,\"data\":[]},{\"field\":\"Model name:\",\"data\":null,\"children\":7}]}", 0};
  expect_sound(texts);
  SourceTexts mac = recording("m1-ultra-host");
  mac["system_profiler"] = {
      "{\"SPDisplaysDataType\":[1,{\"sppci_model\":3},{\"sppci_model\":\"x\",\"sppci_cores\":48}]}", 0};
  EXPECT_EQ(facts_of(mac)["gpus"], json::parse(R"([{"name":"x"}])"));
}

}  // namespace
}  // namespace capbench::observe
