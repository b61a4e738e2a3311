#include "harness/observe/sources.h"

#include "harness/observe/source_table.h"

namespace capbench::observe {

std::vector<Source> sources(Os os, Purpose purpose) {
  if (os == Os::kMacos) return purpose == Purpose::kEnvironment ? macos_environment() : macos_hygiene();
  return purpose == Purpose::kEnvironment ? linux_environment() : linux_hygiene();
}

std::vector<Source> sources(Purpose purpose) {
  std::vector<Source> both = sources(Os::kLinux, purpose);
  std::vector<Source> macos = sources(Os::kMacos, purpose);
  both.insert(both.end(), std::make_move_iterator(macos.begin()), std::make_move_iterator(macos.end()));
  return both;
}

std::vector<Source> all_sources() {
  std::vector<Source> all = sources(Purpose::kEnvironment);
  std::vector<Source> hygiene = sources(Purpose::kHygiene);
  all.insert(all.end(), std::make_move_iterator(hygiene.begin()), std::make_move_iterator(hygiene.end()));
  return all;
}

Os this_os() {
#if defined(__APPLE__)
  return Os::kMacos;
#else
  return Os::kLinux;
#endif
}

}  // namespace capbench::observe
