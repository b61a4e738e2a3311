// What the folder's models are called. Pure.
#ifndef CAPBENCH_HARNESS_IMPORT_EVIDENCE_MODEL_NAMES_H_
#define CAPBENCH_HARNESS_IMPORT_EVIDENCE_MODEL_NAMES_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/import/evidence/launches.h"
#include "harness/suite/structs.h"

namespace capbench::imports::evidence {

struct NamedModel {
  suite::Model model;
  std::string about;  // words that people may use for it
};

// By runtime and name.
using Models = std::map<std::pair<std::string, std::string>, NamedModel>;

// Names the model of every launch. A model of the catalog has its name there: by file name, and a size of the weights
// that fits the file's (a GGUF file is its weights and at most 1 % of metadata); an MLX model by repository and
// revision. Others are called after their file. A row that prints no file (a Markdown table) has the model of the same
// type, if the folder has just one; a launch without rows the only model of its runtime. Remarks go to `notes`.
// `names` are the launches' files, for remarks.
Models name_models(std::vector<Launch>& launches, const std::vector<std::string>& names,
                   std::vector<std::string>& notes);

}  // namespace capbench::imports::evidence

#endif  // CAPBENCH_HARNESS_IMPORT_EVIDENCE_MODEL_NAMES_H_
