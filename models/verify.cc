#include "models/verify.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "base/digest.h"
#include "models/catalog.h"
#include "models/format.h"
#include "models/gguf.h"
#include "models/mapped_file.h"
#include "models/twin_stream.h"

namespace capbench::models {
namespace {

Error finding(const std::filesystem::path& path, std::string cause, std::string remedy) {
  return {ErrorKind::kFinding, path.string(), std::move(cause), std::move(remedy)};
}

constexpr std::string_view kWriteAgain = "write it again with `capbench models synth`";

Status compare_twin(const std::filesystem::path& path, std::string_view bytes, const TwinPlan& plan) {
  const auto differs = [&](const std::string& where) -> Status {
    return finding(path, "differs from what its seed gives, " + where, std::string(kWriteAgain));
  };
  if (bytes.size() != plan.head.size) {
    return differs(fmt::format("in size: {} bytes for {}", bytes.size(), plan.head.size));
  }
  if (!bytes.starts_with(plan.head.bytes)) return differs("in its metadata");
  const std::uint64_t data_start = plan.head.layout.data_start;
  std::uint64_t end = data_start;
  return stream_twin(plan, 0, [&](const TwinPiece& piece) -> Status {
    const GgufTensor& tensor = plan.head.layout.tensors[piece.tensor];
    const std::uint64_t start = data_start + tensor.offset + piece.offset;
    const std::string_view padding = bytes.substr(static_cast<std::size_t>(end), static_cast<std::size_t>(start - end));
    if (padding.find_first_not_of('\0') != std::string_view::npos) return differs("in the padding");
    end = start + piece.bytes.size();
    if (bytes.substr(static_cast<std::size_t>(start), piece.bytes.size()) != piece.bytes) {
      return differs("in tensor '" + tensor.name + "'");
    }
    return {};
  });
}

// The catalog name of a twin that is whole.
Result<std::string> verify_twin(const std::filesystem::path& path, std::string_view bytes, const Gguf& gguf) {
  const auto like = find_string(gguf, kTwinLikeKey);
  const auto seed = find_unsigned(gguf, kTwinSeedKey);
  const auto fill = fill_of(find_string(gguf, kTwinFillKey).value_or(""));
  if (!like || !seed || !fill) return finding(path, "a twin without its shape, seed or fill", std::string(kWriteAgain));
  if (find_unsigned(gguf, kTwinVersionKey) != kTwinVersion) {
    return finding(path, "a twin written by another version of capbench", std::string(kWriteAgain));
  }
  const auto shape = find_shape(*like);
  if (!shape) return finding(path, "a twin of a shape that is not in the catalog", std::string(kWriteAgain));
  const auto plan = plan_twin(*shape, *seed, *fill);
  if (!plan) return plan.error();
  if (Status status = compare_twin(path, bytes, *plan); !status) return status.error();
  return shape->name;
}

Result<std::string> verify_real(const std::filesystem::path& path, std::uint64_t size, const std::string& digest,
                                std::string_view expected) {
  for (const CatalogEntry& entry : catalog()) {
    if (entry.file && entry.file->sha256 == digest) return entry.name;
  }
  const std::string remedy = "download it again from where it was published";
  for (const CatalogEntry& entry : catalog()) {
    const bool meant =
        expected.empty() ? entry.file && entry.file->file_name == path.filename().string() : entry.name == expected;
    if (!meant || !entry.file || entry.file->sha256.empty()) continue;
    std::string cause = fmt::format("SHA-256 is {}, pinned is {}", digest, entry.file->sha256);
    if (size != entry.file->size) cause += fmt::format(" ({} bytes for {})", size, entry.file->size);
    return finding(path, cause, remedy);
  }
  return finding(path, fmt::format("SHA-256 {} is none of the catalog's", digest),
                 "`capbench models list` for the pinned ones");
}

}  // namespace

Result<Verified> verify(const std::filesystem::path& path, std::string_view expected) {
  if (!expected.empty()) {
    if (const auto entry = find_model(expected); !entry) return entry.error();
  }
  const auto file = MappedFile::open(path);
  if (!file) return file.error();
  const auto gguf = parse_gguf(file->bytes(), path.string());
  if (!gguf) return gguf.error();
  const auto digest = sha256_file(path);
  if (!digest) return digest.error();
  const bool twin = find_key(*gguf, kTwinLikeKey) != nullptr;
  const auto name =
      twin ? verify_twin(path, file->bytes(), *gguf) : verify_real(path, gguf->file_size, *digest, expected);
  if (!name) return name.error();
  if (!expected.empty() && *name != expected) {
    return finding(path, fmt::format("it is {}, not {}", *name, expected), "name the right file");
  }
  return Verified{path.string(), *name, twin ? "twin" : "real", *digest};
}

std::string verify_text(const Verified& verified) {
  return fmt::format("{}: {}, {}\nsha256 {}\n", verified.file, verified.name,
                     verified.kind == "twin" ? "a whole twin" : "the pinned file", verified.sha256);
}

std::string verify_json(const Verified& verified) {
  const nlohmann::ordered_json object{
      {"file", verified.file}, {"name", verified.name}, {"kind", verified.kind}, {"sha256", verified.sha256}};
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace capbench::models
