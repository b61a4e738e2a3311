// The models capbench knows: pinned real files, and shapes that a twin can be written of. They are listed in
// catalog.json, which is part of the program.
#ifndef CAPBENCH_MODELS_CATALOG_H_
#define CAPBENCH_MODELS_CATALOG_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "models/shape.h"

namespace capbench::models {

// A published file (or, without a file name, a published folder at a revision).
struct PinnedFile {
  std::string file_name;
  std::uint64_t size = 0;  // bytes, 0 if unpinned
  std::string sha256;      // 64 lowercase hexadecimal digits, empty if unpinned
  std::string repository;  // on huggingface.co
  std::string revision;
};

struct CatalogEntry {
  std::string name;  // unique, what the command line takes
  std::string title;
  std::string purpose;             // one line
  std::optional<PinnedFile> file;  // nothing for shapes that exist only as twins
  std::optional<Shape> shape;      // nothing where no twin can be written
};

std::span<const CatalogEntry> catalog();

// Reads catalog.json: {"models": [{"name", "title", "purpose", "file"?, "twin"?}]}. A file has a repository and a
// revision, and name, size and sha256, each of which may say "unpinned" for what is not known. Every error names the
// entry. Takes any bytes.
Result<std::vector<CatalogEntry>> parse_catalog(std::string_view json);

// An error that lists the names there are.
Result<CatalogEntry> find_model(std::string_view name);

// The shape of a name, or an error that lists the names with a shape.
Result<Shape> find_shape(std::string_view name);

// `models list`: 80 columns, and an array of objects.
std::string catalog_text();
std::string catalog_json();

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_CATALOG_H_
