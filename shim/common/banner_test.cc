#include "shim/common/banner.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "shim/common/text.h"

namespace capbench::shim {
namespace {

using nlohmann::json;

std::string line_of(const BannerReport& report) {
  std::array<char, kMaxBannerBytes> buffer{};
  return {buffer.data(), format_banner(report, buffer.data())};
}

json object_of(const std::string& line) {
  EXPECT_EQ(line.rfind(kBannerPrefix, 0), 0U);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  return json::parse(line.substr(kBannerPrefix.size()));
}

TEST(Banner, SaysWhatTheDeviceAnsweredAndWhatIsReported) {
  const CapabilityReport capability{"cpu.isa", "zen4", "x64", "haswell", "haswell", "AVX2 BMI2"};
  BannerReport report;
  report.pid = 42;
  report.guest = report.shim = true;
  report.capabilities = &capability;
  report.n_capabilities = 1;
  const json expected = {{"domain", "cpu"},
                         {"version", std::string(kShimVersion)},
                         {"pid", 42},
                         {"roles", {"guest", "shim"}},
                         {"capabilities",
                          {{"cpu.isa",
                            {{"device", "zen4"},
                             {"guest", "x64"},
                             {"set", "haswell"},
                             {"reported", "haswell"},
                             {"executed", {"AVX2", "BMI2"}}}}}}};
  EXPECT_EQ(object_of(line_of(report)), expected);
}

TEST(Banner, LeavesOutWhatIsNot) {
  const CapabilityReport capability{"cpu.isa", "zen4", "", "", "zen4", ""};
  BannerReport report;
  report.capabilities = &capability;
  report.n_capabilities = 1;
  report.error = "CAPSHIM_SET: no";
  const json object = object_of(line_of(report));
  EXPECT_EQ(object["capabilities"]["cpu.isa"], (json{{"device", "zen4"}, {"reported", "zen4"}}));
  EXPECT_EQ(object["roles"], json::array());
  EXPECT_EQ(object["error"], "CAPSHIM_SET: no");
  EXPECT_FALSE(object.contains("note"));
}

TEST(Banner, EscapesHostileText) {
  using namespace std::string_view_literals;
  BannerReport report;
  report.error = "quote \" slash \\ line\n nul\0 bad \xff\xc3 euro \xe2\x82\xac face \xf0\x9f\x98\x80"sv;
  const std::string line = line_of(report);
  for (const char c : line.substr(0, line.size() - 1)) EXPECT_TRUE(c >= ' ' && c < '\x7f');
  EXPECT_EQ(object_of(line)["error"],
            "quote \" slash \\ line\n nul\0 bad \xef\xbf\xbd\xef\xbf\xbd euro \xe2\x82\xac face \xf0\x9f\x98\x80"sv);
}

TEST(Banner, IsNeverCut) {
  const std::string long_text(kMaxBannerBytes, 'x');
  BannerReport report;
  report.pid = std::numeric_limits<std::int64_t>::min();
  report.shim = true;
  report.note = long_text;
  const json object = object_of(line_of(report));
  EXPECT_EQ(object["error"], "the report is longer than 4096 bytes");
  EXPECT_EQ(object["roles"], json::array({"shim"}));
  EXPECT_EQ(object["pid"], std::numeric_limits<std::int64_t>::min());
}

TEST(Text, QuotesUntrustedTextShortAndPrintable) {
  std::array<char, 128> buffer{};
  TextBuilder out(buffer.data(), buffer.size());
  out.append_quoted("a\x1b[31m\x7f\xff\xc3\xa9");
  EXPECT_EQ(out.view(), "\"a?[31m??\xc3\xa9\"");
  TextBuilder cut(buffer.data(), buffer.size());
  cut.append_quoted(std::string(47, 'y') + "\xc3\xa9 and more");
  EXPECT_EQ(cut.view(), "\"" + std::string(47, 'y') + "...\"");
}

TEST(Text, LeavesOutWhatDoesNotFit) {
  std::array<char, 4> buffer{};
  TextBuilder out(buffer.data(), buffer.size());
  out.append("abc");
  out.append("de");
  out.append("f");
  EXPECT_EQ(out.view(), "abc");
  EXPECT_TRUE(out.overflowed());
}

class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe2(ends_.data(), O_NONBLOCK | O_CLOEXEC), 0); }
  ~Pipe() {
    close_reader();
    close(ends_[1]);
  }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_reader() {
    if (ends_[0] >= 0) close(ends_[0]);
    ends_[0] = -1;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

TEST(WriteLine, WritesOnceAndKeepsErrno) {
  const Pipe pipe;
  errno = EDOM;
  write_line(pipe.writer(), "line\n");
  EXPECT_EQ(errno, EDOM);
  std::array<char, 16> got{};
  EXPECT_EQ(read(pipe.reader(), got.data(), got.size()), 5);
}

TEST(WriteLine, NeitherBlocksNorSignals) {
  errno = EDOM;
  write_line(-1, "line\n");
  Pipe pipe;
  const std::string fill(4096, 'x');
  while (write(pipe.writer(), fill.data(), fill.size()) > 0) {
  }
  ASSERT_EQ(fcntl(pipe.writer(), F_SETFL, 0), 0);  // from here on a write would wait
  write_line(pipe.writer(), fill);
  pipe.close_reader();
  ASSERT_EQ(std::signal(SIGPIPE, SIG_DFL), SIG_DFL);  // a SIGPIPE would end this test
  write_line(pipe.writer(), "line\n");
}

}  // namespace
}  // namespace capbench::shim
