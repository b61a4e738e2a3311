// Is a model file what it claims to be?
#ifndef CAPBENCH_MODELS_VERIFY_H_
#define CAPBENCH_MODELS_VERIFY_H_

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::models {

struct Verified {
  std::string file;
  std::string name;    // the catalog's
  std::string kind;    // "twin", "real"
  std::string sha256;  // of the file
};

// A twin is made again from its own seed and compared byte by byte; a real model's SHA-256 is looked up in the catalog.
// `expected` is the catalog name it should be, or empty for any. Errors of kind kFinding: a byte differs (in which
// tensor), the digest is no pinned one, it is another model. Errors as read_gguf() for what is no model file.
Result<Verified> verify(const std::filesystem::path& path, std::string_view expected = {});

std::string verify_text(const Verified& verified);
std::string verify_json(const Verified& verified);

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_VERIFY_H_
