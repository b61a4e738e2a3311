// Everything a suite needs on this machine: found, checked and named by its digest before the first trial.
#ifndef CAPBENCH_HARNESS_RUNNER_INPUTS_H_
#define CAPBENCH_HARNESS_RUNNER_INPUTS_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/runner/install.h"
#include "harness/suite/suite.h"
#include "schema/digest_cache.h"
#include "schema/records.h"
#include "shim/cpu/levels.h"

namespace capbench::runner {

struct ModelInput {
  std::filesystem::path path;
  std::string argument;  // the same file under a name that llama-bench can take (no comma)
  schema::ArtifactRecord artifact;
  std::string kind;  // "real" or "twin"
};

struct ArmInput {
  std::vector<std::string> set_env;                   // injection and the arm's own variables
  std::vector<std::filesystem::path> injected_files;  // shim libraries and layer manifests
  std::string injection_problem;                      // why a shim cannot be put in place; empty: it can
  std::string probe_domain;                           // its answers are probed under the same injection; or empty
  std::string guest;                                  // "stand-in" or empty
};

// A folder for links with harmless names, removed at the end.
class StageDir {
 public:
  static Result<std::unique_ptr<StageDir>> make();
  ~StageDir();
  StageDir(const StageDir&) = delete;
  StageDir& operator=(const StageDir&) = delete;
  // A path without any of `forbidden` that leads to `target`: the target itself if it is harmless, else a link.
  Result<std::string> harmless_path(const std::filesystem::path& target, std::string_view forbidden);

 private:
  explicit StageDir(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  int links_ = 0;
};

struct Inputs {
  std::filesystem::path executable;
  std::vector<std::string> cpu_variants;        // of the CPU libraries beside the executable, sorted
  shim::cpu::FeatureSet hardware_features = 0;  // what this machine executes
  std::vector<ModelInput> models;               // by index in the suite
  std::vector<ArmInput> arms;
  std::unique_ptr<StageDir> stage;
};

// `say` gets a line for what takes time (writing a twin). Errors name the model, arm or program.
Result<Inputs> prepare_inputs(const suite::Suite& suite, const std::filesystem::path& suite_dir, const Install& install,
                              schema::DigestCache& digests, const std::function<void(const std::string&)>& say);

// The digests of what one trial ran: program, mapped libraries, shim and model. Files that are gone are left out.
schema::ClosureRecord make_closure(const Inputs& inputs, const ModelInput& model, const ArmInput& arm,
                                   const std::vector<std::string>& mapped_files, schema::DigestCache& digests);

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_INPUTS_H_
