// Prints what the layer adds to a Vulkan application's start: an instance, its devices, one question each for features
// and properties. Not a test. Usage: start_cost PAIRS [NAME=VALUE...], the settings for CAPSHIM_GUEST and CAPSHIM_SET.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "shim/vulkan/testing/session.h"

namespace {

using namespace capbench::shim::vulkan;

double milliseconds(const SessionOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  {
    const Session session(options);
    for (std::size_t i = 0; i < session.devices().size(); ++i) session.words(Style::kAggregate, "", i);
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  return took.count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 200;
  SessionOptions bare;
  const char* const driver = std::getenv("VK_ICD_FILENAMES");
  bare.driver_manifest = driver != nullptr ? driver : "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
  bare.newer_extensions = false;
  SessionOptions layered = bare;
  layered.roles = {.guest = true, .shim = true};
  for (int i = 2; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    if (argument.substr(0, equals) == "CAPSHIM_GUEST") layered.guest = argument.substr(equals + 1);
    if (argument.substr(0, equals) == "CAPSHIM_SET") layered.set = argument.substr(equals + 1);
  }
  const CapturedStderr quiet;
  milliseconds(bare);
  milliseconds(layered);
  std::vector<double> without;
  std::vector<double> with;
  for (int i = 0; i < pairs; ++i) {
    without.push_back(milliseconds(bare));
    with.push_back(milliseconds(layered));
  }
  std::printf("without %.3f ms, with %.3f ms, added %.3f ms (medians of %d)\n", median(without), median(with),
              median(with) - median(without), pairs);
  return 0;
}
