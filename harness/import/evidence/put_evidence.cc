#include "harness/import/evidence/put_evidence.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace capbench::imports {
namespace {

constexpr std::size_t kPart = 1U << 20U;

Status put_bytes(std::string_view sha256, std::string_view bytes, schema::ImportWriter& writer) {
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, kPart);
    if (Status status = writer.put_part(sha256, part); !status) return status;
    bytes.remove_prefix(part.size());
  }
  return {};
}

Status put_sources(const EvidenceImport& evidence, schema::ImportWriter& writer) {
  std::set<std::string> added;
  for (const schema::SourceRecord& source : evidence.sources) {
    const Result<bool> is_new = writer.put_source(source);
    if (!is_new) return is_new.error();
    if (!*is_new) continue;
    added.insert(source.sha256);
    const auto raw = evidence.raw.find(source.sha256);
    if (raw == evidence.raw.end()) continue;
    if (Status status = put_bytes(source.sha256, raw->second, writer); !status) return status;
  }
  for (const schema::QuarantineRecord& row : evidence.quarantine) {
    if (!added.contains(row.source_sha256)) continue;
    if (Status status = writer.put_quarantine(row); !status) return status;
  }
  return {};
}

}  // namespace

Status put_evidence(const EvidenceImport& evidence, schema::ImportWriter& writer) {
  if (Status status = put_sources(evidence, writer); !status) return status;
  for (const schema::SuiteRecord& suite : evidence.suites) {
    if (Status status = writer.put_suite(suite); !status) return status;
  }
  for (const schema::EnvironmentRecord& environment : evidence.environments) {
    if (Status status = writer.put_environment(environment); !status) return status;
  }
  for (const schema::RunRecord& run : evidence.runs) {
    if (Status status = writer.put_run(run); !status) return status;
  }
  for (const schema::TrialRecord& trial : evidence.trials) {
    if (Status status = writer.put_trial(trial); !status) return status;
  }
  return {};
}

}  // namespace capbench::imports
