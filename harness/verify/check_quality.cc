// Quality checks: figures and verdict out of llama-perplexity's raw output again.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "harness/observe/published_shims.h"
#include "harness/quality/plan.h"
#include "harness/quality/verdict.h"
#include "harness/verify/checks.h"
#include "shim/common/evidence.h"

namespace capbench::verify {
namespace {

using nlohmann::json;
using quality::Step;

constexpr std::string_view kOutputKind = "output";

// One job's part of a stream that holds several, each behind a line "==> STEP: COMMAND".
struct Part {
  Step step = Step::kBase;
  std::string_view text;
};

std::optional<Step> heading_at(std::string_view text) {
  constexpr std::string_view kMark = "==> ";
  if (!text.starts_with(kMark)) return std::nullopt;
  text.remove_prefix(kMark.size());
  for (const Step step : {Step::kBase, Step::kPrompt, Step::kDecode, Step::kOperators}) {
    const std::string_view name = quality::step_name(step);
    if (text.starts_with(name) && text.substr(name.size()).starts_with(": ")) return step;
  }
  return std::nullopt;
}

// A program may leave its last line unfinished, so headings are looked for within lines too.
std::vector<Part> parts_of(std::string_view stream) {
  std::vector<Part> parts;
  std::size_t begin = 0;
  constexpr std::size_t kMostParts = 10'000;  // of any check there are a few
  for (std::size_t at = stream.find("==> "); parts.size() < kMostParts && at != std::string_view::npos;
       at = stream.find("==> ", at + 1)) {
    const auto step = heading_at(stream.substr(at));
    if (!step) continue;
    if (!parts.empty()) parts.back().text = stream.substr(begin, at - begin);
    begin = std::min(stream.find('\n', at), stream.size() - 1) + 1;
    parts.push_back({*step, {}});
  }
  if (!parts.empty()) parts.back().text = stream.substr(begin);
  return parts;
}

std::vector<std::vector<std::string>> commands_of(const std::vector<std::string>& argv) {
  std::vector<std::vector<std::string>> commands;
  if (!argv.empty()) commands.emplace_back();
  for (const std::string& argument : argv) {
    if (argument == ";") {
      commands.emplace_back();
    } else {
      commands.back().push_back(argument);
    }
  }
  return commands;
}

// What was run for one workload.
struct Group {
  std::vector<quality::Job> jobs;
  std::vector<quality::Output> outputs;
};

// A workload's steps come in order; the next workload's begin where the order does.
std::vector<Group> groups_of(const std::vector<std::vector<std::string>>& commands, const std::vector<Part>& out,
                             const std::vector<Part>& err) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    const bool is_next = groups.empty() || out[i].step < out[i - 1].step ||
                         (out[i].step == out[i - 1].step && out[i].step != Step::kOperators);
    if (is_next) groups.emplace_back();
    groups.back().jobs.push_back({out[i].step, commands[i], "", ""});
    groups.back().outputs.push_back({out[i].step, "", 0, out[i].text, err[i].text});
  }
  return groups;
}

// What the checks of one run, arm and model go by.
struct Subject {
  const suite::Suite* suite = nullptr;
  const suite::Arm* arm = nullptr;
  std::string model_kind;  // "real" or "twin"
};

Subject subject_of(const Index& index, const schema::QualityRecord& check) {
  if (const TrialEntry* trial = index.trial_of(check.run_id, check.arm, check.model)) {
    return {&*trial->suite->suite, trial->arm, trial->record->model_kind};
  }
  // Its run was stopped before a trial of the arm: what the suite says must do.
  const schema::RunRecord* run = index.run(check.run_id);
  if (run == nullptr) return {};
  const auto entry = index.suites().find(run->suite_id);
  if (entry == index.suites().end() || !entry->second.suite) return {};
  const suite::Suite& suite = *entry->second.suite;
  const auto named = [](const auto& list, const std::string& name) {
    const auto found = std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.name == name; });
    return found == list.end() ? nullptr : &*found;
  };
  const suite::Arm* arm = named(suite.arms, check.arm);
  const suite::Model* model = named(suite.models, check.model);
  if (arm == nullptr || model == nullptr || !model->file.empty()) return {};
  return {&suite, arm, model->like.empty() ? "real" : "twin"};
}

std::optional<quality::Plan> plan_of(const Subject& subject) {
  const suite::Quality& wanted = *subject.suite->quality;
  const quality::Settings settings{wanted.text,   wanted.max_mean_kl, wanted.max_kl,
                                   wanted.chunks, wanted.ctx,         wanted.ops};
  quality::ModelFacts facts;
  facts.twin_fill = subject.model_kind == "twin" ? "planted" : "";
  facts.vocabulary = 1;  // that there is one; how large it is the bundle does not say
  std::optional<std::string> own;
  if (wanted.text != "builtin") own = std::string(static_cast<std::size_t>(wanted.ctx * wanted.chunks), ' ');
  auto plan = quality::make_plan(settings, facts, own);
  if (!plan) return std::nullopt;
  return std::move(*plan);
}

