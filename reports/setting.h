// What ran and where, by name: the files of the application, the system, the machine, the treatment. Two trials are
// comparable over builds if all but the first agree. Texts are numbers of a Texts, and equal contents are kept once, so
// that a store with a hundred thousand closures has room.
#ifndef CAPBENCH_REPORTS_SETTING_H_
#define CAPBENCH_REPORTS_SETTING_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "reports/texts.h"
#include "schema/records.h"

namespace capbench::reports {

// "library libggml.so" -> its digest, "kernel" -> "6.1.0", ...: by name, in the order of the names' numbers.
using Parts = std::vector<std::pair<Texts::Id, Texts::Id>>;

// Numbers of a PartsPool.
struct Setting {
  std::uint32_t build = 0;                           // what the application brings
  std::uint32_t system = 0;                          // files and facts of the system
  std::uint32_t machine = 0;                         // other facts
  std::uint32_t treatment = 0;                       // model, shim, script, image, arguments, variables
  auto operator<=>(const Setting&) const = default;  // NOLINT(modernize-use-nullptr)
};

// Equal contents have equal numbers; 0 has no parts.
class PartsPool {
 public:
  PartsPool() { add({}); }
  std::uint32_t add(Parts parts);
  const Parts& operator[](std::uint32_t number) const { return all_[number]; }
  std::size_t size() const { return all_.size(); }

 private:
  std::vector<Parts> all_;
  std::unordered_multimap<std::size_t, std::uint32_t> index_;  // by hash
};

// One file of a closure.
struct MemberFile {
  Texts::Id closure = 0;
  std::int32_t ordinal = 0;
  Texts::Id role = 0;
  Texts::Id name = 0;
  Texts::Id sha256 = 0;
  Texts::Id folder = 0;
};

std::string_view file_name(std::string_view path);
std::string_view folder_of(std::string_view path);

// Parts as they are gathered, before they are put into a pool.
struct SettingParts {
  Parts build;
  Parts system;
  Parts machine;
  Parts treatment;
};
// `members` in order.
void add_files(std::span<const MemberFile> members, Texts& texts, SettingParts& out);
// The facts of an environment, JSON. Tools that run guests are of no account to a command that runs in none.
void add_facts(const std::string& facts, bool is_guest, Texts& texts, SettingParts& out);
// Arguments or variables (JSON lists) without the folders that files lay in: the files go by their digests.
std::string without_folders(std::string_view list, bool skip_first);
Setting put(SettingParts parts, PartsPool& pool);

// `parts` and what of `more` has another name.
Parts merged(const Parts& parts, const Parts& more);

// How the one differs from the other, for people: "executable llama-bench", "kernel: 6.1 -> 6.8".
std::vector<std::string> differences(const Setting& from, const Setting& to, const PartsPool& pool, const Texts& texts);

// SHA-256 of the canonical JSON of some parts, in order; of one pool and its texts, which it remembers by number. For
// any number of threads once the pool is complete.
class PartsDigests {
 public:
  const std::string& of(const std::vector<std::uint32_t>& parts, const PartsPool& pool, const Texts& texts);

 private:
  std::mutex mutex_;
  std::map<std::vector<std::uint32_t>, std::string> known_;  // elements stay where they are
};

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_SETTING_H_
