#include "reports/test_ablation.h"

#include <fmt/format.h>

#include <cmath>

#include "reports/test_trials.h"

namespace capbench::reports::testing {
namespace {

constexpr const char* kMatrix = "vulkan.cooperative_matrix";
constexpr const char* kMatrix2 = "vulkan.cooperative_matrix2";
constexpr const char* kDot = "vulkan.integer_dot_product";
constexpr std::int64_t kBlocks = 8;

const std::string kSuite(64, 'a');

std::vector<double> around(double speed, std::int64_t block, double spread) {
  std::vector<double> out;
  const double trial = static_cast<double>((block * 5) % 8) - 3.5;  // -3.5 .. 3.5, another in each block
  for (int i = 0; i < 5; ++i) {
    const double sample = static_cast<double>((block * 3 + i * 7) % 5) - 2;
    out.push_back(speed * (1 + spread * (trial / 3.5) + 0.001 * sample));
  }
  return out;
}

std::string on_off(bool on) {
  return on ? "on" : "off";
}

suite::Arm plain_arm(const std::string& name, const std::string& mode) {
  suite::Arm arm;
  arm.name = name;
  arm.mode = mode;
  return arm;
}

std::map<std::string, std::string> levels(bool matrix, bool matrix2, bool dot) {
  return {{kMatrix, on_off(matrix)}, {kMatrix2, on_off(matrix2)}, {kDot, on_off(dot)}};
}

double speed_of(const suite::Arm& arm) {
  const auto has = [&](const char* name) {
    const auto set = arm.set.find(name);
    if (set != arm.set.end()) return set->second == "on";
    const auto guest = arm.guest.find(name);
    return guest == arm.guest.end() || guest->second == "on";
  };
  if (has(kMatrix) || has(kMatrix2)) return 32000;
  return has(kDot) ? 15500 : 9000;
}

std::vector<suite::Arm> factorial_arms() {
  std::vector<suite::Arm> arms = {plain_arm("bare-metal", "bare-metal"), plain_arm("stock", "stock"),
                                  plain_arm("unlocked", "unlocked")};
  arms[1].guest = levels(false, false, false);
  arms[2].guest = levels(false, false, false);
  arms[2].set = levels(true, true, true);
  for (int cell = 0; cell < 8; ++cell) {
    const bool matrix = (cell & 4) != 0;
    const bool matrix2 = (cell & 2) != 0;
    const bool dot = (cell & 1) != 0;
    const std::string name =
        fmt::format("layer: matrix={} matrix2={} dot={}", on_off(matrix), on_off(matrix2), on_off(dot));
    arms.push_back(layer_arm(name, levels(matrix, matrix2, dot)));
  }
  return arms;
}

std::vector<suite::Arm> special_arms() {
  std::vector<suite::Arm> arms = {plain_arm("fails", "other"), plain_arm("never run", "other"),
                                  plain_arm("wrong output", "other"), plain_arm("no such device", "other")};
  arms[0].env = {{"GGML_VK_DISABLE_FUSION", "1"}};
  arms[1].env = {{"GGML_VK_DISABLE_FUSION", "2"}};
  arms[2].env = {{"GGML_VK_DISABLE_FUSION", "3"}};
  arms[3].device = "Vulkan99";
  arms[3].expected_to_fail = true;
  return arms;
}

suite::Suite suite_of_tests() {
  suite::Suite suite;
  suite.name = "factorial";
  suite.arms = factorial_arms();
  for (const suite::Arm& arm : special_arms()) suite.arms.push_back(arm);
  suite.protocol.trials = kBlocks;
  return suite;
}

void describe(schema::TrialView& view, const suite::Arm& arm) {
  for (const char* name : {kMatrix, kMatrix2, kDot}) {
    std::string requested;
    std::string observed = "on";
    if (const auto guest = arm.guest.find(name); guest != arm.guest.end()) requested = observed = guest->second;
    if (const auto set = arm.set.find(name); set != arm.set.end()) requested = observed = set->second;
    observe(view, name, requested, observed);
  }
}

}  // namespace

suite::Arm layer_arm(const std::string& name, const std::map<std::string, std::string>& set) {
  suite::Arm arm = plain_arm(name, "layer");
  arm.set = set;
  return arm;
}

schema::TrialView ablation_trial(const suite::Arm& arm, std::int64_t block, double prompt, double generation,
                                 double spread) {
  schema::TrialView view = trial(arm.mode, block);
  view.suite_name = "factorial";
  view.trial.suite_id = kSuite;
  view.machine_label = "box with an H200";
  view.trial.arm = arm.name;
  view.trial.guest = arm.guest.empty() ? "" : "stand-in";
  view.trial.model = "TinyLlama 1.1B Q4_0";
  view.trial.workload = "pp512+tg128";
  view.trial.quality = "passed";
  view.trial.started_at = fmt::format("2026-11-30T10:{:02}:00.000Z", block);
  view.trial.closure_id = "closure";
  const auto add = [&](const char* test, std::int64_t n_prompt, std::int64_t n_gen, double speed) {
    schema::ResultRecord result;
    result.test = test;
    result.build = "abc1234 (1000)";
    result.n_prompt = n_prompt;
    result.n_gen = n_gen;
    result.model_size = 635990016;
    result.model_n_params = 1100048384;
    result.backends = "Vulkan";
    result.gpu_info = "NVIDIA H200";
    for (const double sample : around(speed, block, spread)) {
      result.samples_ns.push_back(std::llround(1e9 * static_cast<double>(n_prompt + n_gen) / sample));
    }
    view.trial.results.push_back(result);
  };
  add("pp512", 512, 0, prompt);
  add("tg128", 0, 128, generation);
  return view;
}

void observe(schema::TrialView& view, const std::string& name, const std::string& requested,
             const std::string& observed, const std::string& source) {
  schema::CapabilityRecord record;
  record.name = name;
  record.requested = requested;
  record.observed = observed;
  record.source = source;
  record.agrees = requested.empty() || requested == observed;
  view.trial.capabilities.push_back(record);
}

std::vector<schema::TrialView> ablation_trials() {
  std::vector<schema::TrialView> out;
  int number = 0;
  for (const suite::Arm& arm : factorial_arms()) {
    // Arms that are told the same do not run at exactly the same speed.
    const double luck = 1 + 0.0008 * static_cast<double>(number++ % 5 - 2);
    for (std::int64_t block = 0; block < kBlocks; ++block) {
      out.push_back(ablation_trial(arm, block, speed_of(arm) * luck, 600 * luck));
      describe(out.back(), arm);
      observe(out.back(), "ggml.matrix_cores", "", speed_of(arm) > 20000 ? "KHR_coopmat" : "none", "ggml log");
    }
  }
  const std::vector<suite::Arm> special = special_arms();
  for (std::int64_t block = 0; block < kBlocks; ++block) {
    out.push_back(ablation_trial(special[0], block, 32000, 600));
    fail(out.back(), "failed", "exited 134: std::bad_alloc");
    out.push_back(ablation_trial(special[2], block, 64000, 1200));
    out.back().trial.quality = "wrong";
    out.push_back(ablation_trial(special[3], block, 1, 1));
    fail(out.back(), "no_device", "there is no device Vulkan99");
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].trial.id = fmt::format("{:016x}{:048x}", (i + 1) * 0x9E3779B97F4A7C15U, i);
  }
  return out;
}

