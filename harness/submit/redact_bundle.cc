#include "harness/submit/redact_bundle.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/digest.h"
#include "base/utf8.h"
#include "harness/submit/redact_text.h"

namespace capbench::submit {
namespace {

using bundle::Bundle;
using observe::Addresses;

constexpr std::string_view kWithheld = "withheld";

using Counts = std::map<std::string, std::uint64_t>;

// What stands at a place where nothing may be replaced.
struct Obstacle {
  std::string member;
  std::string field;
  Find find;
};

std::string shown(std::string_view text) {
  std::string result;
  for (const char c : text) result += static_cast<unsigned char>(c) < ' ' || c == '\x7F' ? '?' : c;
  return to_utf8(result);
}

// "suites/0123456789ab....json" is enough for people.
std::string short_member(const std::string& member) {
  const std::size_t slash = member.find('/');
  constexpr std::size_t kDigits = 12;
  return slash == std::string::npos ? member : member.substr(0, slash + 1 + kDigits) + "...";
}

Error refusal(const std::vector<Obstacle>& obstacles) {
  const Obstacle& first = obstacles.front();
  std::string where = first.field;
  if (!first.find.key.empty() && first.find.key != first.field) where += ", \"" + shown(first.find.key) + "\"";
  std::string cause = "holds a " + kind_for_people(first.find.kind) + " (" + shown(first.find.text) +
                      "), and nothing can be replaced there: results everywhere are named by it";
  if (obstacles.size() > 1) cause += "; and so do " + std::to_string(obstacles.size() - 1) + " other places";
  return {ErrorKind::kFinding, short_member(first.member) + ": " + where, std::move(cause),
          "--keep '" + shown(first.find.text) +
              "' if it may leave this machine; otherwise measure again under another name (in a suite: relative paths "
              "of files, an alias for a host)"};
}

class BundleRedactor {
 public:
  BundleRedactor(const RedactionOptions& options, UsableDetails known)
      : left_(std::move(known.left)), text_(std::move(known.details), options.keep) {}

  Result<RedactedBundle> redacted(Bundle bundle) {
    for (const schema::SuiteRecord& suite : bundle.suites) look_at(suite);
    for (const schema::EnvironmentRecord& environment : bundle.environments) look_at(environment);
    for (schema::ClosureRecord& closure : bundle.closures) redact(closure);
    for (schema::RunRecord& run : bundle.runs) redact(run);
    redact_raw(bundle);
    for (schema::TrialRecord& trial : bundle.trials) redact(trial);
    for (schema::QualityRecord& check : bundle.quality) redact(check);
    for (schema::SourceRecord& source : bundle.sources) redact(source);
    for (schema::QuarantineRecord& row : bundle.quarantine) redact(row);
    enter("manifest.json");
    look_at(bundle.created_by, "created_by", Addresses::kKeep);
    if (!obstacles_.empty()) return refusal(obstacles_);
    list_replaced(bundle);
    return RedactedBundle{std::move(bundle), std::move(left_)};
  }

 private:
  // From here on, what is replaced belongs to this member.
  void enter(std::string member) {
    member_ = std::move(member);
    text_.take_counts();
    text_.take_finds();
  }

  void leave() {
    for (const auto& [kind, count] : text_.take_counts()) counts_[member_][kind_for_people(kind)] += count;
  }

  // A text that may be replaced. An empty one, as most are, costs nothing.
  void replace(std::string& text, std::string_view field, Addresses addresses = Addresses::kReplace) {
    if (!text.empty()) text = text_.redact(text, field, addresses);
  }

  void replace_arguments(std::vector<std::string>& arguments) {
    std::string option;
    for (std::string& argument : arguments) {
      const std::string given = argument;
      replace(argument, option);
      const std::size_t name = given.find_first_not_of('-');
      option = given.starts_with('-') && name != std::string::npos ? given.substr(name) : "";
      if (option.find('=') != std::string::npos) option.clear();
    }
  }

  void replace_variables(std::vector<std::string>& entries) {
    for (std::string& entry : entries) {
      const std::size_t sign = entry.find('=');
      if (sign != std::string::npos && is_credential(std::string_view(entry).substr(0, sign)) &&
          sign + 1 < entry.size() && entry.substr(sign + 1) != "<secret>") {
        entry = entry.substr(0, sign) + "=<secret>";
        ++counts_[member_][kind_for_people("secret")];
      }
      replace(entry, {});
    }
  }

  static bool is_credential(std::string_view name) {
    constexpr auto kEndings = std::to_array<std::string_view>({"_TOKEN", "_SECRET", "_API_KEY", "_ACCESS_KEY"});
    return std::any_of(kEndings.begin(), kEndings.end(), [&](std::string_view e) { return name.ends_with(e); });
  }

