// The library itself, preloaded into real processes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "shim/common/evidence.h"
#include "shim/common/testing/run.h"
#include "shim/cpu/detect.h"
#include "shim/cpu/execute.h"
#include "shim/cpu/levels.h"

namespace capbench::shim::cpu {
namespace {

using Environment = std::map<std::string, std::string>;

const std::string kShim = runfile("shim/cpu/libcapshim_cpu.so");
const std::string kMaskedShim = runfile("shim/cpu/testing/libcapshim_cpu_masked.so");
const std::string kHost = runfile("shim/cpu/testing/fake_host");
const std::string kFolder = runfile("shim/cpu/testing");
const std::string kFutureFolder = runfile("shim/cpu/testing/future");

// What one run of the fake host showed.
struct Seen {
  int status = -1;
  std::string variant;  // whose library was loaded
  Banner banner;
  std::size_t n_banners = 0;
  std::string err;

  const BannerCapability& isa() const { return banner.capabilities.at("cpu.isa"); }
};

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

Seen load(Environment environment, const std::string& shim = kShim,
          const std::vector<std::string>& folders = {kFolder}) {
  environment["LD_PRELOAD"] = shim;
  std::vector<std::string> argv = {kHost, "load"};
  argv.insert(argv.end(), folders.begin(), folders.end());
  const Outcome outcome = run(argv, environment);
  Seen seen;
  seen.status = outcome.status;
  seen.err = outcome.err;
  const BannerScan scan = scan_banners(outcome.err);
  EXPECT_TRUE(scan.malformed.empty()) << outcome.err;
  seen.n_banners = scan.banners.size();
  EXPECT_EQ(seen.n_banners, 1U) << outcome.err;
  if (!scan.banners.empty()) seen.banner = scan.banners.front();
  const std::string mark = "loaded CPU backend from ";
  const std::size_t at = outcome.err.find(mark);
  if (at != std::string::npos) {
    const std::size_t begin = at + mark.size();
    seen.variant = variant_in_path(outcome.err.substr(begin, outcome.err.find('\n', begin) - begin));
  }
  EXPECT_EQ(count_of(outcome.err, "capshim"), 1U + count_of(outcome.err, "capshim note: ")) << outcome.err;
  return seen;
}

class Preload : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detect_cpu().known) GTEST_SKIP() << "not x86-64: no level applies here";
    hardware_ = detect_cpu().usable();
    device_ = best_variant(hardware_);
  }

  FeatureSet hardware_ = 0;
  std::string device_;
};

TEST_F(Preload, WithoutSettingsItOnlyReports) {
  const Seen seen = load({});
  EXPECT_EQ(seen.status, 0) << seen.err;
  EXPECT_EQ(seen.variant, device_);
  EXPECT_EQ(seen.banner.domain, "cpu");
  EXPECT_TRUE(seen.banner.roles.empty());
  EXPECT_EQ(seen.isa().device, device_);
  EXPECT_EQ(seen.isa().reported, device_);
  EXPECT_EQ(seen.isa().guest, "");
  EXPECT_EQ(seen.banner.error, "");
  EXPECT_GT(seen.banner.pid, 1);
}

TEST_F(Preload, EveryLevelInEveryRole) {
  for (const std::string_view name : kCpuIsaLevels) {
    const std::string list = "cpu.isa=" + std::string(name);
    const std::string expected(expected_variant(name, hardware_));

    const Seen guest = load({{"CAPSHIM_GUEST", list}});
    EXPECT_EQ(guest.variant, expected) << name;
    EXPECT_EQ(guest.banner.roles, std::vector<std::string>{"guest"});
    EXPECT_EQ(guest.isa().device, device_);
    EXPECT_EQ(guest.isa().guest, expected);
    EXPECT_EQ(guest.isa().reported, expected);

    const Seen set = load({{"CAPSHIM_SET", list}});
    EXPECT_EQ(set.variant, expected) << name;
    EXPECT_EQ(set.banner.roles, std::vector<std::string>{"shim"});
    EXPECT_EQ(set.isa().set, name);
    EXPECT_EQ(set.isa().reported, expected);

    const Seen both = load({{"CAPSHIM_GUEST", "cpu.isa=x64"}, {"CAPSHIM_SET", list}});
    EXPECT_EQ(both.variant, expected) << name;
    EXPECT_EQ(both.banner.roles, (std::vector<std::string>{"guest", "shim"}));
    EXPECT_EQ(both.isa().guest, "x64");
    EXPECT_EQ(both.isa().reported, expected);
  }
}

