// Writes bundles for tests of programs that take files: write_test_bundles FOLDER.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "base/file.h"
#include "harness/verify/test_bundle.h"

namespace {

namespace fs = std::filesystem;
using namespace capbench;
using verify::testing::real_bundle;

void write(const fs::path& path, const std::string& bytes) {
  if (auto status = replace_file(path, bytes); !status) throw std::runtime_error(to_string(status.error()));
}

std::string archive_of(bundle::Bundle content) {
  verify::testing::rename(content);
  auto sealed = bundle::seal(content);
  if (!sealed) throw std::runtime_error(to_string(sealed.error()));
  return std::move(sealed->archive);
}

void write_all(const fs::path& folder) {
  const std::string good = archive_of(real_bundle());
  write(folder / "good.capbundle", good);

  bundle::Bundle bad = real_bundle();
  verify::testing::trial_of(bad, "unlocked", 0).results[0].samples_ns[0] -= 1'000'000;
  write(folder / "bad.capbundle", archive_of(bad));

  std::string damaged = good;
  damaged[damaged.size() / 2] ^= 1;
  write(folder / "damaged.capbundle", damaged);

  // Says things that are shown to people, in the hope that something takes them for more than text.
  bundle::Bundle rude = real_bundle();
  verify::testing::trial_of(rude, "stock", 1).arm =
      "</pre><script>alert(1)</script>\n::error::x\n```\n\x1b[2J ::set-env name=PATH::/evil [a](javascript:b)";
  write(folder / "rude.capbundle", archive_of(rude));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: write_test_bundles FOLDER\n", stderr);
    return 2;
  }
  try {
    write_all(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "write_test_bundles: %s\n", error.what());
    return 1;
  }
  return 0;
}
