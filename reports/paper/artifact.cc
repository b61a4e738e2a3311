// The artifact appendix, after the ACM's checklist.
#include <fmt/format.h>

#include <set>

#include "reports/paper/compose.h"
#include "reports/text.h"

namespace capbench::reports::paper {
namespace {

std::string joined(const std::set<std::string>& names) {
  std::vector<std::string> safe;
  for (const std::string& name : names) safe.push_back(one_line(name));
  return safe.empty() ? "not recorded" : fmt::format("{}", fmt::join(safe, "; "));
}

}  // namespace

PaperSection artifact_section(Composer& composer) {
  std::set<std::string> models;
  std::set<std::string> machines;
  std::set<std::string> devices;
  std::set<std::string> builds;
  std::set<std::string> suites;
  std::set<std::string> versions;
  std::set<std::string> workloads;
  bool twins = false;
  for (const SpeedupRow& row : composer.speedup().rows) {
    models.insert(row.model + (row.model_kind == "twin" ? " (twin)" : ""));
    machines.insert(row.machine);
    if (!row.device.empty()) devices.insert(row.device);
    if (!row.build.empty()) builds.insert(row.build);
    suites.insert(row.suite);
    versions.insert(row.capbench.begin(), row.capbench.end());
    workloads.insert(row.workload);
    twins = twins || row.model_kind == "twin";
  }
  PaperSection section = {"Artifact appendix", true, {}};
  section.blocks.push_back(paragraph(words(
      "The artifact is the store of results behind this paper: every sample, the raw output that it was read from, and "
      "the digests of everything that ran. Every number above is a macro with the query that prints it and the results "
      "that it follows from; one command says whether the store still gives all of them.")));
  section.blocks.push_back(paragraph(words("Check-list (meta-information):")));
  section.blocks.push_back(list({
      words("Algorithm: blocks of fresh processes in random order; block-adjusted ratios of medians with simultaneous "
            "intervals; minimal sufficient sets and cuts of capabilities."),
      words("Program: capbench " + joined(versions) + ", driving llama-bench."),
      words("Compilation: Bazel and a C++20 compiler; scripts/setup installs and builds all of it on Debian."),
      words("Builds of the application: " + joined(builds) + "."),
      words("Models: " + joined(models) +
            (twins ? ". Twins are written anew by `capbench models synth`, byte for byte the same." : ".")),
      words("Data set: none besides the models; prompts are random tokens."),
      words("Run-time environment: recorded for each trial (operating system, drivers, libraries, environment "
            "variables), with digests of every file mapped."),
      words("Hardware: " + joined(machines) + "; devices: " + joined(devices) + "."),
      words("Execution: one trial at a time on each machine; suites " + joined(suites) + "."),
      words("Metrics: tokens per second of prompt processing and of generation; workloads " + joined(workloads) + "."),
      words("Output: an SQLite store; reports as Markdown, CSV, JSON, HTML and LaTeX; this paper."),
      words("Experiments: `capbench plan SUITE` prints every trial, every command and an estimate of the time."),
      words("How much disk space is required? The models, as `capbench models list` gives their sizes, and a store of "
            "a few megabytes."),
      words("How much time is needed to prepare the workflow? That of scripts/setup: minutes."),
      words("How much time is needed to complete the experiments? As `capbench plan SUITE` estimates."),
      words("Publicly available? To be filled in by the authors."),
      words("Code licence: MIT. Data licence: to be filled in by the authors; results published with capbench itself "
            "are CC BY 4.0."),
      words("Workflow automation framework used? capbench."),
      words("Archived (DOI)? To be filled in by the authors."),
  }));
  section.blocks.push_back(
      paragraph(words("Description and installation: scripts/setup installs what is missing, "
                      "builds capbench and llama-bench and leaves the link bin/capbench.")));
  section.blocks.push_back(paragraph(words("Experiment workflow:")));
  section.blocks.push_back(list({
      words("`capbench doctor SUITE` says what a machine lacks."),
      words("`capbench run SUITE --db results.db` measures; an interrupted run goes on with --resume."),
      words("`capbench report paper --db results.db --out DIR` writes this text from the results."),
  }));
  section.blocks.push_back(paragraph(words("Evaluation and expected results:")));
  section.blocks.push_back(list({
      words("`capbench report paper --db results.db --check DIR` reads every number again and names those that the "
            "store does not give."),
      words("`capbench submit --db results.db --out results.capbundle`, then `capbench verify results.capbundle`, "
            "derives every number of the store from its raw output, offline."),
      words("On other hardware the speeds differ; the treatments, and which of them are proven, should not."),
  }));
  section.blocks.push_back(
      paragraph(words("Experiment customization: a suite is one JSON file of models, workloads, arms and factors.")));
  section.blocks.push_back(
      paragraph(words("Methodology: https://www.acm.org/publications/policies/artifact-review-and-badging-current.")));
  return section;
}

}  // namespace capbench::reports::paper
