#include "reports/server/testing/bundles.h"

#include <cstdio>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>

#include "harness/verify/test_bundle.h"

namespace capbench::server::testing {

bundle::Bundle numbered_bundle(std::uint64_t number, std::size_t noise) {
  static const bundle::Bundle kReal = verify::testing::real_bundle();
  bundle::Bundle made = kReal;
  // Its seed stays: the order of its trials follows from it.
  const std::uint64_t second = number / 1000 % 86'400;
  char text[80];
  std::snprintf(text, sizeof text, "2026-11-01T%02d:%02d:%02d.%03dZ", static_cast<int>(second / 3600),
                static_cast<int>(second / 60 % 60), static_cast<int>(second % 60), static_cast<int>(number % 1000));
  made.runs.front().started_at = text;
  std::mt19937_64 random(number);
  for (schema::TrialRecord& trial : made.trials) {
    std::string log = made.raw.at(trial.stderr_sha256);
    if (!log.empty() && log.back() != '\n') log += '\n';
    log += "number " + std::to_string(number) + "\n";
    for (std::size_t i = 0; i < noise / made.trials.size(); ++i) {
      log.push_back(i % 80 == 79 ? '\n' : "0123456789abcdef"[random() % 16]);
    }
    verify::testing::set_raw(made, trial, verify::testing::Stream::kErr, log);
  }
  verify::testing::rename(made);
  return made;
}

bundle::Sealed sealed(const bundle::Bundle& bundle, std::string_view signature) {
  Result<bundle::Sealed> made = bundle::seal(bundle, signature);
  if (!made) throw std::runtime_error(to_string(made.error()));
  return std::move(*made);
}

bundle::Sealed numbered(std::uint64_t number, std::size_t noise) {
  return sealed(numbered_bundle(number, noise));
}

}  // namespace capbench::server::testing