  // A text that must stay as it is.
  void look_at(const std::string& text, std::string_view field, Addresses addresses = Addresses::kReplace) {
    if (text.empty() || harmless_.contains({text, addresses})) return;
    Counts before = text_.take_counts();
    text_.take_finds();
    text_.redact(text, {}, addresses);
    std::vector<Find> finds = text_.take_finds();
    text_.take_counts();
    restore(std::move(before));
    if (finds.empty()) harmless_.insert({text, addresses});
    for (Find& find : finds) obstacles_.push_back({member_, std::string(field), std::move(find)});
  }

  void restore(Counts counts) {
    for (const auto& [kind, count] : counts) counts_[member_][kind_for_people(kind)] += count;
  }

  void look_at(const schema::SuiteRecord& suite) {
    enter(bundle::suite_member(suite));
    look_at(suite.name, "name");
    look_at(suite.json, "json");
    look_at_targets(suite.json);
  }

  // Suites are recorded without how their targets are reached; those of earlier versions are not. A host of somebody
  // else's network and a user of another machine look like any other word.
  void look_at_targets(const std::string& text) {
    constexpr auto kHarmless = std::to_array<std::string_view>({"kind", "machine", "guest", "image", "require"});
    const nlohmann::json suite = nlohmann::json::parse(text, nullptr, false);
    if (!suite.is_object() || !suite.contains("targets") || !suite["targets"].is_object()) return;
    for (const auto& [name, target] : suite["targets"].items()) {
      for (const auto& [key, value] : target.items()) {
        const std::string option = key.substr(0, key.find('.'));
        if (std::find(kHarmless.begin(), kHarmless.end(), option) != kHarmless.end()) continue;
        std::string told = value.is_string() ? value.get<std::string>()
                                             : value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
        if (text_.keeps(told)) continue;
        obstacles_.push_back({member_, "targets." + name, {"way to reach a target", key, std::move(told)}});
      }
    }
  }

  // Facts hold version numbers of four parts, and no addresses.
  void look_at(const schema::EnvironmentRecord& environment) {
    enter(bundle::environment_member(environment));
    look_at(environment.json, "facts", Addresses::kKeep);
    look_at(environment.machine_id, "machine_id");
    look_at(environment.machine_label, "machine_label", Addresses::kKeep);
  }

  void redact(schema::ClosureRecord& closure) {
    enter(bundle::closure_member(closure));
    for (schema::ClosureMember& member : closure.members) {
      look_at(member.role, "members.role");
      look_at(member.artifact.name, "members.name", Addresses::kKeep);
      replace(member.path, "path");
    }
    leave();
  }

  void redact(schema::RunRecord& run) {
    enter(bundle::run_member(run));
    look_at(run.machine_id, "machine_id");
    look_at(run.started_at, "started_at");
    replace(run.harness_version, "harness_version", Addresses::kKeep);
    look_at(run.state, "state");
    leave();
  }

  // llama-bench's own words for what it ran on are replaced as in its output, under the same names.
  template <class Row>
  void redact_row(Row& row) {
    look_at(row.test, "results.test", Addresses::kKeep);
    look_at(row.build, "results.build", Addresses::kKeep);
    replace(row.model_type, "model_type");
    replace(row.backends, "backends");
    replace(row.cpu_info, "cpu_info");
    replace(row.gpu_info, "gpu_info");
    replace(row.fields, "fields");
  }

  void redact(schema::TrialRecord& trial) {
    enter(bundle::trial_member(trial));
    look_at(trial.arm, "arm");
    look_at(trial.mode, "mode");
    look_at(trial.target, "target");
    look_at(trial.guest, "guest");
    look_at(trial.workload, "workload");
    look_at(trial.model, "model");
    look_at(trial.model_kind, "model_kind");
    look_at(trial.status, "status");
    look_at(trial.status_before_exclusion, "status_before_exclusion");
    look_at(trial.treatment, "treatment");
    look_at(trial.quality, "quality");
    look_at(trial.started_at, "started_at");
    replace(trial.reason, "reason");
    for (std::string& flag : trial.flags) replace(flag, "flags");
    replace_arguments(trial.argv);
    replace_variables(trial.environment_set);
    replace(trial.image, "image");
    replace(trial.hygiene, "hygiene");
    replace(trial.measured, "measured");
    for (schema::ResultRecord& row : trial.results) redact_row(row);
    for (schema::StatedResultRecord& row : trial.stated) redact_row(row);
    for (schema::CapabilityRecord& capability : trial.capabilities) {
      look_at(capability.name, "capabilities.name", Addresses::kKeep);
      look_at(capability.requested, "capabilities.requested", Addresses::kKeep);
      look_at(capability.observed, "capabilities.observed", Addresses::kKeep);
      replace(capability.source, "source");
    }
    rename(trial.stdout_sha256);
    rename(trial.stderr_sha256);
    rename(trial.probe_sha256);
    leave();
  }

