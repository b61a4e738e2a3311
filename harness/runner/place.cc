#include "harness/runner/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/digest.h"
#include "base/path.h"
#include "harness/observe/environment.h"
#include "harness/observe/requirements.h"
#include "harness/observe/sources.h"
#include "harness/runner/injection.h"
#include "harness/suite/machine.h"
#include "harness/target/frame.h"
#include "harness/target/shell.h"
#include "shim/cpu/cpuinfo.h"
#include "shim/cpu/detect.h"

namespace capbench::runner {
namespace {

using nlohmann::json;

std::string image_json(const target::ImageIdentity& image) {
  if (image == target::ImageIdentity{}) return "";
  json node = {{"digest", image.digest}, {"source", image.source}, {"name", image.name}};
  if (!image.cloned_from.empty()) node["cloned_from"] = image.cloned_from;
  return node.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::int64_t cpus_of(const schema::EnvironmentRecord& environment) {
  const json facts = json::parse(environment.json, nullptr, false);
  if (!facts.is_object() || !facts.contains("cpus") || !facts["cpus"].is_number_integer()) return 0;
  return facts["cpus"].get<std::int64_t>();
}

// The members of its "require".
std::map<std::string, std::string> requirements_of(const suite::TargetSpec& spec) {
  constexpr std::string_view kPrefix = "require.";
  std::map<std::string, std::string> required;
  for (const auto& [key, value] : spec.options) {
    if (key.starts_with(kPrefix)) required.emplace(key.substr(kPrefix.size()), value);
  }
  return required;
}

constexpr std::string_view kDigestMark = "capbench-file";

// Prints "capbench-file SHA256 BYTES INDEX" for every file that can be read.
std::string digest_script(const std::vector<std::string>& paths) {
  std::string script =
      "hash() { if command -v sha256sum >/dev/null 2>&1; then sha256sum; else shasum -a 256; fi; }\n"
      "one() { [ -f \"$1\" ] && [ -r \"$1\" ] || return 0; d=$(hash <\"$1\") || return 0; "
      "printf '%s %s %s %s\\n' capbench-file \"${d%% *}\" $(wc -c <\"$1\") \"$2\"; }\n";
  for (std::size_t i = 0; i < paths.size(); ++i) script += fmt::format("one {} {}\n", target::quote(paths[i]), i);
  return script;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.find(' '), line.size());
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return words;
}

std::optional<std::uint64_t> to_number(std::string_view text) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != std::string_view::npos) {
    return std::nullopt;
  }
  return std::stoull(std::string(text));
}

template <class Take>
void each_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    take(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

Result<schema::ArtifactRecord> SharedDigests::digest(const std::filesystem::path& path) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return cache_.digest(path);
}

std::optional<std::string> MachineRegister::enter(const std::string& machine_id, const std::string& name) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto [it, is_new] = names_.emplace(machine_id, name);
  if (is_new || it->second == name) return std::nullopt;
  return it->second;
}

target::DigestOf SharedDigests::asker() {
  return [this](const std::filesystem::path& file) -> Result<target::FileDigest> {
    auto artifact = digest(file);
    if (!artifact) return std::move(artifact).error();
    return target::FileDigest{artifact->sha256, artifact->size};
  };
}

Status check_targets(const suite::Suite& suite) {
  for (const auto& [name, spec] : suite.targets) {
    Status status = target::check_spec(spec);
    if (status) status = observe::check_requirement_names(requirements_of(spec));
    if (!status) {
      Error error = std::move(status).error();
      error.what = fmt::format("$.targets.{}: {}", name, error.what);
      return error;
    }
  }
  return {};
}

Result<std::unique_ptr<Place>> Place::open(const std::string& name, const suite::Suite& suite, Place* machine,
                                           target::ToolRunner& tools, int stop_fd) {
  std::unique_ptr<Place> place(new Place);
  place->name_ = name;
  place->machine_ = machine;
  place->stop_fd_ = stop_fd;
  target::ToolRunner* runner = &tools;
  if (const auto it = suite.targets.find(name); it != suite.targets.end()) {
    place->spec_ = it->second;
    place->guest_ = suite::guest_of(name, suite.targets);
  }
  const suite::TargetSpec& spec = place->spec_;
  // A VM tool of another machine is run there; an ssh server is reached from here.
  if (machine != nullptr && !machine->is_local() && spec.kind != "ssh") {
    auto far = target::make_tools_on(machine->name_, machine->spec_, tools);
    if (!far) return std::move(far).error();
    place->far_tools_ = std::move(*far);
    runner = place->far_tools_.get();
  }
  auto target = place->is_local() ? target::make_target(name) : target::make_target(name, spec, *runner);
  if (!target) return std::move(target).error();
  place->target_ = std::move(*target);
  if (auto status = place->learn(stop_fd); !status) return std::move(status).error();
  return place;
}

