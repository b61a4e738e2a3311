#include "harness/submit/details.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/file.h"

namespace capbench::submit {
namespace {

namespace fs = std::filesystem;

using ::testing::Contains;
using ::testing::Not;

TEST(Details, AreThisUsersAndThisMachines) {
  ::setenv("LOGNAME", "jo-of-the-environment", 1);
  const observe::PersonalDetails details = details_of_this_machine();
  EXPECT_THAT(details.users, Contains(std::string(::getpwuid(::geteuid())->pw_name)));
  EXPECT_THAT(details.users, Contains("jo-of-the-environment"));
  EXPECT_FALSE(details.homes.empty());
  EXPECT_FALSE(details.hosts.empty());
  for (const auto& list : {details.users, details.homes, details.hosts, details.secrets}) {
    for (const std::string& text : list) {
      EXPECT_EQ(std::count(list.begin(), list.end(), text), 1) << text;
      EXPECT_FALSE(text.empty());
    }
  }
}

TEST(Details, FirmwareSaysSerialNumbersAndFillers) {
  const fs::path root = fs::path(::testing::TempDir()) / "root";
  fs::create_directories(root / "etc");
  fs::create_directories(root / "sys/class/dmi/id");
  const auto write = [&](const char* name, std::string_view text) {
    ASSERT_TRUE(replace_file(root / name, text).ok());
  };
  write("etc/hostname", "ws-17.example.org\n");
  write("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
  write("sys/class/dmi/id/product_serial", "PF2ABCDE\n");
  write("sys/class/dmi/id/board_serial", "To be filled by O.E.M.\n");
  write("sys/class/dmi/id/chassis_serial", "00000000\n");
  const observe::PersonalDetails details = details_of_this_machine(root);
  EXPECT_THAT(details.hosts, Contains("ws-17.example.org"));
  EXPECT_THAT(details.hosts, Contains("ws-17"));
  EXPECT_THAT(details.secrets, Contains("PF2ABCDE"));
  EXPECT_THAT(details.secrets, Contains("0123456789abcdef0123456789abcdef"));
  EXPECT_THAT(details.secrets, Not(Contains("00000000")));
  EXPECT_THAT(details.secrets, Not(Contains("To be filled by O.E.M.")));
  fs::remove_all(root);
}

}  // namespace
}  // namespace capbench::submit
