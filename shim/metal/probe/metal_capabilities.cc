// metal-capabilities: what this process is told about its Metal device.
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <string_view>

#include "shim/common/text.h"
#include "shim/metal/objc.h"
#include "shim/metal/probe/print.h"

extern "C" {
id MTLCreateSystemDefaultDevice();
id MTLCopyAllDevices();
}

namespace capbench::shim::metal {
namespace {

constexpr std::string_view kHelp =
    "usage: metal-capabilities [--json] [FAMILY]\n"
    "\n"
    "What this process is told about its Metal device: every family, limits and features.\n"
    "FAMILY, a number such as 1009 (MTLGPUFamilyApple9): whether that one is supported.\n"
    "\n"
    "Exit status: 0 done, 1 the output could not be written, 2 wrong usage, 3 no Metal device.\n";

constexpr int kDone = 0;
constexpr int kNotWritten = 1;
constexpr int kWrongUsage = 2;
constexpr int kNoDevice = 3;

struct Arguments {
  bool valid = true;
  bool help = false;
  bool json = false;
  bool one_family = false;
  std::uint64_t family = 0;
};

bool parse_family(std::string_view text, std::uint64_t& family) {
  constexpr std::size_t kMaxDigits = 9;
  if (text.empty() || text.size() > kMaxDigits) return false;
  family = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    family = family * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return true;
}

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    if (argument == "--help" || argument == "-h") {
      arguments.help = true;
    } else if (argument == "--json") {
      arguments.json = true;
    } else if (!arguments.one_family && parse_family(argument, arguments.family)) {
      arguments.one_family = true;
    } else {
      arguments.valid = false;
    }
  }
  return arguments;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

// The default device. A program without a window server session may be given none, and still find one in the list.
id find_device() {
  const id device = MTLCreateSystemDefaultDevice();
  if (device != nullptr) return device;
  const id devices = MTLCopyAllDevices();
  if (devices == nullptr || send<std::uint64_t>(devices, sel_registerName("count")) == 0) return nullptr;
  return send<id>(devices, sel_registerName("objectAtIndex:"), std::uint64_t{0});
}

void print(id device, const Arguments& arguments, TextBuilder& out) {
  if (arguments.one_family && arguments.json) {
    print_family_json(device, arguments.family, out);
  } else if (arguments.one_family) {
    print_family(device, arguments.family, out);
  } else if (arguments.json) {
    print_all_json(device, out);
  } else {
    print_all(device, out);
  }
}

int run(const Arguments& arguments) {
  if (arguments.help) return write_all(STDOUT_FILENO, kHelp) ? kDone : kNotWritten;
  if (!arguments.valid) {
    write_all(STDERR_FILENO, "error: metal-capabilities: expected [--json] [FAMILY], FAMILY a number such as 1009\n");
    return kWrongUsage;
  }
  const id device = find_device();
  if (device == nullptr) {
    write_all(STDERR_FILENO,
              "error: metal-capabilities: there is no Metal device; try: a Mac, or a macOS guest with paravirtual "
              "graphics\n");
    return kNoDevice;
  }
  std::array<char, 16384> buffer{};
  TextBuilder out(buffer.data(), buffer.size());
  print(device, arguments, out);
  return write_all(STDOUT_FILENO, out.view()) ? kDone : kNotWritten;
}

}  // namespace
}  // namespace capbench::shim::metal

#if !__STDC_HOSTED__
extern "C" int main(int argc, char** argv);  // as the cross-build compiles it, main is a function like any other
#endif

int main(int argc, char** argv) {
  using namespace capbench::shim::metal;
  return run(read_arguments(argc, argv));
}
