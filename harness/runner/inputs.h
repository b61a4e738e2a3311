// Everything a suite needs, found, checked and named by its digest before the first trial: here, and where each arm
// runs.
#ifndef CAPBENCH_HARNESS_RUNNER_INPUTS_H_
#define CAPBENCH_HARNESS_RUNNER_INPUTS_H_

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/runner/install.h"
#include "harness/runner/place.h"
#include "harness/suite/suite.h"
#include "schema/records.h"
#include "shim/cpu/levels.h"

namespace capbench::runner {

struct ModelInput {
  std::filesystem::path path;  // here; empty for a runtime that loads none
  schema::ArtifactRecord artifact;
  std::string kind;  // "real", "twin" or "none"
};

// The file of a model that is no twin, and the digest that it must have (empty: any).
struct WantedFile {
  std::filesystem::path path;
  std::string sha256;
};

// Where it lies: beside the suite file, or what was fetched of the catalog. An error says how to fetch it.
Result<WantedFile> wanted_file(const suite::Model& model, const std::filesystem::path& suite_dir,
                               const Install& install);

// A folder of this machine for links with harmless names and for files of the moment, removed at the end. One thread at
// a time.
class StageDir {
 public:
  static Result<std::unique_ptr<StageDir>> make();
  ~StageDir();
  StageDir(const StageDir&) = delete;
  StageDir& operator=(const StageDir&) = delete;
  const std::filesystem::path& path() const { return path_; }
  // A path without any of `forbidden` that leads to `target`: the target itself if it is harmless, else a link.
  Result<std::string> harmless_path(const std::filesystem::path& target, std::string_view forbidden);
  // A new folder that holds a link to each file, under its own name.
  Result<std::filesystem::path> folder_of(const std::vector<std::filesystem::path>& files);

 private:
  explicit StageDir(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
  int links_ = 0;
};

// What every place shares.
struct Inputs {
  std::vector<ModelInput> models;  // by index in the suite
};

// `say` gets a line for what takes time (writing a twin). Errors name the model.
Result<Inputs> prepare_inputs(const suite::Suite& suite, const std::filesystem::path& suite_dir, const Install& install,
                              SharedDigests& digests, const std::function<void(const std::string&)>& say);

// What one arm needs where it runs. Paths are that place's.
struct ArmInput {
  std::string executable;
  schema::ArtifactRecord executable_artifact;
  std::vector<std::string> set_env;                   // injection and the arm's own variables
  std::vector<std::filesystem::path> injected_files;  // shim libraries and layer manifests, here
  std::vector<std::string> injected_there;            // and the same there, by index
  std::string injection_problem;                      // why a shim cannot be put in place; empty: it can
  std::vector<std::string> probe;         // argv that asks the same questions under the same injection; or empty
  std::string guest;                      // "stand-in", what the place is, or empty
  std::vector<std::string> cpu_variants;  // of the CPU libraries beside the executable, sorted
};

struct PlaceInputs {
  std::vector<ArmInput> arms;               // by index in the suite; those of other places stay empty
  std::vector<std::string> model_argument;  // by index in the suite: the model file there
  std::unique_ptr<StageDir> stage;
};

// For the arms of one place: sends what is missing there. Errors name the arm or program.
Result<PlaceInputs> prepare_place(const suite::Suite& suite, const std::filesystem::path& suite_dir,
                                  const Install& install, const Inputs& inputs, Place& place, SharedDigests& digests);

// The digests of what one trial ran: program, mapped libraries, shim and model. Files that are gone are left out.
schema::ClosureRecord make_closure(const ModelInput& model, const ArmInput& arm,
                                   const std::vector<std::string>& mapped_files, Place& place, SharedDigests& digests);

}  // namespace capbench::runner

#endif  // CAPBENCH_HARNESS_RUNNER_INPUTS_H_
