// Records for this room's tests: small, complete, and different where the arguments differ.
#ifndef CAPBENCH_SCHEMA_TEST_RECORDS_H_
#define CAPBENCH_SCHEMA_TEST_RECORDS_H_

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "schema/records.h"
#include "schema/store.h"

namespace capbench::schema::testing {

SuiteRecord suite(const std::string& name = "quickstart");
EnvironmentRecord environment(const std::string& machine = "machine-a");
ClosureRecord closure();
RunRecord run(const SuiteRecord& suite, const EnvironmentRecord& environment);

// Everything that a trial refers to.
struct Setting {
  SuiteRecord suite = testing::suite();
  EnvironmentRecord environment = testing::environment();
  ClosureRecord closure = testing::closure();
  RunRecord run = testing::run(suite, environment);
};
Status put(Store& store, const Setting& setting);

// What a trial printed.
std::string raw_stdout(std::int64_t block);
std::string raw_stderr();

// A trial of `arm` with a pp512 and a tg128 result of three samples each; `scale` stretches the samples.
TrialRecord trial(const Setting& setting, const std::string& arm, std::int64_t block, double scale = 1);
ResultRecord result(const std::string& test, std::int64_t n_prompt, std::int64_t n_gen,
                    std::vector<std::int64_t> samples_ns);
// The id after a change.
TrialRecord named(TrialRecord trial);

// The median as the text books define it.
double median(std::vector<double> values);

// The value, where anything else means that the test cannot go on.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(to_string(result.error()));
  return std::move(result).value();
}

// A fresh folder that is removed at the end. Below the system's temporary folder, where other users may go too.
class Folder {
 public:
  Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Runs `body` in a child process, as a user without privileges if asked; its exit status, or 128 + the signal.
int in_child(const std::function<int()>& body, bool unprivileged = false);

// Every member, so that a difference is seen whatever it is.
std::string describe(const TrialRecord& trial);

}  // namespace capbench::schema::testing

#endif  // CAPBENCH_SCHEMA_TEST_RECORDS_H_
