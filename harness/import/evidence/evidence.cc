#include "harness/import/evidence/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/digest.h"
#include "base/path.h"
#include "harness/import/evidence/assemble.h"
#include "harness/import/evidence/document.h"
#include "harness/import/evidence/judge.h"
#include "harness/import/evidence/launches.h"
#include "harness/import/evidence/model_names.h"
#include "harness/import/evidence/names.h"
#include "harness/import/evidence/pairing.h"
#include "harness/import/evidence/sums.h"
#include "harness/import/evidence/table.h"
#include "harness/import/evidence/workload_names.h"
#include "harness/observe/ggml_log_metal.h"
#include "harness/stats/summary.h"

namespace capbench::imports {
namespace {

using namespace evidence;  // NOLINT(google-build-using-namespace): this room's own parts

constexpr std::string_view kNoMachine = "a machine that is not named";

std::string with_lf(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != '\r' || i + 1 == bytes.size() || bytes[i + 1] != '\n') out.push_back(bytes[i]);
  }
  return out;
}

// In the order of their names, so that the order of the listing does not matter.
Result<std::vector<Document>> read_all(const std::string& folder, const std::vector<EvidenceFile>& files,
                                       EvidenceImport& import) {
  if (files.size() > kMaxEvidenceFiles) {
    return Error{ErrorKind::kUsage, folder,
                 fmt::format("{} files; at most {} are read", files.size(), kMaxEvidenceFiles),
                 "import its parts one by one"};
  }
  std::vector<const EvidenceFile*> sorted;
  for (const EvidenceFile& file : files) sorted.push_back(&file);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  std::vector<Document> documents;
  for (const EvidenceFile* file : sorted) {
    if (file->size > kMaxEvidenceFile) {
      import.notes.push_back(fmt::format("{} is not read: {} bytes, more than {} MiB", clean(file->name), file->size,
                                         kMaxEvidenceFile >> 20U));
      import.files.push_back({clean(file->name), "not read: too large"});
      continue;
    }
    Result<std::string> bytes = file->read();
    if (!bytes) return std::move(bytes).error();
    documents.push_back(read_document(file->name, std::move(*bytes)));
  }
  return documents;
}

void check_digests(std::vector<Document>& documents, EvidenceImport& import) {
  std::vector<SummedFile> summed;
  for (const Document& document : documents) {
    summed.push_back({document.name, document.sha256, sha256(with_lf(document.bytes))});
  }
  bool any = false;
  for (Document& document : documents) {
    if (document.role != Role::kSums) continue;
    any = true;
    SumsCheck check = check_sums(document.name, document.sums, summed);
    document.fate = fmt::format("{} digests: {}", document.sums.size(),
                                check.findings.empty() ? "no file differs" : "files differ");
    for (std::string& note : check.notes) import.notes.push_back(std::move(note));
    for (std::string& finding : check.findings) import.findings.push_back(std::move(finding));
    for (Document& other : documents) {
      other.altered |= std::count(check.altered.begin(), check.altered.end(), other.name) > 0;
    }
  }
  if (!any) import.notes.emplace_back("the folder has no list of digests, so nothing vouches for its bytes");
}

// Two files of the same bytes are one.
std::vector<Launch> find_launches(std::vector<Document>& documents, EvidenceImport& import) {
  std::map<std::string, std::string> first;  // by digest
  std::vector<Launch> launches;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    Document& document = documents[i];
    if (document.role != Role::kResults) continue;
    const auto [original, is_new] = first.emplace(document.sha256, document.name);
    if (!is_new) {
      document.fate = "the same bytes as " + original->second;
      import.notes.push_back(fmt::format("{} is {}", document.name, document.fate));
      continue;
    }
    if (document.kind == "google-benchmark") {
      document.fate = "not imported as evidence: Google Benchmark's results name no mode";
      import.notes.push_back(fmt::format("{} is {}; import the file itself", document.name, document.fate));
      continue;
    }
    for (Launch& launch : split_launches(document, i)) launches.push_back(std::move(launch));
  }
  return launches;
}

std::string runtime_of_log(const Document& log, const std::vector<Launch>& launches) {
  const std::set<std::string> said = word_set(log.bytes + " " + log.name);
  const bool mlx = said.contains("mlx") || said.contains("nanobind");
  const bool llama = log.bytes.find("llama") != std::string::npos || log.bytes.find("ggml") != std::string::npos;
  if (mlx != llama) return std::string(mlx ? kMlxLm : kLlamaBench);
  std::set<std::string> runtimes;
  for (const Launch& launch : launches) runtimes.insert(launch.runtime);
  return runtimes.size() == 1 ? *runtimes.begin() : std::string();
}

// A log without results that ends in an error is a run that failed.
void add_failures(std::vector<Document>& documents, const std::vector<std::size_t>& unpaired,
                  std::vector<Launch>& launches, EvidenceImport& import) {
  std::vector<Launch> failed;
  for (const std::size_t i : unpaired) {
    Document& log = documents[i];
    if (last_words(log.bytes).empty()) {
      log.fate = "a log that belongs to no result";
      import.notes.push_back(fmt::format("{} is {}", log.name, log.fate));
      continue;
    }
    Launch launch;
    launch.log = i;
    launch.runtime = runtime_of_log(log, launches);
    failed.push_back(std::move(launch));
  }
  for (Launch& launch : failed) launches.push_back(std::move(launch));
}

