#include "shim/common/toggles.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace capbench::shim {
namespace {

TEST(Toggles, AreNamedOnceAndAfterTheirDomain) {
  std::set<std::string_view> names;
  for (const Toggle& toggle : kToggles) {
    EXPECT_TRUE(names.insert(toggle.name).second) << toggle.name;
    const std::string prefix = std::string(domain_info(toggle.domain).name) + ".";
    EXPECT_EQ(toggle.name.substr(0, prefix.size()), prefix);
    EXPECT_EQ(kToggles[find_toggle(toggle.name)].name, toggle.name);
    EXPECT_FALSE(toggle.description.empty()) << toggle.name;
    EXPECT_FALSE(toggle.asked_by.empty()) << toggle.name;
    // A list separates entries by commas and names from values by '='.
    EXPECT_EQ(toggle.name.find_first_of(",= "), std::string_view::npos) << toggle.name;
  }
  EXPECT_EQ(find_toggle("cpu.isa "), kToggleCount);
  EXPECT_EQ(find_toggle(""), kToggleCount);
}

TEST(Toggles, HaveValuesToChooseFrom) {
  for (const Toggle& toggle : kToggles) {
    if (toggle.kind == ValueKind::kLevel) {
      EXPECT_GT(toggle.levels.count, 1U) << toggle.name;
    } else {
      EXPECT_LT(toggle.low, toggle.high) << toggle.name;
    }
  }
}

TEST(Toggles, DomainsAreIndexedByTheirValueAndSayWhetherTheyHaveAShim) {
  for (std::size_t i = 0; i < kDomains.size(); ++i) EXPECT_EQ(static_cast<std::size_t>(kDomains[i].domain), i);
  EXPECT_TRUE(has_shim(Domain::kCpu));
  EXPECT_EQ(domain_info(Domain::kCpu).library, "libcapshim_cpu.so");
}

}  // namespace
}  // namespace capbench::shim