TEST_F(Preload, OtherDomainsSettingsAreNotItsRole) {
  const Seen seen = load({{"CAPSHIM_SET", "metal.apple_family=1009"}, {"CAPSHIM_GUEST", "vulkan.bfloat16=off"}});
  EXPECT_EQ(seen.variant, device_);
  EXPECT_TRUE(seen.banner.roles.empty());
  EXPECT_EQ(seen.banner.error, "");
}

TEST_F(Preload, MalformedSettingsLeaveTheProcessUntouchedAndSaySo) {
  const std::vector<Environment> cases = {
      {{"CAPSHIM_SET", ""}},
      {{"CAPSHIM_SET", "cpu.isa"}},
      {{"CAPSHIM_SET", "cpu.isaa=x64"}},
      {{"CAPSHIM_SET", "cpu.isa=pentium"}},
      {{"CAPSHIM_SET", "metal.apple_family=9,cpu.isa=x64"}},
      {{"CAPSHIM_SET", "cpu.isa=x64,cpu.isa=x64"}},
      {{"CAPSHIM_SET", "cpu.isa=x64,"}},
      {{"CAPSHIM_SET", "cpu.isa=\xff\xfe"}},
      {{"CAPSHIM_SET", "\"\\\n\x1b[31m\t\xc3\xa9=1"}},
      {{"CAPSHIM_SET", std::string(65536, 'a')}},
      {{"CAPSHIM_SET", std::string(100000, ',')}},
      {{"CAPSHIM_GUEST", "cpu.isa=x64"}, {"CAPSHIM_SET", "nonsense"}},
      {{"CAPSHIM_GUEST", "nonsense"}, {"CAPSHIM_SET", "cpu.isa=x64"}},
  };
  for (const Environment& environment : cases) {
    const Seen seen = load(environment);
    EXPECT_EQ(seen.status, 0);
    EXPECT_EQ(seen.variant, device_);
    EXPECT_TRUE(seen.banner.roles.empty());
    EXPECT_EQ(seen.isa().reported, device_);
    EXPECT_EQ(seen.banner.error.rfind("CAPSHIM_", 0), 0U) << seen.err;
    EXPECT_NE(seen.banner.error.find("nothing is changed"), std::string::npos) << seen.err;
    EXPECT_EQ(count_of(seen.err, "\n"), 2U) << "the banner and the loader's line: " << seen.err;
  }
}

TEST_F(Preload, ALibraryItDoesNotKnowIsHiddenUnderALevelAndSaidSo) {
  const std::vector<std::string> folders = {kFolder, kFutureFolder};
  EXPECT_EQ(load({}, kShim, folders).variant, "granite");
  EXPECT_EQ(load({{"CAPSHIM_SET", "cpu.isa=best"}}, kShim, folders).variant, "granite");
  EXPECT_EQ(load({{"CAPSHIM_GUEST", "cpu.isa=x64"}, {"CAPSHIM_SET", "cpu.isa=best"}}, kShim, folders).variant,
            "granite");
  const Seen seen = load({{"CAPSHIM_GUEST", "cpu.isa=x64"}}, kShim, folders);
  EXPECT_EQ(seen.variant, "x64");
  EXPECT_EQ(count_of(seen.err, "capshim note: cpu.isa: the CPU library \"granite\" is not in this shim's table"), 1U)
      << seen.err;
}

