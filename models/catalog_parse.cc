#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <utility>

#include "base/digest.h"
#include "models/catalog.h"
#include "models/format.h"

namespace capbench::models {
namespace {

using nlohmann::json;

constexpr std::string_view kUnpinned = "unpinned";
constexpr std::array kMixes = {Mix::kF16, Mix::kBF16, Mix::kQ8_0, Mix::kQ4_0, Mix::kQ4_K_M};

// Reads the members of one object; the first thing wrong with any of them is kept.
class Members {
 public:
  Members(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) fail("", "not an object");
  }

  std::string text(const char* name) {
    const json* const member = find(name);
    if (member == nullptr) return "";
    if (!member->is_string()) return fail(name, "not a string"), "";
    auto value = member->get<std::string>();
    constexpr std::size_t kMost = 500;
    const bool clean = std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (value.empty() || value.size() > kMost || !clean) return fail(name, "not a short text of ASCII characters"), "";
    return value;
  }

  // Empty for "unpinned".
  std::string pinned_text(const char* name) {
    std::string value = text(name);
    return value == kUnpinned ? "" : value;
  }

  std::uint64_t number(const char* name, std::uint64_t most) {
    const json* const member = find(name);
    if (member == nullptr) return 0;
    if (!member->is_number_unsigned() || member->get<std::uint64_t>() == 0 || member->get<std::uint64_t>() > most) {
      return fail(name, fmt::format("not a number from 1 to {}", most)), 0;
    }
    return member->get<std::uint64_t>();
  }

  std::uint32_t small(const char* name) { return static_cast<std::uint32_t>(number(name, UINT32_MAX)); }

  // 0 for "unpinned".
  std::uint64_t pinned_number(const char* name, std::uint64_t most) {
    const auto it = object_.is_object() ? object_.find(name) : object_.end();
    return object_.is_object() && it != object_.end() && *it == kUnpinned ? 0 : number(name, most);
  }

  bool flag(const char* name) {
    if (!object_.is_object() || !object_.contains(name)) return false;
    if (!object_[name].is_boolean()) return fail(name, "neither true nor false"), false;
    return object_[name].get<bool>();
  }

  void allow_only(std::span<const std::string_view> names) {
    if (!object_.is_object()) return;
    for (const auto& [name, value] : object_.items()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) fail(name, "no such member");
    }
  }

  void fail(std::string_view name, std::string cause) {
    if (error_) return;
    const std::string member = name.empty() ? where_ : fmt::format("{}.{}", where_, printable(name, 40));
    error_ = Error{ErrorKind::kUsage, member, std::move(cause), "correct the catalog"};
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  const json* find(const char* name) {
    if (!object_.is_object()) return nullptr;
    const auto it = object_.find(name);
    if (it == object_.end()) return fail(name, "missing"), nullptr;
    return &*it;
  }

  const json& object_;
  std::string where_;
  std::optional<Error> error_;
};

// A file's name in its repository; never a path that leads elsewhere.
bool is_plain_name(const std::string& name) {
  return name != "." && name != ".." && name.find('/') == std::string::npos && name.find('\\') == std::string::npos;
}

Result<PinnedFile> read_file_entry(const json& object, const std::string& where) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 50U;
  constexpr auto kNames = std::to_array<std::string_view>({"repository", "revision", "name", "size", "sha256"});
  Members members(object, where);
  members.allow_only(kNames);
  PinnedFile file;
  file.repository = members.text("repository");
  file.revision = members.pinned_text("revision");
  file.file_name = members.pinned_text("name");
  file.size = members.pinned_number("size", kMost);
  file.sha256 = members.pinned_text("sha256");
  if (!file.sha256.empty() && !is_sha256(file.sha256))
    members.fail("sha256", "not 64 hexadecimal digits in lower case");
  if (!is_plain_name(file.file_name)) members.fail("name", "not a plain file name");
  if (members.error()) return *members.error();
  return file;
}

Result<Shape> read_twin(const json& object, const std::string& name, const std::string& where) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"title", "layers", "width", "heads", "kv_heads", "ffn", "vocabulary", "context", "mix", "pure"});
  Members members(object, where);
  members.allow_only(kNames);
  Shape shape;
  shape.name = name;
  shape.title = members.text("title");
  shape.layers = members.small("layers");
  shape.width = members.small("width");
  shape.heads = members.small("heads");
  shape.kv_heads = members.small("kv_heads");
  shape.ffn = members.small("ffn");
  shape.vocab = members.small("vocabulary");
  shape.context = members.small("context");
  shape.pure = members.flag("pure");
  const std::string mix = members.text("mix");
  const auto* const known =
      std::find_if(kMixes.begin(), kMixes.end(), [&](Mix candidate) { return mix_name(candidate) == mix; });
  if (known == kMixes.end()) {
    members.fail("mix", "not a mix that twins are written in");
  } else {
    shape.mix = *known;
  }
  if (members.error()) return *members.error();
  if (Status status = check_shape(shape); !status) return status.error();
  return shape;
}

Result<CatalogEntry> read_entry(const json& object, const std::string& where) {
  constexpr auto kNames = std::to_array<std::string_view>({"name", "title", "purpose", "file", "twin"});
  Members members(object, where);
  members.allow_only(kNames);
  CatalogEntry entry;
  entry.name = members.text("name");
  entry.title = members.text("title");
  entry.purpose = members.text("purpose");
  if (members.error()) return *members.error();
  if (object.contains("file")) {
    auto file = read_file_entry(object["file"], where + ".file");
    if (!file) return std::move(file).error();
    entry.file = std::move(*file);
  }
  if (object.contains("twin")) {
    auto shape = read_twin(object["twin"], entry.name, where + ".twin");
    if (!shape) return std::move(shape).error();
    entry.shape = std::move(*shape);
  }
  if (!entry.file && !entry.shape) members.fail("", "neither a file nor a twin");
  if (members.error()) return *members.error();
  return entry;
}

}  // namespace

Result<std::vector<CatalogEntry>> parse_catalog(std::string_view text) {
  // Four levels are meant; a reader that recurses must not be led deeper.
  constexpr int kDeepest = 8;
  const auto shallow = [](int depth, json::parse_event_t, json&) { return depth <= kDeepest; };
  const json whole = json::parse(text, shallow, false);
  const auto bad = [](std::string cause) {
    return Error{ErrorKind::kUsage, "catalog", std::move(cause), "correct the catalog"};
  };
  if (!whole.is_object() || !whole.contains("models") || !whole["models"].is_array()) {
    return bad("not a JSON object with a list of \"models\"");
  }
  std::vector<CatalogEntry> entries;
  for (std::size_t i = 0; i < whole["models"].size(); ++i) {
    auto entry = read_entry(whole["models"][i], fmt::format("catalog: models[{}]", i));
    if (!entry) return std::move(entry).error();
    const bool twice =
        std::any_of(entries.begin(), entries.end(), [&](const CatalogEntry& e) { return e.name == entry->name; });
    if (twice) return bad(fmt::format("'{}' is there twice", entry->name));
    entries.push_back(std::move(*entry));
  }
  return entries;
}

}  // namespace capbench::models
