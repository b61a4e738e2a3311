#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <span>

#include "base/nearest.h"
#include "harness/target/command.h"
#include "harness/target/job_script.h"
#include "harness/target/local.h"
#include "harness/target/remote.h"
#include "harness/target/shell.h"
#include "harness/target/ssh.h"
#include "harness/target/target.h"
#include "harness/target/tools/anka.h"
#include "harness/target/tools/container.h"
#include "harness/target/tools/lima.h"
#include "harness/target/tools/lume.h"
#include "harness/target/tools/multipass.h"
#include "harness/target/tools/parallels.h"
#include "harness/target/tools/podman_machine.h"
#include "harness/target/tools/tart.h"
#include "harness/target/tools/utm.h"

namespace capbench::target {
namespace {

constexpr std::string_view kLocal = "local";

// A new kind is one line here (and its header above), and a file of its own.
constexpr std::array kKinds{
    &anka_kind,      &command_kind,        &container_kind, &lima_kind, &lume_kind, &multipass_kind,
    &parallels_kind, &podman_machine_kind, &ssh_kind,       &tart_kind, &utm_kind,
};

// What every kind takes, `local` too.
using Type = OptionRule::Type;
constexpr std::array kCommonOptions{
    OptionRule{"executable", Type::kText, false, "the program's path on the target"},
    OptionRule{"guest", Type::kText, false, "what its results carry: \"vm\", \"container\""},
    OptionRule{"image", Type::kText, false, "which image it runs, as you state it"},
    OptionRule{"lost_after_s", Type::kInteger, false, "after so many silent seconds the connection counts as lost"},
    OptionRule{"os", Type::kText, false, "\"linux\" or \"macos\""},
    OptionRule{"shim_dir", Type::kText, false, "the folder on the target with the shims"},
    OptionRule{"start", Type::kList, false, "the argv that starts it"},
    OptionRule{"stop", Type::kList, false, "the argv that stops it"},
    OptionRule{"wait_s", Type::kInteger, false, "how long it may take to answer after its start"},
    OptionRule{"work_dir", Type::kText, false, "the folder on the target for files and jobs"},
};

const KindInfo* find_kind(std::string_view name) {
  for (const auto& kind : kKinds) {
    if (kind().name == name) return &kind();
  }
  return nullptr;
}

Error usage(std::string what, std::string cause, std::string remedy) {
  return Error{ErrorKind::kUsage, std::move(what), std::move(cause), std::move(remedy)};
}

Error unknown_kind(std::string_view kind) {
  return usage("target kind \"" + std::string(kind) + "\"", "no such kind of target",
               nearest_or_all(kind, target_kinds()));
}

const OptionRule* find_rule(std::span<const OptionRule> own, std::string_view key) {
  for (const auto rules : {own, std::span<const OptionRule>(kCommonOptions)}) {
    const auto rule = std::find_if(rules.begin(), rules.end(), [&](const OptionRule& r) { return r.key == key; });
    if (rule != rules.end()) return &*rule;
  }
  return nullptr;
}

// Why the value cannot be used; empty: it can.
std::string problem_with(const OptionRule& rule, const std::string& value) {
  const bool has_control = std::any_of(value.begin(), value.end(), [](char c) { return c == '\0' || c == '\n'; });
  switch (rule.type) {
    case Type::kList:
      return "is no list";
    case Type::kBoolean:
      return value == "true" || value == "false" ? "" : "is neither true nor false";
    case Type::kInteger: {
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      constexpr std::int64_t kMost = 1'000'000;
      const bool is_number = error == std::errc() && end == value.data() + value.size() && !value.empty();
      return is_number && number >= 0 && number <= kMost ? "" : "is no whole number from 0 on";
    }
    case Type::kText:
      if (value.starts_with('-')) return "begins with a dash: it would be taken for an option";
      [[fallthrough]];
    case Type::kPath:
      if (value.empty()) return "is empty";
      return has_control ? "holds a newline or a NUL byte" : "";
  }
  return "";
}

Status check_options(std::string_view kind, std::span<const OptionRule> own, const TargetSpec& spec) {
  const std::string prefix = std::string(kind) + ": ";
  const auto unknown = [&](const std::string& key) {
    std::vector<std::string_view> known{"kind", "machine"};
    for (const OptionRule& rule : own) known.push_back(rule.key);
    for (const OptionRule& rule : kCommonOptions) known.push_back(rule.key);
    return usage(prefix + key, "no such key for this kind", nearest_or_all(key, known));
  };
  for (const auto& [key, value] : spec.options) {
    // What a target must be is for those who know its facts to read (harness/observe/requirements.h).
    if (key.starts_with("require.")) continue;
    const OptionRule* rule = find_rule(own, key);
    if (rule == nullptr) return unknown(key);
    if (const std::string problem = problem_with(*rule, value); !problem.empty()) {
      return usage(prefix + key, "\"" + value + "\" " + problem, std::string(rule->meaning));
    }
  }
  for (const auto& [key, values] : spec.lists) {
    const OptionRule* rule = find_rule(own, key);
    if (rule == nullptr) return unknown(key);
    if (rule->type != Type::kList) return usage(prefix + key, "is a list", std::string(rule->meaning));
    const bool has_nul =
        std::any_of(values.begin(), values.end(), [](const std::string& v) { return v.find('\0') != v.npos; });
    if (values.empty() || has_nul) {
      return usage(prefix + key, values.empty() ? "is empty" : "holds a NUL byte", std::string(rule->meaning));
    }
  }
  for (const OptionRule& rule : own) {
    const std::string key(rule.key);
    if (rule.required && !spec.options.contains(key) && !spec.lists.contains(key)) {
      return usage(prefix + key, "missing", "give " + std::string(rule.meaning));
    }
  }
  const std::string work_dir = option(spec, "work_dir");
  if (!work_dir.empty() && !work_dir.starts_with('/')) {
    return usage(prefix + "work_dir", "\"" + work_dir + "\" is no absolute path", "give it from `/` on");
  }
  return {};
}

}  // namespace

std::vector<std::string_view> target_kinds() {
  std::vector<std::string_view> names{kLocal};
  for (const auto& kind : kKinds) names.push_back(kind().name);
  std::sort(names.begin(), names.end());
  return names;
}

const Traits* kind_traits(std::string_view kind) {
  if (kind == kLocal) return &local_traits();
  const KindInfo* info = find_kind(kind);
  return info != nullptr ? &info->traits : nullptr;
}

Status check_spec(const TargetSpec& spec) {
  if (spec.kind == kLocal) return check_options(kLocal, {}, spec);
  const KindInfo* kind = find_kind(spec.kind);
  if (kind == nullptr) return unknown_kind(spec.kind);
  if (auto status = check_options(kind->name, kind->options, spec); !status) return status;
  return kind->check != nullptr ? kind->check(spec) : Status{};
}

Result<std::unique_ptr<Target>> make_target(std::string_view name, const TargetSpec& spec, ToolRunner& tools) {
  if (auto status = check_spec(spec); !status) {
    Error error = std::move(status).error();
    error.what = "target \"" + std::string(name) + "\": " + error.what;
    return error;
  }
  if (spec.kind == kLocal) return make_local_target(spec, std::string(name));
  return make_remote_target(std::string(name), spec, *find_kind(spec.kind), tools);
}

Result<std::unique_ptr<Target>> make_target(std::string_view name) {
  if (name == kLocal) return make_local_target();
  return Error{ErrorKind::kUsage, "target \"" + std::string(name) + "\"", "the suite has no such target",
               "\"local\", or a name under \"targets\" (kind: " + nearest_or_all("", target_kinds()) + ")"};
}

Result<std::unique_ptr<ToolRunner>> make_tools_on(std::string_view host_name, const TargetSpec& host,
                                                  ToolRunner& tools) {
  if (auto status = check_spec(host); !status) return std::move(status).error();
  const KindInfo* kind = find_kind(host.kind);
  if (kind == nullptr) {
    return usage("target \"" + std::string(host_name) + "\"", "is this machine, so tools run here anyway",
                 "leave `machine` out");
  }
  auto transport = kind->make(host);
  const Traits traits = transport->own_traits().value_or(kind->traits);
  return make_remote_tools(std::move(transport), traits, tools);
}

std::vector<std::string> describe_job(std::string_view /*name*/, const TargetSpec& spec, const Job& job) {
  const KindInfo* kind = find_kind(spec.kind);
  std::string line;
  for (const std::string& entry : job.set_env) {
    const std::size_t at = entry.find('=');
    line += entry.substr(0, at) + "=" +
            quote_all(std::vector<std::string>{entry.substr(std::min(at, entry.size() - 1) + 1)}) + " ";
  }
  line += quote_all(job.argv);
  if (kind == nullptr || !check_spec(spec)) return {line};
  const std::string work = option(spec, "work_dir", kind->work_dir.empty() ? "WORK" : kind->work_dir);
  const auto transport = kind->make(spec);
  const Traits traits = transport->own_traits().value_or(kind->traits);
  const ToolCommand command = transport->execute(start_script({work + "/jobs/JOB", "JOB"}), traits.standard_input);
  return {quote_all(command.argv), "there: " + line};
}

}  // namespace capbench::target