// CPUID shows x64 only, to the libraries and to the shim; the machine executes what it really has.
TEST_F(Preload, InAMaskedGuestItRaisesWhatReallyExecutes) {
  const Environment masked = {{"FAKE_CPU", "x64"}, {"CAPSHIM_TEST_CPUID", "x64"}};
  const FeatureSet executes = execute_features(kAllFeatures);
  const auto with = [&](const std::string& name, const std::string& value) {
    Environment environment = masked;
    environment[name] = value;
    return load(environment, kMaskedShim);
  };
  EXPECT_EQ(load(masked, kMaskedShim).variant, "x64");
  EXPECT_EQ(with("CAPSHIM_GUEST", "cpu.isa=best").variant, "x64") << "a stand-in guest never raises";
  for (const std::string_view name : kCpuIsaLevels) {
    const std::string expected(expected_variant(name, executes));
    const Seen seen = with("CAPSHIM_SET", "cpu.isa=" + std::string(name));
    EXPECT_EQ(seen.variant, expected) << name << "\n" << seen.err;
    EXPECT_EQ(seen.isa().device, "x64");
    EXPECT_EQ(seen.isa().reported, expected);
    const FeatureSet asked = features_at(name == kBest ? kBestLevel : find_variant(name), executes);
    EXPECT_EQ(seen.isa().executed.size(), static_cast<std::size_t>(__builtin_popcount(asked))) << seen.err;
  }
}

// CPUID is masked halfway: what is still shown keeps its own score, the rest is raised above it.
TEST_F(Preload, AHalfMaskedGuestIsRaisedFromWhereItIs) {
  const Seen seen =
      load({{"FAKE_CPU", "ivybridge"}, {"CAPSHIM_TEST_CPUID", "ivybridge"}, {"CAPSHIM_SET", "cpu.isa=haswell"}},
           kMaskedShim);
  EXPECT_EQ(seen.variant, expected_variant("haswell", execute_features(kAllFeatures) |
                                                          kVariants[find_variant("ivybridge")].features));
  EXPECT_EQ(seen.isa().device, "ivybridge");
}

TEST_F(Preload, ManyThreadsGetTheSameAnswers) {
  for (const char* set : {"cpu.isa=best", "cpu.isa=haswell"}) {
    const Outcome outcome = run({kHost, "threads", kFolder}, {{"LD_PRELOAD", kShim}, {"CAPSHIM_SET", set}});
    EXPECT_EQ(outcome.status, 0) << outcome.err;
  }
}

TEST_F(Preload, AnswersEvenBeforeItsOwnConstructorRuns) {
  Environment environment = {{"FAKE_CPU", "haswell"}, {"EARLY_LIBRARY", kFolder + "/libggml-cpu-haswell.so"}};
  environment["LD_PRELOAD"] = kShim;
  EXPECT_EQ(run({kHost, "early", "64"}, environment).status, 0);
  environment["CAPSHIM_GUEST"] = "cpu.isa=x64";
  const Outcome hidden = run({kHost, "early", "0"}, environment);
  EXPECT_EQ(hidden.status, 0) << hidden.err;
  EXPECT_EQ(scan_banners(hidden.err).banners.size(), 1U) << hidden.err;
}

TEST(PreloadHosts, LookupsMeanWhatTheyMeanToTheirCaller) {
  const std::string plugin = runfile("shim/cpu/testing/libplugin.so");
  const Outcome plain = run({kHost, "scopes", plugin}, {});
  EXPECT_EQ(plain.status, 0) << plain.err;
  const Outcome shimmed = run({kHost, "scopes", plugin}, {{"LD_PRELOAD", kShim}, {"CAPSHIM_SET", "cpu.isa=x64"}});
  EXPECT_EQ(shimmed.status, 0) << shimmed.err;
  const Outcome twice = run({kHost, "scopes", plugin}, {{"LD_PRELOAD", kShim + ":" + kMaskedShim}});
  EXPECT_EQ(twice.status, 0) << twice.err;
}

