#include "reports/flags_text.h"

#include <fmt/format.h>

namespace capbench::reports {

std::vector<std::string> flag_explanations(const std::set<std::string>& used) {
  struct Meaning {
    const char* flag;
    const char* text;
  };
  constexpr Meaning kMeanings[] = {
      {"single-process", "an arm has one trial only, so nothing is known of how processes differ"},
      {"few-trials", "an arm has fewer than 7 trials, so intervals between trials are weak"},
      {"outlying-trial", "a trial lies far from its arm's others; it counts all the same"},
      {"cold-first-process",
       "every sample of an arm's first process is slower than its other trials, as of an idle GPU; it counts all the "
       "same"},
      {"outlying-first-sample", "the first sample of a trial lies far from its others, as after a cold start"},
      {"drift", "the samples of a trial only rise or only fall, by more than 10 %"},
      {"trend", "the samples of a trial rise or fall more than chance would have it, by more than 5 %"},
      {"noisy-samples", "the samples of a trial vary by more than 5 %, and no drift explains it"},
      {"noisy-trials", "the trials of an arm vary by more than 5 %, those that lie far off left aside"},
      {"closure-differs", "trials of one arm did not run the same files"},
      {"closures-differ", "arms differ in files that are no part of the treatment"},
      {"repeated-test", "a trial has several results of this name"},
      {"device-differs", "the arms ran on devices of different names, as a guest's GPU has one of its own"},
      {"over-bare-metal",
       "an arm is shown to be faster than bare metal, which no guest explains: other load, clocks, files or settings"},
      {"over-roofline", "a speed is above what the device could do at most"},
      {"raw withheld", "the source's files are not kept, only their digests and samples"},
      {"samples from rates", "the source gives rates, so times are computed from them"},
      {"mean only", "the source gives a mean and no samples"},
      {"time not understood", "the source's time of measurement is none, so that the result stands without one"},
      {"load", "other programs kept CPUs busy before a trial"},
      {"gpu busy", "a GPU was in use by others before a trial"},
      {"thermal", "the machine was hot around a trial"},
      {"throttled", "a clock was held back during a trial"},
      {"swapped", "memory was swapped out during a trial"},
      {"memory grew", "free memory fell during a trial"},
      {"on battery", "the machine ran on its battery"},
      {"low power mode", "the machine saved power"},
      {"trials-not-ok", "a trial does not count, for the reason that stands beside it"},
  };
  std::vector<std::string> out;
  for (const Meaning& meaning : kMeanings) {
    if (used.contains(meaning.flag)) out.push_back(fmt::format("Flag {}: {}.", meaning.flag, meaning.text));
  }
  return out;
}

}  // namespace capbench::reports