Status Place::learn(int stop_fd) {
  if (is_local()) {
    environment_ = observe::collect_environment();
    cpus_ = cpus_of(environment_);
    os_ = std::string(this_os());
    cpu_features_ = shim::cpu::detect_cpu().usable();
    return {};
  }
  if (auto status = target_->bring_up(stop_fd); !status) return status;
  auto os = target_->os();
  if (!os) return std::move(os).error();
  os_ = std::move(*os);
  const std::string nonce = target::make_nonce();
  target::ToolLimits limits;
  limits.time_limit = std::chrono::minutes(3);
  limits.stop_fd = stop_fd;
  auto facts = target_->script(observe::facts_script(observe::sources(observe::Purpose::kEnvironment), nonce), limits);
  if (!facts) return std::move(facts).error();
  auto texts = observe::parse_facts_output(facts->out, nonce);
  if (!texts) {
    Error error = std::move(texts).error();
    error.what = fmt::format("target \"{}\": {}", name_, error.what);
    return error;
  }
  environment_ = observe::environment_from(*texts);
  cpus_ = cpus_of(environment_);
  if (const auto cpuinfo = texts->find("cpuinfo"); cpuinfo != texts->end()) {
    cpu_features_ = shim::cpu::features_of_cpuinfo(cpuinfo->second.text).value_or(0);
  }
  if (auto image = target_->image()) {
    image_ = image_json(*image);
    constexpr std::string_view kSha256 = "sha256:";
    const std::string_view digest = image->digest;
    if (digest.starts_with(kSha256) && is_sha256(digest.substr(kSha256.size()))) {
      // How large an image is depends on how it is counted.
      image_artifact_ = schema::ArtifactRecord{std::string(digest.substr(kSha256.size())), 0,
                                               image->name.empty() ? "image" : image->name};
    }
  }
  if (machine_ != nullptr) environment_.machine_id = machine_->environment().machine_id;

  const std::map<std::string, std::string> required = requirements_of(spec_);
  if (required.empty()) return {};
  const json host_facts = json::parse(host().environment().json, nullptr, false);
  const auto findings =
      observe::check_requirements(required, json::parse(environment_.json, nullptr, false), host_facts);
  if (findings.empty()) return {};
  std::string cause;
  for (const auto& finding : findings) cause += (cause.empty() ? "" : "; ") + finding.why;
  return Error{ErrorKind::kMachine, fmt::format("target \"{}\"", name_), "is not what the suite requires: " + cause,
               findings.front().remedy};
}

std::string Place::executable_there() const {
  return target::option(spec_, "executable");
}

std::vector<std::string> Place::cpu_variants_beside(const std::string& executable) {
  std::vector<std::string> variants;
  const std::string folder = executable.substr(0, executable.rfind('/') + 1);
  auto listed = target_->script(fmt::format("cd {} && ls", target::quote(folder.empty() ? "." : folder)));
  if (!listed) return variants;
  each_line(listed->out, [&](std::string_view line) {
    std::string variant(shim::cpu::variant_in_path(line));
    if (!variant.empty()) variants.push_back(std::move(variant));
  });
  std::sort(variants.begin(), variants.end());
  return variants;
}

Result<std::string> Place::put(const std::filesystem::path& local, SharedDigests& digests) {
  return target_->put(local, digests.asker(), stop_fd_);
}

std::map<std::string, schema::ArtifactRecord> Place::digests_there(const std::vector<std::string>& paths,
                                                                   SharedDigests& digests) {
  std::map<std::string, schema::ArtifactRecord> found;
  if (is_local()) {
    for (const std::string& path : paths) {
      if (auto artifact = digests.digest(path)) found.emplace(path, std::move(*artifact));
    }
    return found;
  }
  std::vector<std::string> unknown;
  for (const std::string& path : paths) {
    if (!known_.contains(path) && !path.empty()) unknown.push_back(path);
  }
  if (!unknown.empty()) {
    target::ToolLimits limits;
    limits.time_limit = std::chrono::minutes(10);
    limits.stop_fd = stop_fd_;
    if (auto printed = target_->script(digest_script(unknown), limits)) {
      for (const std::string& path : unknown) known_[path] = std::nullopt;
      each_line(printed->out, [&](std::string_view line) {
        const auto words = words_of(line);
        if (words.size() != 4 || words[0] != kDigestMark || !is_sha256(words[1])) return;
        const auto size = to_number(words[2]);
        const auto index = to_number(words[3]);
        if (!size || !index || *index >= unknown.size()) return;
        const std::string& path = unknown[*index];
        known_[path] = schema::ArtifactRecord{std::string(words[1]), *size, std::string(base_name(path))};
      });
    }
  }
  for (const std::string& path : paths) {
    const auto it = known_.find(path);
    if (it != known_.end() && it->second) found.emplace(path, *it->second);
  }
  return found;
}

std::optional<observe::Hygiene> Place::look() {
  if (is_local()) return observe::collect_hygiene();
  const std::string nonce = target::make_nonce();
  target::ToolLimits limits;
  limits.stop_fd = stop_fd_;
  auto printed = target_->script(observe::facts_script(observe::sources(observe::Purpose::kHygiene), nonce), limits);
  if (!printed) return std::nullopt;
  auto texts = observe::parse_facts_output(printed->out, nonce);
  if (!texts) return std::nullopt;
  return observe::hygiene_from(*texts);
}

}  // namespace capbench::runner
