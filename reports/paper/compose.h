// What the sections of a paper are put together from. Internal to this room. Pure.
#ifndef CAPBENCH_REPORTS_PAPER_COMPOSE_H_
#define CAPBENCH_REPORTS_PAPER_COMPOSE_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/paper/paper.h"
#include "reports/subject.h"

namespace capbench::reports::paper {

// A sentence that is being written: words and numbers in turn.
class Words {
 public:
  Words& say(std::string text);
  Words& number(std::string key);
  Line take() { return std::move(line_); }

 private:
  Line line_;
};

Line words(std::string text);
Line number_line(std::string key);

Block paragraph(Line line);
Block list(std::vector<Line> items);
Block table(PaperTable table);

// The reports that a paper is made from, its numbers so far, and where each result came from.
class Composer {
 public:
  Composer(const PaperSource& source, Numbers& numbers);

  const SpeedupReport& speedup() const { return source_.speedup; }
  const AblationReport& ablation() const { return source_.ablation; }

  // "tinyllama-pp512-3fa2b1": what stands for a row in keys. The digits name everything that tells rows apart, so a
  // key stays when other results join the store.
  static std::string row_key(const SpeedupRow& row);
  static std::string row_key(const AblationRow& row);

  // A number of a row: `member` is the path to it in the row's JSON, ".speedup.ratio".
  std::string of_row(const SpeedupRow& row, std::string_view name, std::string text, std::optional<double> value,
                     std::string_view member, const std::set<std::string>& modes);
  std::string of_row(const AblationRow& row, std::string_view name, std::string text, std::optional<double> value,
                     std::string_view member, const std::set<std::string>& arms);

  // A count over all results of the paper: `select` of the view latest_trial, joined with `join`, where `also` holds.
  std::string count(std::string_view name, std::size_t count, std::string_view select, std::string_view join = "",
                    std::string_view also = "");

  const std::set<std::string>& all_trials() const { return all_trials_; }

 private:
  std::string put(std::string key, std::string text, std::optional<double> value, std::string query,
                  const std::set<std::string>& ids);
  std::string command(std::string_view report, std::string_view jq) const;
  std::set<std::string> trials_of(const AblationRow& row, const std::set<std::string>& arms) const;

  const PaperSource& source_;
  Numbers& numbers_;
  // Counted trials by what tells rows apart and arm.
  std::map<std::pair<std::string, std::string>, std::set<std::string>> trials_by_arm_;
  std::set<std::string> all_trials_;
};

PaperSection setup_section(Composer& composer);
PaperSection method_section(Composer& composer);
PaperSection results_section(Composer& composer);
PaperSection ablation_section(Composer& composer);
PaperSection threats_section(Composer& composer);
PaperSection artifact_section(Composer& composer);

}  // namespace capbench::reports::paper

#endif  // CAPBENCH_REPORTS_PAPER_COMPOSE_H_