std::string short_text(const json& value) {
  return fmt::format("{:.60}", value.dump(-1, ' ', true, json::error_handler_t::replace));
}

// The first member of the figures that the raw output does not give; empty if there is none.
std::string figures_difference(const json& recorded, const json& derived, bool own_text) {
  for (const char* name : {"ctx", "chunks", "positions", "limits", "text", "prompt", "decode", "operators"}) {
    if (std::string_view(name) == "text" && own_text) continue;
    const auto a = recorded.find(name);
    const auto b = derived.find(name);
    if (a == recorded.end() && b == derived.end()) continue;
    if (a == recorded.end()) return fmt::format("{} is not recorded", name);
    if (b == derived.end()) return fmt::format("{} is recorded, and nothing shows it", name);
    if (*a == *b) continue;
    if (!a->is_object() || !b->is_object()) {
      return fmt::format("{}: {} recorded, the raw output gives {}", name, short_text(*a), short_text(*b));
    }
    for (const auto& [key, value] : b->items()) {
      const auto found = a->find(key);
      if (found != a->end() && *found == value) continue;
      return fmt::format("{}.{}: {} recorded, the raw output gives {}", name, key,
                         found == a->end() ? "nothing" : short_text(*found), short_text(value));
    }
    return fmt::format("{}: members that the raw output does not give", name);
  }
  return "";
}

struct Derived {
  std::string status = "passed";
  std::string why;
  std::string difference;  // of figures
};

void make_worse(Derived& derived, const std::string& status, const std::string& why) {
  const auto rank = [](const std::string& one) { return one == "wrong" ? 2 : one == "unchecked" ? 1 : 0; };
  if (rank(status) > rank(derived.status)) derived.status = status;
  if (status != "passed" && derived.why.empty()) derived.why = why;
}

void derive_group(const quality::Plan& plan, const Group& group, const json& recorded, bool own_text,
                  Derived& derived) {
  quality::Reference reference;
  quality::Verdict verdict;
  if (group.jobs.front().step == Step::kBase) {
    // The reference arm gave nothing to compare with; its output is kept here.
    reference = quality::judge_reference(plan, group.outputs.front());
    make_worse(derived, reference.wrong ? "wrong" : "unchecked", reference.why);
  } else {
    const auto perplexity = recorded.find("reference_perplexity");
    if (perplexity != recorded.end() && perplexity->is_number()) {
      reference = {true, perplexity->get<double>(), "", false};
    }
    verdict = quality::judge_arm(plan, reference, group.jobs, group.outputs, false);
    make_worse(derived, verdict.status, verdict.why);
  }
  if (!derived.difference.empty()) return;
  const json again = json::parse(quality::verdict_json(plan, reference, verdict), nullptr, false);
  derived.difference = figures_difference(recorded, again, own_text);
}

std::set<std::string> domains_of(const std::map<std::string, std::string>& levels) {
  std::set<std::string> domains;
  for (const auto& [name, level] : levels) domains.insert(name.substr(0, name.find('.')));
  return domains;
}

// The check ran under its arm's own treatment, as far as the shims' lines show; empty if it did.
std::string treatment_problem(const suite::Arm& arm, std::string_view log) {
  const std::vector<shim::Banner> banners = shim::scan_banners(log).banners;
  const auto published = observe::published_banners(log);
  const bool is_published =
      std::any_of(published.begin(), published.end(), [](const auto& banner) { return banner.enabled; });
  const auto has = [&](std::string_view role, const std::string& domain) {
    return std::any_of(banners.begin(), banners.end(), [&](const shim::Banner& banner) {
      return banner.has_role(role) && (domain.empty() || banner.domain == domain);
    });
  };
  for (const std::string& domain : domains_of(arm.set)) {
    if (!has("shim", domain) && !(domain == "metal" && is_published)) {
      return fmt::format("was made without the {} shim, which the arm has", domain);
    }
  }
  for (const std::string& domain : domains_of(arm.guest)) {
    if (!has("guest", domain)) return fmt::format("was made without the {} stand-in guest, which the arm has", domain);
  }
  if (arm.set.empty() && (is_published || has("shim", ""))) return "was made with a shim, which the arm does not have";
  return "";
}

// What kept a check from being taken apart; empty if nothing did.
std::string obstacle(const Subject& subject) {
  if (subject.suite == nullptr) return "no trial says what it is of";
  if (!subject.suite->quality) return "its suite asks for none";
  return "";
}

