// The program that libFuzzer drives: fuzz --target=NAME [libFuzzer's own options] [CORPUS...]
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "tests/fuzz/targets.h"

namespace {

const capbench::fuzz::Target* chosen = nullptr;  // libFuzzer's entry points share nothing else

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr std::string_view kOption = "--target=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (argument.substr(0, kOption.size()) == kOption)
      chosen = capbench::fuzz::find_target(argument.substr(kOption.size()));
  }
  if (chosen != nullptr) return 0;
  std::fputs("usage: fuzz --target=NAME [-runs=N] [-seed=N] [CORPUS...]\nTargets:\n", stderr);
  for (const auto& target : capbench::fuzz::targets()) {
    std::fprintf(stderr, "  %.*s\n", static_cast<int>(target.name.size()), target.name.data());
  }
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({static_cast<const char*>(static_cast<const void*>(data)), size});
  return 0;
}
