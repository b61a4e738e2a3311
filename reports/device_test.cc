#include "reports/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace capbench::reports {
namespace {

using ::testing::ElementsAre;

schema::ResultRecord result(const std::string& gpu, const std::string& backends, const std::string& fields) {
  schema::ResultRecord out;
  out.cpu_info = "cpu";
  out.gpu_info = gpu;
  out.backends = backends;
  out.fields = fields;
  return out;
}

TEST(Device, IsTheGpuOnlyIfTheWorkloadUsedIt) {
  EXPECT_EQ(device_of(result("gpu", "Vulkan", R"({"n_gpu_layers":-1,"devices":"Vulkan0"})")), "gpu");
  EXPECT_EQ(device_of(result("gpu", "MTL,BLAS", "")), "gpu");
  EXPECT_EQ(device_of(result("", "Vulkan", "")), "cpu");
  EXPECT_EQ(device_of(result("gpu", "CPU", "")), "cpu");
  EXPECT_EQ(device_of(result("gpu", "BLAS, CPU", "")), "cpu");
  EXPECT_EQ(device_of(result("gpu", "", "")), "cpu");
  EXPECT_EQ(device_of(result("gpu", "Vulkan", R"({"n_gpu_layers":0})")), "cpu");
  EXPECT_EQ(device_of(result("gpu", "Vulkan", R"({"n_gpu_layers":"0"})")), "cpu");
  EXPECT_EQ(device_of(result("gpu", "Vulkan", R"({"n_gpu_layers":99,"devices":"none"})")), "cpu");
  EXPECT_EQ(device_of({}), "");
}

TEST(Device, OfSeveralGpusSaysWhichWereChosen) {
  EXPECT_EQ(device_of(result("a, b", "Vulkan", R"({"devices":"Vulkan1"})")), "a, b (Vulkan1)");
  EXPECT_EQ(device_of(result("a, b", "Vulkan", R"({"devices":"auto"})")), "a, b");
}

TEST(Device, FieldsThatAreNoObjectSayNothing) {
  for (const char* fields : {"[", "[]", "7", "{\"n_gpu_layers\":[]}", "{\"devices\":0}", "\xff"}) {
    EXPECT_EQ(device_of(result("gpu", "Vulkan", fields)), "gpu") << fields;
  }
}

TEST(DeviceSets, ArmsMayDifferButNoArmChanges) {
  EXPECT_THAT(sets_of_one_device({{"r", 0, {{"host", "A"}, {"guest", "P"}}}, {"r", 1, {{"guest", "P"}}}}),
              ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(
      sets_of_one_device({{"r", 0, {{"host", "A"}, {"guest", "P"}}}, {"s", 0, {{"host", "B"}, {"guest", "P"}}}}),
      ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(DeviceSets, ABlockStaysWithItsRun) {
  EXPECT_THAT(sets_of_one_device({{"r", 0, {{"host", "A"}}}, {"s", 0, {{"host", "B"}}}, {"s", 1, {{"guest", "P"}}}}),
              ElementsAre(ElementsAre(0), ElementsAre(1, 2)));
}

TEST(DeviceSets, BlocksWithoutDevicesBelongWhereTheyCould) {
  EXPECT_THAT(sets_of_one_device({{"r", 0, {{"host", "A"}}}, {"s", 0, {{"host", "B"}}}, {"s", 1, {}}, {"t", 0, {}}}),
              ElementsAre(ElementsAre(0, 3), ElementsAre(1, 2, 3)));
  EXPECT_THAT(sets_of_one_device({{"r", 0, {}}}), ElementsAre(ElementsAre(0)));
  EXPECT_TRUE(sets_of_one_device({}).empty());
}

}  // namespace
}  // namespace capbench::reports
