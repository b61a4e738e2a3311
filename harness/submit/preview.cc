#include "harness/submit/preview.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/utf8.h"

namespace capbench::submit {
namespace {

using nlohmann::json;

// One line that a terminal only shows: no control characters, not those of two bytes either.
std::string shown(std::string_view text) {
  const std::string valid = to_utf8(text);
  std::string result;
  for (std::size_t at = 0; at < valid.size(); ++at) {
    const auto byte = static_cast<unsigned char>(valid[at]);
    const bool two = byte == 0xC2 && at + 1 < valid.size() && static_cast<unsigned char>(valid[at + 1]) < 0xA0;
    if (byte < ' ' || byte == 0x7F || two) {
      result += '?';
      at += two ? 1 : 0;
    } else {
      result += valid[at];
    }
  }
  return result;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr double kKibi = 1024;
  const auto size = static_cast<double>(bytes);
  if (size < 10 * kKibi) return fmt::format("{} bytes", bytes);
  if (size < 10 * kKibi * kKibi) return fmt::format("{:.0f} KiB", size / kKibi);
  return fmt::format("{:.0f} MiB", size / kKibi / kKibi);
}

std::uint64_t count_withheld(const bundle::Bundle& bundle) {
  std::set<std::string> absent;
  const auto look = [&](const std::string& digest) {
    if (!digest.empty() && !bundle.raw.contains(digest)) absent.insert(digest);
  };
  for (const schema::TrialRecord& trial : bundle.trials) {
    for (const std::string* digest : {&trial.stdout_sha256, &trial.stderr_sha256, &trial.probe_sha256}) look(*digest);
  }
  for (const schema::QualityRecord& check : bundle.quality) {
    look(check.stdout_sha256);
    look(check.stderr_sha256);
  }
  for (const schema::SourceRecord& source : bundle.sources) look(source.sha256);
  return absent.size();
}

std::vector<Preview::Trials> count_trials(const bundle::Bundle& bundle) {
  std::map<std::string, std::string> suites;
  for (const schema::SuiteRecord& suite : bundle.suites) suites[suite.id] = suite.name;
  std::map<std::tuple<std::string, std::string, std::string>, std::uint64_t> counts;
  for (const schema::TrialRecord& trial : bundle.trials) ++counts[{suites[trial.suite_id], trial.arm, trial.status}];
  std::vector<Preview::Trials> rows;
  for (const auto& [key, count] : counts) rows.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), count});
  return rows;
}

std::string members_text(const Preview& preview, bool every_member) {
  std::string text;
  if (every_member) {
    for (const Preview::Member& member : preview.members) {
      text += fmt::format("  {:>10}  {}\n", member.size, shown(member.path));
    }
    return text;
  }
  struct Sum {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::string, Sum> folders;
  for (const Preview::Member& member : preview.members) {
    Sum& sum = folders[member.path.substr(0, member.path.find('/'))];
    ++sum.count;
    sum.bytes += member.size;
  }
  for (const auto& [folder, sum] : folders) {
    text += fmt::format("  {:<14} {:>6}  {}\n", shown(folder), sum.count, bytes_text(sum.bytes));
  }
  return text;
}

// The list by kind, and where: the members' names are many.
std::string replaced_text(const Preview& preview, bool every_member) {
  if (preview.replaced.empty()) return "  nothing: no personal detail was found\n";
  std::string text;
  if (every_member) {
    for (const bundle::Replaced& row : preview.replaced) {
      text += fmt::format("  {:>6}  {:<16} {}\n", row.count, shown(row.kind), shown(row.member));
    }
    return text;
  }
  std::map<std::pair<std::string, std::string>, std::pair<std::uint64_t, std::uint64_t>> sums;
  for (const bundle::Replaced& row : preview.replaced) {
    auto& [count, members] = sums[{row.kind, row.member.substr(0, row.member.find('/'))}];
    count += row.count;
    ++members;
  }
  for (const auto& [key, sum] : sums) {
    text += fmt::format("  {:>6}  {:<16} in {} of {}\n", sum.first, shown(key.first), sum.second, shown(key.second));
  }
  return text;
}

}  // namespace

Result<Preview> preview_of(const bundle::Bundle& bundle, const bundle::Sealed& sealed) {
  const json manifest = json::parse(sealed.manifest, nullptr, false);
  const Error unreadable{ErrorKind::kMachine, "manifest.json", "cannot be read back", "report this: it is a fault"};
  if (!manifest.is_object() || !manifest.contains("members") || !manifest["members"].is_array()) return unreadable;
  Preview preview;
  preview.id = sealed.id;
  preview.archive_bytes = sealed.archive.size();
  preview.is_signed = !sealed.signature.empty();
  for (const json& member : manifest["members"]) {
    if (!member.is_object() || !member.contains("path") || !member["path"].is_string() || !member.contains("size") ||
        !member["size"].is_number_unsigned()) {
      return unreadable;
    }
    preview.members.push_back({member["path"], member["size"]});
  }
  preview.trials = count_trials(bundle);
  for (const schema::EnvironmentRecord& environment : bundle.environments) {
    preview.environments.push_back(environment.json);
  }
  preview.replaced = bundle.replaced;
  std::sort(preview.replaced.begin(), preview.replaced.end(),
            [](const auto& a, const auto& b) { return std::tie(a.member, a.kind) < std::tie(b.member, b.kind); });
  preview.withheld = count_withheld(bundle);
  return preview;
}

std::string preview_text(const Preview& preview, bool every_member) {
  std::string text = fmt::format("bundle {}\n{}, {}\n", preview.id, bytes_text(preview.archive_bytes),
                                 preview.is_signed ? "signed" : "not signed");
  text += "\ntrials\n";
  for (const Preview::Trials& row : preview.trials) {
    text += fmt::format("  {:>6}  {} / {}: {}\n", row.count, shown(row.suite), shown(row.arm), shown(row.status));
  }
  text += fmt::format("\nmembers{}\n", every_member ? " (bytes)" : "");
  text += members_text(preview, every_member);
  if (preview.withheld > 0) text += fmt::format("  raw output withheld: {}\n", preview.withheld);
  text += "\nfacts about the machines\n";
  for (const std::string& facts : preview.environments) text += "  " + shown(facts) + "\n";
  text += "\nreplaced\n" + replaced_text(preview, every_member);
  for (const std::string& name : preview.left) {
    text += fmt::format("  not replaced: the name \"{}\" where it stands alone, since it is a word of the output\n",
                        shown(name));
  }
  return text;
}

std::string preview_json(const Preview& preview) {
  json members = json::array();
  for (const Preview::Member& member : preview.members) {
    members.push_back({{"path", member.path}, {"size", member.size}});
  }
  json trials = json::array();
  for (const Preview::Trials& row : preview.trials) {
    trials.push_back({{"suite", row.suite}, {"arm", row.arm}, {"status", row.status}, {"count", row.count}});
  }
  json environments = json::array();
  for (const std::string& facts : preview.environments) environments.push_back(json::parse(facts, nullptr, false));
  json replaced = json::array();
  for (const bundle::Replaced& row : preview.replaced) {
    replaced.push_back({{"member", row.member}, {"kind", row.kind}, {"count", row.count}});
  }
  const json whole = {{"bundle", preview.id},
                      {"bytes", preview.archive_bytes},
                      {"signed", preview.is_signed},
                      {"members", std::move(members)},
                      {"trials", std::move(trials)},
                      {"environments", std::move(environments)},
                      {"replaced", std::move(replaced)},
                      {"withheld", preview.withheld},
                      {"left", preview.left}};
  return whole.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace capbench::submit
