#include "harness/import/row.h"

#include <utility>

#include "base/digest.h"

namespace capbench::imports {

std::string ImportedRow::raw_sha256() const {
  return sha256(raw);
}

schema::StatedResultRecord stated(const ImportedRow& row) {
  schema::StatedResultRecord record;
  record.test = row.result.test;
  record.build = row.result.build;
  record.n_prompt = row.result.n_prompt;
  record.n_gen = row.result.n_gen;
  record.n_depth = row.result.n_depth;
  record.model_type = row.result.model_type;
  record.model_size = row.result.model_size;
  record.model_n_params = row.result.model_n_params;
  record.backends = row.result.backends;
  record.cpu_info = row.result.cpu_info;
  record.gpu_info = row.result.gpu_info;
  record.mean_ts = row.mean_ts.value_or(0);
  record.stddev_ts = row.stddev_ts;
  record.repetitions = row.repetitions;
  record.fields = row.result.fields;
  return record;
}

void RowList::row(ImportedRow& row) {
  row.raw = {};
  rows.push_back(std::move(row));
  row = {};
}

}  // namespace capbench::imports