void name_machines(std::vector<Launch>& launches, const std::vector<Document>& documents,
                   const std::vector<std::string>& names, const EvidenceOptions& options, EvidenceImport& import) {
  std::set<std::string> chips;
  for (Launch& launch : launches) {
    launch.machine = clean(chip_of(launch.cpu));
    if (launch.machine.empty()) {
      for (const observe::MetalDevice& device : observe::metal_devices(log_of(documents, launch))) {
        if (device.description.find("Paravirtual") == std::string::npos) launch.machine = clean(device.description);
      }
    }
    if (!launch.machine.empty()) chips.insert(launch.machine);
  }
  if (!options.machine.empty()) {
    for (Launch& launch : launches) launch.machine = options.machine;
    return;
  }
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (!launches[i].machine.empty()) continue;
    launches[i].machine = chips.size() == 1 ? *chips.begin() : std::string(kNoMachine);
    import.notes.push_back(fmt::format("{} names no machine; taken for {}", names[i], launches[i].machine));
  }
  for (const std::string& chip : chips) {
    import.notes.push_back(
        fmt::format("the machine is called by its chip, \"{}\": machines of one chip look like one", chip));
  }
}

std::string fate_of(const Launch& launch) {
  std::string fate = fmt::format("{} of {}: ", launch.results == kNone ? "a run" : "results", launch.arm);
  const bool excluded = launch.status == "ok" && !launch.excluded.empty();
  fate += excluded ? "excluded" : launch.status;
  if (!launch.reason.empty()) fate += " (" + launch.reason + ")";
  for (const std::string& why : launch.excluded) fate += ", " + why;
  fate += ", treatment " + launch.treatment;
  if (!launch.doubt.empty() && launch.doubt != launch.reason) fate += " (" + launch.doubt + ")";
  return fate;
}

void tell_fates(std::vector<Document>& documents, const std::vector<Launch>& launches) {
  const auto add = [](std::string& fate, const std::string& more) { fate += (fate.empty() ? "" : "; ") + more; };
  for (const Launch& launch : launches) {
    const bool kept = !launch.model.empty() && !launch.workload_name.empty();
    const std::string what =
        kept ? fate_of(launch) : "a run that failed, of which nothing says what it was to measure: " + launch.reason;
    if (launch.results == kNone) {
      add(documents[launch.log].fate, what);
      continue;
    }
    add(documents[launch.results].fate, what);
    std::string& log_fate = documents[launch.log == kNone ? launch.results : launch.log].fate;
    if (launch.log != kNone && log_fate.empty()) log_fate = "the log of " + documents[launch.results].name;
  }
  for (Document& document : documents) {
    if (!document.quarantine.empty())
      add(document.fate, fmt::format("{} rows quarantined", document.quarantine.size()));
    if (document.fate.empty()) {
      document.fate = document.role == Role::kLog ? "a log that belongs to no result" : "not a result";
    }
  }
}

// What the tables are compared with: launches that count.
std::vector<Cell> cells_of(const std::vector<Launch>& launches, const Models& models) {
  std::map<std::vector<std::string>, Cell> cells;
  for (const Launch& launch : launches) {
    const bool counts = launch.status == "ok" && launch.excluded.empty() && launch.treatment != "invalid";
    const auto named = models.find({launch.runtime, launch.model});
    if (!counts || launch.arm != launch.mode || named == models.end()) continue;
    for (const ImportedRow& row : launch.rows) {
      if (row.mean_only()) continue;
      const schema::ResultRecord& result = row.result;
      Cell& cell = cells[{launch.runtime, launch.machine, launch.model, launch.workload_name, result.test}];
      cell.name = fmt::format("{}, {}", launch.model, result.test);
      cell.test = result.test;
      cell.about = named->second.about;
      std::vector<double> samples = stats::tokens_per_second(result.n_prompt + result.n_gen, result.samples_ns);
      if (launch.mode == "bare-metal") cell.bare_metal.push_back(std::move(samples));
      if (launch.mode == "stock") cell.stock.push_back(std::move(samples));
      if (launch.mode == "unlocked") cell.unlocked.push_back(std::move(samples));
    }
  }
  std::vector<Cell> list;
  for (auto& [key, cell] : cells) list.push_back(std::move(cell));
  return list;
}

void check_tables(std::vector<Document>& documents, const std::vector<Cell>& cells, EvidenceImport& import) {
  for (Document& document : documents) {
    if (document.role != Role::kTable) continue;
    TableCheck check = check_table(document.name, document.table, cells);
    document.fate = fmt::format(
        "a table: {} figures are what the samples give, {} what they give as speeds of six digits, {} are neither",
        check.exactly, check.rounded, check.findings.size());
    for (std::string& note : check.notes) import.notes.push_back(std::move(note));
    for (std::string& finding : check.findings) import.findings.push_back(std::move(finding));
  }
}

