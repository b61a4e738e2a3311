#include "harness/import/evidence/pairing.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "harness/import/evidence/names.h"
#include "harness/observe/ggml_log_metal.h"
#include "harness/observe/log_lines.h"
#include "harness/observe/published_shims.h"

namespace capbench::imports::evidence {
namespace {

// What nearly all time zones share.
constexpr int kHalfHour = 1800;

// "2026-08-09 11:15:12.566 llama-bench[932:16029] [Lume..." or "2026-08-09T18:15:22Z": seconds within half an hour.
std::optional<int> half_hour_seconds(std::string_view text) {
  if (text.size() < 19 || text[13] != ':' || text[16] != ':') return std::nullopt;
  const auto minutes = observe::leading_number<int>(text.substr(14, 2));
  const auto seconds = observe::leading_number<int>(text.substr(17, 2));
  if (!minutes || !seconds) return std::nullopt;
  return (*minutes * 60 + *seconds) % kHalfHour;
}

std::optional<int> banner_time(std::string_view log) {
  std::optional<int> time;
  observe::for_each_line(log, [&](std::string_view line) {
    if (!time && !observe::published_banners(line).empty()) time = half_hour_seconds(line);
  });
  return time;
}

// Whether the first row's test began within two minutes of the banner; nothing if either has no time.
std::optional<bool> times_fit(std::string_view log, const std::string& started_at) {
  constexpr int kSoon = 120;
  const auto banner = banner_time(log);
  const auto test = half_hour_seconds(started_at);
  if (!banner || !test) return std::nullopt;
  return (*test - *banner + kHalfHour) % kHalfHour <= kSoon;
}

std::set<std::string> gpus_of(std::string_view log) {
  std::set<std::string> names;
  for (const observe::MetalDevice& device : observe::metal_devices(log)) {
    names.insert(device.description.empty() ? device.name : device.description);
  }
  return names;
}

// A result and all its launches, or a log: one file each.
class Folder {
 public:
  Folder(const std::vector<Document>& documents, std::vector<Launch>& launches)
      : documents_(documents), launches_(launches) {
    for (std::size_t i = 0; i < documents.size(); ++i) {
      if (documents[i].role == Role::kLog) logs_.push_back(i);
    }
    for (std::size_t i = 0; i < launches.size(); ++i) by_result_[launches[i].results].push_back(i);
    for (const auto& [result, members] : by_result_) open_.push_back(result);
  }

  Pairing pair() {
    own_logs();
    pair_by([](const std::string& name) { return folder_of(name) + "/" + stem_of(name); });
    pair_by([](const std::string& name) { return stem_of(name); });
    pair_alone();
    pair_by_content();
    pairing_.unpaired = logs_;
    return std::move(pairing_);
  }

 private:
  // Files with rows and a log's lines in one.
  void own_logs() {
    for (const std::size_t result : std::vector<std::size_t>(open_)) {
      const std::string& bytes = documents_[result].bytes;
      if (gpus_of(bytes).empty() && observe::published_banners(bytes).empty()) continue;
      for (const std::size_t launch : by_result_[result]) launches_[launch].log_text = bytes;
      std::erase(open_, result);
    }
  }

  // Where just one result and one log have the same key.
  void pair_by(const std::function<std::string(const std::string&)>& key) {
    std::map<std::string, std::vector<std::size_t>> results;
    std::map<std::string, std::vector<std::size_t>> logs;
    for (const std::size_t i : open_) results[key(documents_[i].name)].push_back(i);
    for (const std::size_t i : logs_) logs[key(documents_[i].name)].push_back(i);
    for (const auto& [name, members] : results) {
      const auto found = logs.find(name);
      if (found == logs.end() || members.size() != 1 || found->second.size() != 1) continue;
      join(members.front(), found->second.front());
    }
  }

