#include "schema/test_records.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "schema/identity.h"

namespace capbench::schema::testing {

using nlohmann::json;

SuiteRecord suite(const std::string& name) {
  SuiteRecord record{"", name, R"({"name":")" + name + R"("})"};
  record.id = suite_id(record);
  return record;
}

EnvironmentRecord environment(const std::string& machine) {
  EnvironmentRecord record{"", machine, machine + ", 2 cores", true, R"({"machine":")" + machine + R"("})"};
  record.id = environment_id(record);
  return record;
}

ClosureRecord closure() {
  ClosureRecord record;
  record.members = {
      {"executable", {sha256("bench"), 5, "llama-bench"}, "/opt/bin/llama-bench"},
      {"library", {sha256("ggml"), 4, "libggml.so"}, "/opt/bin/libggml.so"},
      {"model", {sha256("weights"), 7, "tiny.gguf"}, "/models/tiny.gguf"},
  };
  record.id = closure_id(record);
  return record;
}

RunRecord run(const SuiteRecord& suite, const EnvironmentRecord& environment) {
  RunRecord record{
      "", suite.id, environment.machine_id, 18446744073709551615U, "2026-11-30T04:25:07.123Z", "0.1.0", "running", 15};
  record.id = run_id(record);
  return record;
}

Status put(Store& store, const Setting& setting) {
  if (Status status = store.put_suite(setting.suite); !status) return status;
  if (Status status = store.put_environment(setting.environment); !status) return status;
  if (Status status = store.put_closure(setting.closure); !status) return status;
  return store.put_run(setting.run);
}

std::string raw_stdout(std::int64_t block) {
  std::string text;
  for (int line = 0; line < 40; ++line)
    text += R"({"build_commit":"0ad4a86","n_prompt":512,"block":)" + std::to_string(block) + "}\n";
  return text;
}

std::string raw_stderr() {
  std::string text = "load_backend: loaded CPU backend from libggml-cpu-haswell.so\n";
  text += '\0';
  text += '\xFF';
  return text;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

ResultRecord result(const std::string& test, std::int64_t n_prompt, std::int64_t n_gen,
                    std::vector<std::int64_t> samples_ns) {
  ResultRecord record;
  record.test = test;
  record.build = "0ad4a86 (1)";
  record.n_prompt = n_prompt;
  record.n_gen = n_gen;
  record.model_type = "llama 1B Q4_K - Medium";
  record.model_size = 667078656;
  record.model_n_params = 1100048384;
  record.backends = "CPU";
  record.cpu_info = "AMD EPYC";
  record.samples_ns = std::move(samples_ns);
  std::vector<double> rates;
  double sum = 0;
  for (const std::int64_t ns : record.samples_ns) {
    rates.push_back(1e9 * static_cast<double>(n_prompt + n_gen) / static_cast<double>(ns));
    sum += rates.back();
  }
  if (!rates.empty()) record.median_ts = median(rates);
  record.fields = json({{"build_commit", "0ad4a86"},
                        {"build_number", 1},
                        {"cpu_info", "AMD EPYC"},
                        {"n_prompt", n_prompt},
                        {"n_gen", n_gen},
                        {"cpu_strict", false},
                        {"no_host", true},
                        {"avg_ts", rates.empty() ? 0 : sum / static_cast<double>(rates.size())},
                        {"test_time", "2026-11-30T04:25:08Z"}})
                      .dump();
  return record;
}

TrialRecord named(TrialRecord trial) {
  trial.id = trial_id(trial);
  return trial;
}

TrialRecord trial(const Setting& setting, const std::string& arm, std::int64_t block, double scale) {
  TrialRecord record;
  record.run_id = setting.run.id;
  record.suite_id = setting.suite.id;
  record.environment_id = setting.environment.id;
  record.closure_id = setting.closure.id;
  record.arm = arm;
  record.mode = arm;
  record.target = "local";
  record.guest = arm == "bare-metal" ? "" : "stand-in";
  record.workload = "default";
  record.model = "tiny";
  record.model_kind = "twin";
  record.block = block;
  record.position = block * 3;
  record.status = "ok";
  record.treatment = "proven";
  record.quality = "unchecked";
  record.flags = {"cold", "drift"};
  record.started_at = "2026-11-30T04:25:08.000Z";
  record.wall_ns = 2'000'000'000;
  record.user_ns = 1'900'000'000;
  record.system_ns = 10'000'000;
  record.max_rss_bytes = 50'000'000;
  record.exit_status = 0;
  record.argv = {"llama-bench", "-m", "tiny.gguf", "with \"quotes\" and \n"};
  record.environment_set = {"CAPSHIM_SET=cpu.isa=best"};
  record.stdout_sha256 = sha256(raw_stdout(block));
  record.stderr_sha256 = sha256(raw_stderr());
  const auto ns = [&](std::int64_t base) {
    return static_cast<std::int64_t>(static_cast<double>(base + block * 1017) * scale);
  };
  record.results = {result("pp512", 512, 0, {ns(600'000'123), ns(610'000'457), ns(590'000'789)}),
                    result("tg128", 0, 128, {ns(300'000'001), ns(310'000'002), ns(305'000'003)})};
  record.capabilities = {{"cpu.isa", "best", "zen4", "ggml log", true}, {"cpu.cores", "", "2", "probe", false}};
  return named(record);
}

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "capbench-schema-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  static_cast<void>(::chmod(name.c_str(), 0755));
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

int in_child(const std::function<int()>& body, bool unprivileged) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (unprivileged && ::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0)) ::_exit(99);
    ::_exit(body());
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string describe(const TrialRecord& t) {
  json results = json::array();
  for (const ResultRecord& r : t.results) {
    results.push_back({r.test, r.build, r.n_prompt, r.n_gen, r.n_depth, r.model_type, r.model_size, r.model_n_params,
                       r.backends, r.cpu_info, r.gpu_info, r.samples_ns, r.median_ts, r.fields});
  }
  json capabilities = json::array();
  for (const CapabilityRecord& c : t.capabilities)
    capabilities.push_back({c.name, c.requested, c.observed, c.source, c.agrees});
  json stated = json::array();
  for (const StatedResultRecord& r : t.stated) {
    stated.push_back({r.test, r.build, r.n_prompt, r.n_gen, r.n_depth, r.model_type, r.model_size, r.model_n_params,
                      r.backends, r.cpu_info, r.gpu_info, r.mean_ts, r.stddev_ts.value_or(-1),
                      r.repetitions.value_or(-1), r.fields});
  }
  const json all = {t.id,
                    t.run_id,
                    t.suite_id,
                    t.environment_id,
                    t.closure_id,
                    t.arm,
                    t.mode,
                    t.target,
                    t.guest,
                    t.workload,
                    t.model,
                    t.model_kind,
                    t.block,
                    t.position,
                    t.attempt,
                    t.status,
                    t.reason,
                    t.treatment,
                    t.quality,
                    t.flags,
                    t.started_at,
                    t.wall_ns,
                    t.user_ns,
                    t.system_ns,
                    t.max_rss_bytes,
                    t.exit_status.value_or(-1),
                    t.exit_status.has_value(),
                    t.signal.value_or(-1),
                    t.signal.has_value(),
                    t.argv,
                    t.environment_set,
                    t.stdout_sha256,
                    t.stderr_sha256,
                    t.probe_sha256,
                    t.source_sha256,
                    t.image,
                    t.hygiene,
                    t.measured,
                    stated,
                    results,
                    capabilities};
  return all.dump();
}

}  // namespace capbench::schema::testing