void add_sources(std::vector<Document>& documents, const EvidenceOptions& options, EvidenceImport& import) {
  std::set<std::string> known;
  for (Document& document : documents) {
    import.files.push_back({clean(document.name), clean(document.fate)});
    if (!known.insert(document.sha256).second) continue;
    schema::SourceRecord source;
    source.sha256 = document.sha256;
    source.kind = document.kind;
    source.name = clean(foreign_base_name(document.name));
    source.size = document.bytes.size();
    source.notes.push_back(clean(document.fate));
    for (const std::string& note : document.notes) source.notes.push_back(clean(note));
    if (document.altered) source.notes.emplace_back("a list of digests says other bytes");
    if (!options.keep_raw) source.notes.emplace_back("raw withheld");
    import.sources.push_back(std::move(source));
    for (const QuarantinedRow& row : document.quarantine) {
      import.quarantine.push_back(
          {document.sha256, static_cast<std::int64_t>(row.place.line), clean(row.reason), clean(row.text)});
    }
    if (options.keep_raw) import.raw.emplace(document.sha256, document.bytes);
  }
  std::sort(import.files.begin(), import.files.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
}

std::vector<std::string> names_of(const std::vector<Document>& documents, const std::vector<Launch>& launches) {
  std::vector<std::string> names;
  for (const Launch& launch : launches) {
    names.push_back(documents[launch.results != kNone ? launch.results : launch.log].name);
  }
  return names;
}

void flag(std::vector<Launch>& launches, const std::vector<Document>& documents, const EvidenceOptions& options) {
  for (Launch& launch : launches) {
    const auto altered = [&](std::size_t i) { return i != kNone && documents[i].altered; };
    if (altered(launch.results) || altered(launch.log)) launch.flags.emplace_back("digest-differs");
    if (launch.runtime == kMlxLm && launch.results != kNone) launch.flags.emplace_back("samples from rates");
    if (!options.keep_raw) launch.flags.emplace_back("raw withheld");
    std::sort(launch.flags.begin(), launch.flags.end());
  }
}

}  // namespace

bool looks_like_evidence(const std::vector<std::string>& names) {
  std::set<std::string> results;
  std::set<std::string> modes;
  for (const std::string& name : names) {
    const std::string base = lower(foreign_base_name(name));
    if (base.starts_with("sha256sum") || base == "checksums.txt" || base == "checksums.sha256") return true;
    const bool may_be_result = base.ends_with(".json") || base.ends_with(".jsonl") || base.ends_with(".csv") ||
                               base.ends_with(".sql") || base.ends_with(".txt") || base.ends_with(".md");
    if (is_log_name(name) || !may_be_result) continue;
    results.insert(folder_of(name) + "/" + stem_of(name));
    if (const std::string mode = mode_said_by(name); !mode.empty()) modes.insert(mode);
  }
  if (modes.size() > 1) return true;
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return is_log_name(name) && results.contains(folder_of(name) + "/" + stem_of(name));
  });
}

Result<EvidenceImport> import_evidence(const std::string& folder, const std::vector<EvidenceFile>& files,
                                       const EvidenceOptions& options) {
  EvidenceImport import;
  auto read = read_all(folder, files, import);
  if (!read) return std::move(read).error();
  std::vector<Document>& documents = *read;
  check_digests(documents, import);
  std::vector<Launch> launches = find_launches(documents, import);
  if (launches.empty()) {
    return Error{ErrorKind::kUsage, folder, "no file in it holds results of llama-bench or MLX-LM",
                 "give the folder that the result files lie in"};
  }
  Pairing pairing = pair_logs(documents, launches);
  add_failures(documents, pairing.unpaired, launches, import);
  for (std::string& note : pairing.notes) import.notes.push_back(std::move(note));
  for (std::string& finding : pairing.findings) import.findings.push_back(std::move(finding));

  for (Launch& launch : launches) judge_mode(launch, documents, import.notes);
  guess_treatments(launches, documents, import.notes);
  name_arms(launches);
  const std::vector<std::string> names = names_of(documents, launches);
  name_machines(launches, documents, names, options, import);
  const Models models = name_models(launches, names, import.notes);
  const Workloads workloads = name_workloads(launches);
  for (Launch& launch : launches) judge_treatment(launch, documents);
  exclude_superseded(launches, documents);
  flag(launches, documents, options);
  if (Status status = assemble(folder, documents, models, workloads, options, launches, import); !status) {
    return std::move(status).error();
  }
  check_tables(documents, cells_of(launches, models), import);
  tell_fates(documents, launches);
  add_sources(documents, options, import);
  if (!options.keep_raw)
    import.notes.emplace_back("raw withheld: the files' bytes are named by their digests, not kept");
  for (std::string& note : import.notes) note = clean(note);
  for (std::string& finding : import.findings) finding = clean(finding);
  return import;
}

}  // namespace capbench::imports