  // Where a folder has one result and one log, whatever they are called. Those paired already count: of a folder with
  // many, the two that are left need not belong together.
  void pair_alone() {
    std::map<std::string, std::vector<std::size_t>> results;
    std::map<std::string, std::vector<std::size_t>> logs;
    for (const auto& [result, members] : by_result_) results[folder_of(documents_[result].name)].push_back(result);
    for (std::size_t i = 0; i < documents_.size(); ++i) {
      if (documents_[i].role == Role::kLog) logs[folder_of(documents_[i].name)].push_back(i);
    }
    for (const auto& [folder, members] : results) {
      const auto found = logs.find(folder);
      if (found == logs.end() || members.size() != 1 || found->second.size() != 1) continue;
      const bool are_open = std::count(open_.begin(), open_.end(), members.front()) > 0 &&
                            std::count(logs_.begin(), logs_.end(), found->second.front()) > 0;
      if (are_open) join(members.front(), found->second.front());
    }
  }

  // Those first whose times fit, so that no other result takes their log. Only where each is the other's best.
  void pair_by_content() {
    for (const bool must_fit : {true, false}) {
      for (const std::size_t result : std::vector<std::size_t>(open_)) {
        const auto fits = [&](std::size_t a, std::size_t log) { return may_belong(a, log, must_fit); };
        const auto log = only_best(logs_, result, [&](std::size_t candidate) { return fits(result, candidate); });
        if (!log || only_best(open_, *log, [&](std::size_t other) { return fits(other, *log); }) != result) continue;
        pairing_.notes.push_back(fmt::format("{} is taken for the log of {}: both name the GPU \"{}\"",
                                             documents_[*log].name, documents_[result].name, launch_of(result).gpu));
        join(result, *log);
      }
    }
  }

  const Launch& launch_of(std::size_t result) const { return launches_[by_result_.at(result).front()]; }

  bool may_belong(std::size_t result, std::size_t log, bool must_fit) const {
    const Launch& launch = launch_of(result);
    const std::string& text = documents_[log].bytes;
    return !launch.gpu.empty() && gpus_of(text).contains(launch.gpu) &&
           times_fit(text, launch.started_at).value_or(!must_fit);
  }

  // Of those that fit, the one whose name has most words of the document's; nothing if several have.
  std::optional<std::size_t> only_best(const std::vector<std::size_t>& candidates, std::size_t document,
                                       const std::function<bool(std::size_t)>& fits) const {
    const std::set<std::string> name = word_set(stem_of(documents_[document].name));
    std::vector<std::size_t> best;
    std::size_t most = 0;
    for (const std::size_t candidate : candidates) {
      if (!fits(candidate)) continue;
      const std::size_t likeness = common_words(name, word_set(stem_of(documents_[candidate].name)));
      if (likeness > most) best.clear();
      if (likeness >= most) best.push_back(candidate);
      most = std::max(most, likeness);
    }
    return best.size() == 1 ? std::optional(best.front()) : std::nullopt;
  }

  void join(std::size_t result, std::size_t log) {
    const std::set<std::string> gpus = gpus_of(documents_[log].bytes);
    for (const std::size_t index : by_result_[result]) {
      Launch& launch = launches_[index];
      if (!launch.gpu.empty() && !gpus.empty() && !gpus.contains(launch.gpu)) {
        pairing_.findings.push_back(
            fmt::format("{} ran on \"{}\", but {} speaks of \"{}\": it is not taken for its log",
                        documents_[result].name, launch.gpu, documents_[log].name, *gpus.begin()));
        continue;
      }
      launch.log = log;
    }
    std::erase(open_, result);
    std::erase(logs_, log);
  }

  const std::vector<Document>& documents_;
  std::vector<Launch>& launches_;
  std::vector<std::size_t> open_;  // results without a log yet
  std::vector<std::size_t> logs_;  // logs without a result yet
  std::map<std::size_t, std::vector<std::size_t>> by_result_;
  Pairing pairing_;
};

}  // namespace

Pairing pair_logs(const std::vector<Document>& documents, std::vector<Launch>& launches) {
  return Folder(documents, launches).pair();
}

std::string_view log_of(const std::vector<Document>& documents, const Launch& launch) {
  return launch.log == kNone ? std::string_view(launch.log_text) : std::string_view(documents[launch.log].bytes);
}

}  // namespace capbench::imports::evidence