AblationBackground ablation_background() {
  AblationBackground background;
  background.names.description_by_suite[kSuite] = "Eight combinations of three answers.";
  background.names.capbench_by_run["run-1"] = "0.1.0";
  background.suites[kSuite] = suite_of_tests();
  auto sources = load_sources();
  if (sources.ok()) background.sources = std::move(*sources);
  return background;
}

std::vector<schema::TrialView> ablation_trials_named(const std::string& name) {
  std::vector<schema::TrialView> trials = ablation_trials();
  for (schema::TrialView& view : trials) {
    view.suite_name = name;
    view.machine_label = name;
    view.trial.model = name;
    view.trial.workload = name;
    view.trial.run_id = name;
    view.trial.arm += name;
    view.trial.flags = {name};
    view.trial.reason = view.trial.reason.empty() ? "" : name;
    view.trial.id = name + view.trial.id;
    if (!view.trial.guest.empty()) view.trial.guest = name;
    for (schema::ResultRecord& result : view.trial.results) {
      result.build = name;
      result.test += name;
      result.gpu_info = name;
    }
    for (schema::CapabilityRecord& record : view.trial.capabilities) {
      record.name += name;
      record.requested += record.requested.empty() ? "" : name;
      record.observed += name;
      record.source = name;
    }
  }
  return trials;
}

AblationBackground ablation_background_named(const std::string& name) {
  AblationBackground background = ablation_background();
  background.names = {{{kSuite, name}}, {{name, name}}};
  suite::Suite& suite = background.suites[kSuite];
  suite.name = name;
  for (suite::Arm& arm : suite.arms) {
    arm.name += name;
    for (auto* list : {&arm.guest, &arm.set, &arm.env}) {
      std::map<std::string, std::string> renamed;
      for (const auto& [key, value] : *list) renamed[key + name] = value + name;
      *list = std::move(renamed);
    }
  }
  return background;
}

}  // namespace capbench::reports::testing
