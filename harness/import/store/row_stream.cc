#include "harness/import/store/row_stream.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/digest.h"
#include "harness/import/store/channel.h"

namespace capbench::imports {
namespace {

constexpr std::size_t kPartBytes = 1U << 20U;
constexpr std::size_t kBatchRows = 128;
constexpr std::size_t kBatchBytes = 512U << 10U;
constexpr std::size_t kBatches = 10;

using Batches = Channel<RowBatch>;
using SpareRows = Channel<std::vector<ImportedRow>>;
using SpareParts = Channel<std::string>;

// Gathers what an importer finds.
class BatchSink : public RowSink {
 public:
  BatchSink(Batches& batches, SpareRows& spare_rows) : batches_(batches), spare_rows_(spare_rows) {}

  void row(ImportedRow& row) override {
    bytes_ += row.raw.size();
    row.raw = {};
    batch_.rows.push_back(std::move(row));
    if (spare_.empty()) spare_ = spare_rows_.try_pop().value_or(std::vector<ImportedRow>());
    if (!spare_.empty()) {
      // Whoever fills it sets everything but the group, which only databases have: those fill rows of their own.
      row = std::move(spare_.back());
      row.group.clear();
      spare_.pop_back();
    }
    if (batch_.rows.size() >= kBatchRows || bytes_ >= kBatchBytes) flush();
  }
  void quarantine(QuarantinedRow row) override {
    bytes_ += row.text.size();
    batch_.quarantined.push_back(std::move(row));
    if (batch_.quarantined.size() >= kBatchRows) flush();
  }
  void note(Note note) override {
    batch_.notes.push_back(std::move(note));
    if (batch_.notes.size() >= kBatchRows) flush();
  }

  void flush() {
    static_cast<void>(batches_.push(std::exchange(batch_, {})));
    if (spare_.empty()) batch_.rows = std::exchange(spare_, {});  // for its room
    batch_.rows.reserve(kBatchRows);
    bytes_ = 0;
  }

 private:
  Batches& batches_;
  SpareRows& spare_rows_;
  RowBatch batch_;
  std::vector<ImportedRow> spare_;
  std::size_t bytes_ = 0;
};

// The file's bytes on their way to be packed.
class Parts {
 public:
  Parts(Channel<std::string>& channel, SpareParts& spare) : channel_(channel), spare_(spare) {}

  Status add(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t n = std::min(bytes.size(), kPartBytes - part_.size());
      part_.append(bytes.substr(0, n));
      bytes.remove_prefix(n);
      if (part_.size() == kPartBytes && !flush()) {
        return Error{ErrorKind::kMachine, "reading", "nobody wants the rest", ""};  // seen by nobody
      }
    }
    return {};
  }
  bool flush() {
    if (part_.empty()) return true;
    std::string part = std::exchange(part_, spare_.try_pop().value_or(std::string()));
    part_.clear();
    part_.reserve(kPartBytes);
    return channel_.push(std::move(part));
  }

 private:
  Channel<std::string>& channel_;
  SpareParts& spare_;
  std::string part_;
};

}  // namespace

struct RowStream::State {
  Batches batches{kBatches, 2};
  Channel<std::string> parts{1, 1};
  SpareRows spare_rows{kBatches / 2, 1};
  SpareParts spare_parts{2, 1};
  // Each is written by its thread and read when that has ended.
  Result<ImportedFile> file = ImportedFile();
  Status packed;
  Result<std::string> digest = std::string();
  std::thread reader;
  std::thread packer;
  std::thread digester;

  void read(const std::filesystem::path& path, ImportOptions options) {
    Parts bytes(parts, spare_parts);
    BatchSink sink(batches, spare_rows);
    options.on_bytes = [&](std::string_view chunk) { return bytes.add(chunk); };
    file = import_file(path, options, sink);
    bytes.flush();
    parts.close();
    sink.flush();
    batches.close();
  }

  void pack() {
    schema::Compressor compressor(schema::kFastLevel);
    while (std::optional<std::string> part = parts.pop()) {
      Result<std::string> frame = compressor.compress(*part);
      if (!frame) {
        packed = std::move(frame).error();
        parts.abandon();
        break;
      }
      RowBatch batch;
      batch.parts.push_back({"", std::move(*frame), part->size()});
      static_cast<void>(spare_parts.try_push(std::move(*part)));
      if (!batches.push(std::move(batch))) break;
    }
    batches.close();
  }

  void join() {
    if (reader.joinable()) reader.join();
    if (packer.joinable()) packer.join();
    if (digester.joinable()) digester.join();
  }
};

RowStream::RowStream(const std::filesystem::path& path, const ImportOptions& options)
    : state_(std::make_unique<State>()) {
  // First, since everything that is put waits for it.
  state_->digester = std::thread([state = state_.get(), path] { state->digest = sha256_file(path); });
  state_->packer = std::thread([state = state_.get()] { state->pack(); });
  state_->reader = std::thread([state = state_.get(), path, options] { state->read(path, options); });
}

RowStream::~RowStream() {
  state_->batches.abandon();
  state_->parts.abandon();
  state_->join();
}

Result<std::string> RowStream::digest() {
  state_->digester.join();
  return std::move(state_->digest);
}

std::optional<RowBatch> RowStream::next() {
  return state_->batches.pop();
}

void RowStream::give_back(std::vector<ImportedRow> rows) {
  static_cast<void>(state_->spare_rows.try_push(std::move(rows)));
}

Result<ImportedFile> RowStream::finish() {
  state_->join();
  if (!state_->packed) return std::move(state_->packed).error();
  return std::move(state_->file);
}

}  // namespace capbench::imports