// `read`: raw bytes that checks have taken so far.
void check_record(const Index& index, const schema::QualityRecord& check, std::uint64_t& read, Rows& rows) {
  const std::string member = bundle::quality_member(check);
  if (check.kind != kOutputKind) {
    rows.skipped(member, fmt::format("of kind \"{:.40}\"", check.kind));
    return;
  }
  const std::vector<std::vector<std::string>> commands = commands_of(check.argv);
  if (commands.empty()) {
    // Nothing was run, so nothing can have passed.
    if (check.status == "unchecked") {
      rows.passed();
    } else {
      rows.failed(place(member, "status"), fmt::format("{} recorded, and nothing was run", check.status));
    }
    return;
  }
  const Subject subject = subject_of(index, check);
  if (const std::string why = obstacle(subject); !why.empty()) {
    rows.skipped(member, why);
    return;
  }
  const auto out = index.raw(check.stdout_sha256);
  const auto err = index.raw(check.stderr_sha256);
  if (!out || !err) {
    rows.skipped(member, std::string(kWithheld));
    return;
  }
  read += out->size() + err->size();
  if (read > kMostRawBytes) {
    rows.skipped(member, "the bundle's raw output is more than is read again");
    return;
  }
  const std::vector<Part> of_out = parts_of(*out);
  const std::vector<Part> of_err = parts_of(*err);
  const bool is_whole = of_out.size() == commands.size() && of_err.size() == commands.size() &&
                        std::equal(of_out.begin(), of_out.end(), of_err.begin(),
                                   [](const Part& a, const Part& b) { return a.step == b.step; });
  if (!is_whole) {
    rows.failed(place(member, "stdout_sha256"),
                fmt::format("{} commands, and raw output of {} and {}", commands.size(), of_out.size(), of_err.size()));
    return;
  }
  const auto plan = plan_of(subject);
  if (!plan) {
    rows.failed(member, "the suite's quality settings cannot be used");
    return;
  }
  for (const Part& part : of_err) {
    if (part.step == Step::kBase) continue;  // the reference arm's
    if (const std::string problem = treatment_problem(*subject.arm, part.text); !problem.empty()) {
      rows.failed(place(member, "stderr_sha256"), fmt::format("arm \"{:.60}\": {}", check.arm, problem));
      return;
    }
  }
  const std::vector<Group> groups = groups_of(commands, of_out, of_err);
  const json figures = json::parse(check.figures, nullptr, false);
  const auto figures_of = [&](std::size_t i) {
    if (figures.is_array()) return i < figures.size() ? figures[i] : json();
    return groups.size() == 1 ? figures : json();
  };
  Derived derived;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const json recorded = figures_of(i);
    if (!recorded.is_object()) {
      rows.failed(place(member, "figures"), "no figures of what was run");
      return;
    }
    derive_group(*plan, groups[i], recorded, subject.suite->quality->text != "builtin", derived);
  }
  if (!derived.difference.empty()) {
    rows.failed(place(member, "figures"), fmt::format("arm \"{:.60}\": {}", check.arm, derived.difference));
  } else if (check.status == derived.status) {
    rows.passed();
  } else if (check.status == "passed") {
    rows.failed(place(member, "status"),
                fmt::format("arm \"{:.60}\": passed recorded, the raw output gives {}: {:.300}", check.arm,
                            derived.status, derived.why));
  } else {
    // How its programs exited and how large the vocabulary is are not recorded: either may have decided.
    rows.flagged(place(member, "status"), fmt::format("arm \"{:.60}\": {} recorded, the raw output alone gives {}",
                                                      check.arm, check.status, derived.status));
  }
}

using Key = std::tuple<std::string, std::string, std::string>;  // run, arm, model

}  // namespace

void check_quality(const Index& index, Rows& rows) {
  std::map<Key, const schema::QualityRecord*> latest;
  std::uint64_t read = 0;
  for (const schema::QualityRecord& check : index.bundle().quality) {
    check_record(index, check, read, rows);
    if (check.kind != kOutputKind) continue;
    const auto [found, is_new] = latest.try_emplace({check.run_id, check.arm, check.model}, &check);
    if (!is_new && found->second->attempt < check.attempt) found->second = &check;
  }
  for (const TrialEntry& trial : index.trials()) {
    const schema::TrialRecord& record = *trial.record;
    const auto found = latest.find({record.run_id, record.arm, record.model});
    const std::string expected = found == latest.end() ? "unchecked" : found->second->status;
    if (record.quality == expected) {
      rows.passed();
    } else {
      rows.failed(place(trial.member, "quality"),
                  fmt::format("{} recorded, {}", record.quality,
                              found == latest.end() ? "and no check is in the bundle"
                                                    : "the check of its arm says " + found->second->status));
    }
  }
}

}  // namespace capbench::verify