  void redact(schema::QualityRecord& check) {
    enter(bundle::quality_member(check));
    look_at(check.arm, "arm");
    look_at(check.model, "model");
    look_at(check.kind, "kind");
    look_at(check.status, "status");
    look_at(check.checked_at, "checked_at");
    replace(check.reason, "reason");
    replace(check.figures, "figures");
    replace_arguments(check.argv);
    rename(check.stdout_sha256);
    rename(check.stderr_sha256);
    leave();
  }

  void redact(schema::SourceRecord& source) {
    enter(bundle::source_member(source));
    look_at(source.kind, "kind");
    replace(source.name, "name");
    for (std::string& note : source.notes) replace(note, "notes");
    leave();
  }

  void redact(schema::QuarantineRecord& row) {
    enter("sources/" + row.source_sha256 + ".json");
    replace(row.reason, "reason");
    replace(row.text, "text");
    leave();
  }

  void rename(std::string& digest) const {
    if (const auto it = renamed_.find(digest); it != renamed_.end()) digest = it->second;
  }

  void redact_raw(Bundle& bundle) {
    std::set<std::string> printed;
    for (const schema::TrialRecord& trial : bundle.trials) {
      printed.insert({trial.stdout_sha256, trial.stderr_sha256, trial.probe_sha256});
    }
    for (const schema::QualityRecord& check : bundle.quality) {
      printed.insert({check.stdout_sha256, check.stderr_sha256});
    }
    std::set<std::string> imported;
    for (const schema::SourceRecord& source : bundle.sources) imported.insert(source.sha256);
    std::map<std::string, std::string> raw;
    for (auto& [digest, bytes] : bundle.raw) {
      enter(bundle::raw_member(digest));
      std::string redacted = text_.redact(bytes);
      Counts counts = text_.take_counts();
      const bool is_source = imported.contains(digest);
      const bool is_printed = printed.contains(digest);
      // Pages of a database may hold what no reader of text finds.
      const bool is_text = is_utf8(bytes) && bytes.find('\0') == std::string::npos;
      if (is_source && (redacted != bytes || !is_text)) {
        counts_["sources/" + digest + ".json"][std::string(kWithheld)] = 1;
        if (!is_printed) continue;
      }
      std::string name = digest;
      if (redacted != bytes) {
        name = sha256(redacted);
        renamed_[digest] = name;
        renamed_members_[bundle::raw_member(digest)] = bundle::raw_member(name);
      }
      member_ = bundle::raw_member(name);
      Counts people;
      for (const auto& [kind, count] : counts) people[kind_for_people(kind)] += count;
      // Two outputs that differ only in what was replaced become one.
      for (const auto& [kind, count] : people) counts_[member_][kind] = std::max(counts_[member_][kind], count);
      raw.insert_or_assign(std::move(name), std::move(redacted));
    }
    bundle.raw = std::move(raw);
  }

  void list_replaced(Bundle& bundle) {
    for (bundle::Replaced& row : bundle.replaced) {
      if (const auto it = renamed_members_.find(row.member); it != renamed_members_.end()) row.member = it->second;
      counts_[row.member][row.kind] += row.count;
    }
    bundle.replaced.clear();
    for (const auto& [member, kinds] : counts_) {
      for (const auto& [kind, count] : kinds) bundle.replaced.push_back({member, kind, count});
    }
  }

  std::vector<std::string> left_;
  TextRedactor text_;
  std::string member_;
  std::map<std::string, Counts> counts_;                // by member, by kind for people
  std::map<std::string, std::string> renamed_;          // digests of raw output
  std::map<std::string, std::string> renamed_members_;  // the same as members
  std::set<std::pair<std::string, Addresses>> harmless_;
  std::vector<Obstacle> obstacles_;
};

}  // namespace

std::string kind_for_people(std::string_view kind) {
  constexpr auto kNames = std::to_array<std::pair<std::string_view, std::string_view>>({
      {"user", "user name"},
      {"home", "home folder"},
      {"host", "host name"},
      {"serial", "serial number"},
      {"uuid", "UUID"},
      {"mac", "MAC address"},
      {"ipv4", "IPv4 address"},
      {"ipv6", "IPv6 address"},
  });
  for (const auto& [name, people] : kNames) {
    if (kind == name) return std::string(people);
  }
  return std::string(kind);
}

Result<RedactedBundle> redact_bundle(Bundle bundle, const RedactionOptions& options) {
  return BundleRedactor(options, usable(options.details)).redacted(std::move(bundle));
}

}  // namespace capbench::submit
