#include "harness/import/evidence/sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/digest.h"
#include "harness/import/evidence/names.h"
#include "harness/import/text.h"
#include "harness/observe/log_lines.h"

namespace capbench::imports::evidence {
namespace {

constexpr std::size_t kHex = 64;

std::optional<SumLine> read_line(std::string_view line) {
  SumLine sum;
  if (const auto rest = observe::after(line, "SHA256 ("); rest && line.starts_with("SHA256 (")) {
    const std::size_t close = rest->rfind(") = ");
    if (close == std::string_view::npos || !is_sha256(lower(rest->substr(close + 4)))) return std::nullopt;
    sum.name = rest->substr(0, close);
    sum.sha256 = lower(rest->substr(close + 4));
    return sum;
  }
  // A backslash in front says that the name is escaped; such names are taken as they stand.
  if (line.starts_with('\\')) line.remove_prefix(1);
  if (line.size() < kHex + 2 || !is_sha256(lower(line.substr(0, kHex))) || line[kHex] != ' ') return std::nullopt;
  sum.sha256 = lower(line.substr(0, kHex));
  std::string_view name = line.substr(kHex + 1);
  if (name.starts_with(' ') || name.starts_with('*')) name.remove_prefix(1);
  sum.name = trim(name);
  if (sum.name.empty()) return std::nullopt;
  return sum;
}

// The path within the folder.
std::string resolved(const std::string& list, std::string name) {
  std::replace(name.begin(), name.end(), '\\', '/');
  while (name.starts_with("./")) name.erase(0, 2);
  const std::string folder = folder_of(list);
  return folder.empty() ? name : folder + "/" + name;
}

}  // namespace

std::optional<std::vector<SumLine>> parse_sums(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<SumLine> sums;
  std::size_t number = 0;
  bool all = true;
  observe::for_each_line(text, [&](std::string_view line) {
    ++number;
    if (!all || trim(line).empty()) return;
    std::optional<SumLine> sum = read_line(line);
    all = sum.has_value();
    if (!all) return;
    sum->line = number;
    sums.push_back(std::move(*sum));
  });
  if (!all || sums.empty()) return std::nullopt;
  return sums;
}

SumsCheck check_sums(const std::string& list, const std::vector<SumLine>& lines, const std::vector<SummedFile>& files) {
  SumsCheck check;
  std::map<std::string, const SummedFile*> by_name;
  for (const SummedFile& file : files) by_name.emplace(file.name, &file);
  std::set<std::string> listed;
  for (const SumLine& line : lines) {
    const std::string name = resolved(list, line.name);
    listed.insert(name);
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      check.notes.push_back(fmt::format("{} lists {}, which is not here", list, name));
    } else if (found->second->sha256 != line.sha256) {
      check.altered.push_back(name);
      check.findings.push_back(
          fmt::format("{}: {} says {}..., its bytes are {}...{}", name, list, line.sha256.substr(0, 12),
                      found->second->sha256.substr(0, 12),
                      found->second->sha256_with_lf == line.sha256 ? "; only its line ends differ" : ""));
    }
  }
  for (const SummedFile& file : files) {
    const bool below = folder_of(list).empty() || file.name.starts_with(folder_of(list) + "/");
    if (below && file.name != list && !listed.contains(file.name)) {
      check.notes.push_back(fmt::format("{} is not in {}, so nothing vouches for its bytes", file.name, list));
    }
  }
  return check;
}

}  // namespace capbench::imports::evidence
