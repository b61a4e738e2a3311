#include "reports/test_trials.h"

#include <fmt/format.h>

#include <cmath>

namespace capbench::reports::testing {
namespace {

schema::ResultRecord result(std::int64_t n_prompt, std::int64_t n_gen, const std::vector<double>& speeds) {
  schema::ResultRecord out;
  out.n_prompt = n_prompt;
  out.n_gen = n_gen;
  out.build = "abc1234 (1000)";
  for (const double speed : speeds) {
    out.samples_ns.push_back(std::llround(1e9 * static_cast<double>(n_prompt + n_gen) / speed));
  }
  return out;
}

// Samples that differ a little by block and place, always the same way.
std::vector<double> around(double speed, std::int64_t block, int n) {
  std::vector<double> out;
  for (int i = 0; i < n; ++i) {
    const auto step = static_cast<double>((block * 7 + i * 5) % 11 - 5);
    out.push_back(speed * (1 + 0.002 * step));
  }
  return out;
}

struct Speeds {
  const char* mode;
  double prompt;
  double generation;
};

void dress_as_quickstart(schema::TrialView& view) {
  view.suite_name = "quickstart";
  view.trial.suite_id = std::string(64, '1');
  view.machine_id = std::string(64, '2');
  view.machine_label = "AMD EPYC, 2 cores, 24 GiB";
  view.machine_is_virtual = true;
  view.trial.model = "quickstart-twin";
  view.trial.model_kind = "twin";
  view.trial.workload = "pp128-tg32";
  if (view.trial.guest == "vm") view.trial.guest = "stand-in";
}

void add_quickstart(std::vector<schema::TrialView>& out) {
  constexpr Speeds kSpeeds[] = {
      {"bare-metal", 467.7, 282.5}, {"stock", 56.1, 48.0}, {"unlocked", 468.6, 281.7}, {"half", 200, 150}};
  for (std::int64_t block = 0; block < 5; ++block) {
    for (const Speeds& speeds : kSpeeds) {
      schema::TrialView view = trial(speeds.mode, block);
      dress_as_quickstart(view);
      auto prompt = result(128, 0, around(speeds.prompt, block, 5));
      prompt.test = "pp128";
      view.trial.results.push_back(prompt);
      add_generation(view, 32, around(speeds.generation, block + 3, 5));
      for (schema::ResultRecord& printed : view.trial.results) {
        printed.backends = "CPU";
        printed.cpu_info = "AMD EPYC";
      }
      if (block == 3 && view.trial.mode == "stock") fail(view, "timeout", "ran longer than 600 s");
      out.push_back(view);
    }
  }
}

void add_single_processes(std::vector<schema::TrialView>& out) {
  constexpr Speeds kSpeeds[] = {{"bare-metal", 4872, 286.7}, {"stock", 431.9, 12.63}, {"unlocked", 4786.7, 206.6}};
  for (const Speeds& speeds : kSpeeds) {
    schema::TrialView view = trial(speeds.mode, 0);
    view.suite_name = "seed-matrix";
    view.trial.suite_id = std::string(64, '3');
    view.machine_id = std::string(64, '4');
    view.machine_label = "Apple M1 Ultra, 20 cores, 128 GiB";
    view.trial.model = "TinyLlama 1.1B Q4_K_M";
    view.trial.workload = "pp512-tg128";
    view.trial.treatment = view.trial.mode == "unlocked" ? "unproven" : "proven";
    auto prompt = result(512, 0, around(speeds.prompt, 1, 10));
    prompt.test = "pp512";
    view.trial.results.push_back(prompt);
    add_generation(view, 128, around(speeds.generation, 2, 10));
    for (schema::ResultRecord& printed : view.trial.results) {
      printed.backends = "MTL,BLAS";
      printed.cpu_info = "Apple M1 Ultra";
      printed.gpu_info = view.trial.mode == "bare-metal" ? "Apple M1 Ultra" : "Apple Paravirtual device";
    }
    out.push_back(view);
  }
}

void add_several_arms(std::vector<schema::TrialView>& out) {
  struct Arm {
    const char* mode;
    const char* name;
    double speed;
  };
  constexpr Arm kArms[] = {{"stock", "stock-fa0", 80},
                           {"stock", "stock-fa1", 100},
                           {"unlocked", "all", 240},
                           {"half", "half: more", 160},
                           {"half", "less", 90}};
  for (std::int64_t block = 0; block < 2; ++block) {
    for (const Arm& arm : kArms) {
      schema::TrialView view = trial(arm.mode, block);
      view.suite_name = "ablation";
      view.trial.suite_id = std::string(64, '5');
      view.trial.arm = arm.name;
      if (view.trial.mode == "unlocked") view.trial.quality = "wrong";
      add_result(view, "pp100 @ d4096", around(arm.speed, block, 3));
      view.trial.results.back().n_depth = 4096;
      out.push_back(view);
    }
  }
}

}  // namespace

schema::TrialView trial(const std::string& mode, std::int64_t block) {
  schema::TrialView view;
  view.suite_name = "quick";
  view.machine_id = "machine-1";
  view.machine_label = "box";
  view.executable_sha256 = std::string(64, 'e');
  view.trial.suite_id = "suite-1";
  view.trial.run_id = "run-1";
  view.trial.arm = mode;
  view.trial.mode = mode;
  view.trial.guest = mode == "bare-metal" ? "" : "vm";
  view.trial.workload = "w";
  view.trial.model = "m";
  view.trial.model_kind = "real";
  view.trial.block = block;
  view.trial.status = "ok";
  view.trial.treatment = "proven";
  view.trial.quality = "unchecked";
  return view;
}

void add_result(schema::TrialView& view, const std::string& test, const std::vector<double>& speeds) {
  view.trial.results.push_back(result(100, 0, speeds));
  view.trial.results.back().test = test;
}

void add_generation(schema::TrialView& view, std::int64_t n_gen, const std::vector<double>& speeds) {
  view.trial.results.push_back(result(0, n_gen, speeds));
  view.trial.results.back().test = "tg" + std::to_string(n_gen);
}

std::vector<schema::TrialView> arm(const std::string& mode, double speed, int n) {
  std::vector<schema::TrialView> out;
  for (int block = 0; block < n; ++block) {
    out.push_back(trial(mode, block));
    add_result(out.back(), "pp100", around(speed, block, 3));
  }
  return out;
}

void fail(schema::TrialView& view, const std::string& status, const std::string& reason) {
  view.trial.status = status;
  view.trial.reason = reason;
  view.trial.results.clear();
}

void append(std::vector<schema::TrialView>& to, const std::vector<schema::TrialView>& more) {
  to.insert(to.end(), more.begin(), more.end());
}

std::vector<schema::TrialView> golden_trials() {
  std::vector<schema::TrialView> out;
  add_quickstart(out);
  add_single_processes(out);
  add_several_arms(out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].trial.id = fmt::format("{:016x}{:048x}", (i + 1) * 0x9E3779B97F4A7C15U, i);
    out[i].trial.started_at = fmt::format("2026-11-{:02}T10:00:00.000Z", 10 + i / 4);
  }
  return out;
}

Background golden_background() {
  Background out;
  out.description_by_suite[std::string(64, '1')] =
      "Three modes on a machine without a GPU: it shows that the treatments take, and not what a GPU would gain.";
  out.capbench_by_run["run-1"] = "0.1.0";
  return out;
}

}  // namespace capbench::reports::testing