TEST(PreloadHosts, ArbitraryProgramsRunAsTheyDidWithOneLineMore) {
  const std::vector<std::vector<std::string>> programs = {
      {"/bin/ls", "/"},
      {"/bin/sh", "-c", "echo one; exit 7"},
      {"/bin/cat", "/does-not-exist"},
      {"/usr/bin/env"},
      {"/usr/bin/python3", "-c", "import ctypes, sys; print(ctypes.CDLL(None).getpid() > 0, sys.version_info[0])"},
      {"/usr/bin/perl", "-e", "print 6*7"},
  };
  std::size_t ran = 0;
  for (const auto& argv : programs) {
    if (!std::filesystem::exists(argv[0])) continue;
    ++ran;
    for (const char* list : {"cpu.isa=x64", "cpu.isa=best", "broken"}) {
      const Environment settings = {{"CAPSHIM_GUEST", list}, {"CAPSHIM_SET", list}};
      Environment shimmed = settings;
      shimmed["LD_PRELOAD"] = kShim;
      const Outcome before = run(argv, settings);
      const Outcome after = run(argv, shimmed);
      EXPECT_EQ(after.status, before.status) << argv[0];
      std::string out = after.out;
      const std::string line = "LD_PRELOAD=" + kShim + "\n";  // env prints it
      if (out.find(line) != std::string::npos) out.erase(out.find(line), line.size());
      EXPECT_EQ(out, before.out) << argv[0];
      const std::size_t banner_end = after.err.find('\n') + 1;
      EXPECT_TRUE(parse_banner(after.err.substr(0, banner_end)).ok()) << after.err;
      EXPECT_EQ(after.err.substr(banner_end), before.err) << argv[0];
    }
  }
  EXPECT_GE(ran, 4U);
}

TEST(PreloadHosts, AClosedOrFullStderrHarmsNobody) {
  const std::string exec = "exec env LD_PRELOAD=" + kShim + " CAPSHIM_SET=cpu.isa=x64 /bin/echo here ";
  for (const char* redirection : {"2>&-", "2>/dev/full", "2>&- >&1 <&-"}) {
    const Outcome outcome = run({"/bin/sh", "-c", exec + redirection}, {});
    EXPECT_EQ(outcome.status, 0) << redirection;
    EXPECT_EQ(outcome.out, "here\n") << redirection;
  }
}

// A limit on the size of files raises a signal in whoever writes beyond it.
TEST(PreloadHosts, AFileSizeLimitEndsNobody) {
  const std::string file =
      std::string(std::getenv("TEST_TMPDIR") == nullptr ? "/tmp" : std::getenv("TEST_TMPDIR")) + "/limited";
  for (const std::string& preload : {std::string(), " LD_PRELOAD=" + kShim}) {
    EXPECT_EQ(run({"/bin/sh", "-c", "ulimit -f 0; exec env" + preload + " /bin/true 2>" + file}, {}).status, 0)
        << preload;
  }
}

TEST(PreloadHosts, NeedsTheCLibraryOnlyAndExportsDlsymOnly) {
  const Outcome dynamic = run({"/usr/bin/readelf", "-d", "-W", "--dyn-syms", kShim}, {});
  if (dynamic.status != 0) GTEST_SKIP() << "readelf is missing; scripts/setup installs it with the compiler";
  EXPECT_EQ(count_of(dynamic.out, "(NEEDED)"), 1U) << dynamic.out;
  EXPECT_EQ(count_of(dynamic.out, "[libc.so.6]"), 1U) << dynamic.out;
  std::size_t exported = 0;
  std::size_t begin = 0;
  while (begin < dynamic.out.size()) {
    const std::size_t end = std::min(dynamic.out.find('\n', begin), dynamic.out.size());
    const std::string line = dynamic.out.substr(begin, end - begin);
    begin = end + 1;
    const bool defined = line.find(" GLOBAL ") != std::string::npos && line.find(" UND ") == std::string::npos;
    if (!defined) continue;
    ++exported;
    EXPECT_NE(line.find(" dlsym"), std::string::npos) << line;
  }
  EXPECT_EQ(exported, detect_cpu().known ? 1U : 0U) << dynamic.out;
}

}  // namespace
}  // namespace capbench::shim::cpu
