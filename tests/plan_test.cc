// `capbench plan` of every suite that is shipped, on a machine that has neither the shims nor the targets yet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/support/command.h"

namespace capbench::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::HasSubstr;

class Plan : public ::testing::Test {
 protected:
  CommandResult plan(const std::string& suite) {
    return sandbox_.capbench({"plan", suite, "--db", (sandbox_.dir / "none.db").string()},
                             {{"CAPBENCH_SHIM_DIR", (sandbox_.dir / "no-shims").string()}});
  }

  Sandbox sandbox_;
};

TEST_F(Plan, EverySuiteThatIsShippedPlansWithoutItsShims) {
  std::size_t planned = 0;
  for (const auto& entry : fs::directory_iterator("suites")) {
    const fs::path path = entry.path();
    // Answers on macOS only, and says so.
    if (path.extension() != ".json" || path.filename() == "mac-stand-in.json") continue;
    const auto result = plan(path.string());
    EXPECT_EQ(result.exit_status, 0) << path << ": " << result.err;
    EXPECT_THAT(result.out, HasSubstr("The commands, by model, workload and arm:")) << path;
    ++planned;
  }
  EXPECT_GE(planned, 10U);
}

TEST_F(Plan, ALayerThatIsSentElsewhereIsNamedAsSent) {
  auto text = read_file("suites/vulkan-gpu.json");
  ASSERT_TRUE(text.ok()) << to_string(text.error());
  json suite = json::parse(*text);
  suite["targets"] = json::object({{"far", {{"kind", "ssh"}, {"address", "far.example"}, {"os", "linux"}}}});
  for (json& arm : suite["arms"]) arm["target"] = "far";
  const auto result = plan(sandbox_.write("far.json", suite.dump()).string());
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("<sent>/VkLayer_capshim.json"));
}

}  // namespace
}  // namespace capbench::testing
