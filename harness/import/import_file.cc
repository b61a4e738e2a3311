#include "harness/import/import_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/digest.h"
#include "base/fd.h"
#include "base/file.h"
#include "harness/import/documents.h"
#include "harness/import/llama_bench.h"
#include "harness/import/sqlite_source.h"
#include "harness/import/text.h"

namespace capbench::imports {
namespace {

constexpr std::size_t kChunk = 1U << 20U;
constexpr std::size_t kMaxDocument = 16U << 20U;
constexpr std::size_t kBeginning = 200;

// Reads chunks, with the digest and the caller's look at each.
class Chunks {
 public:
  Chunks(const Reader& read, const ImportOptions& options) : read_(read), options_(options), buffer_(kChunk) {}

  // The next bytes, none at the end. A chunk is full unless the file ends.
  Result<std::string_view> next() {
    std::size_t size = 0;
    while (size < buffer_.size() && !is_at_end_) {
      const Result<std::size_t> got = read_(std::span(buffer_).subspan(size));
      if (!got) return got.error();
      is_at_end_ = *got == 0;
      size += *got;
    }
    const std::string_view chunk(buffer_.data(), size);
    size_ += size;
    digest_.update(chunk);
    if (options_.on_bytes && size > 0) {
      if (Status status = options_.on_bytes(chunk); !status) return std::move(status).error();
    }
    return chunk;
  }

  std::uint64_t size() const { return size_; }
  std::string finish() { return digest_.finish(); }

 private:
  const Reader& read_;
  const ImportOptions& options_;
  std::vector<char> buffer_;
  Sha256 digest_;
  std::uint64_t size_ = 0;
  bool is_at_end_ = false;
};

Error nothing_in(const std::string& name, std::string cause) {
  return {ErrorKind::kUsage, name, std::move(cause),
          "give output of llama-bench, Google Benchmark or MLX-LM, a LocalScore database, or --as KIND if it is one; "
          "for a CSV of your own say with --columns what its columns mean"};
}

Status read_llama_bench(Chunks& chunks, std::string_view chunk, const ImportOptions& options, RowSink& sink,
                        ImportedFile& file) {
  LlamaBenchReader reader(sink, options.columns);
  while (!chunk.empty()) {
    reader.feed(chunk);
    const Result<std::string_view> next = chunks.next();
    if (!next) return next.error();
    chunk = *next;
  }
  reader.finish();
  const LlamaBenchCounts& counts = reader.counts();
  file.rows = counts.rows();
  file.quarantined = counts.quarantined;
  file.other_lines = counts.other_lines;
  file.kind = counts.format().empty() ? "llama-bench" : "llama-bench-" + counts.format();
  return {};
}

Status read_document(Chunks& chunks, std::string_view chunk, SourceKind kind, const std::string& name, RowSink& sink,
                     ImportedFile& file) {
  std::string document;
  while (!chunk.empty()) {
    if (document.size() + chunk.size() > kMaxDocument) {
      return Error{ErrorKind::kUsage, name, fmt::format("more than {} MiB in one document", kMaxDocument >> 20U),
                   "run the benchmark in parts, with a filter, and import each file"};
    }
    document.append(chunk);
    const Result<std::string_view> next = chunks.next();
    if (!next) return next.error();
    chunk = *next;
  }
  const DocumentCounts counts =
      kind == SourceKind::kMlxLm ? read_mlx_lm(document, sink) : read_google_benchmark(document, sink);
  file.rows = counts.rows;
  file.quarantined = counts.quarantined;
  file.kind = to_string(kind);
  return {};
}

// `beginning`: of a text, whose first line mostly is its heading.
Status check_found(const ImportedFile& file, const std::string& name, const ImportOptions& options,
                   std::string_view beginning) {
  if (file.rows > 0 || file.quarantined > 0) return {};
  if (options.columns.fields.empty()) return nothing_in(name, "it holds no row of a benchmark");
  std::vector<std::string> columns;
  for (const auto& [column, field] : options.columns.fields) columns.push_back("\"" + to_utf8(column) + "\"");
  const std::string_view heading = trim(beginning.substr(0, beginning.find('\n')));
  return Error{ErrorKind::kUsage, name,
               fmt::format("no line of it has all the columns that --columns names: {}", fmt::join(columns, ", ")),
               fmt::format("the names as the file has them; it begins: {}", to_utf8(heading))};
}

Result<std::string> first_bytes(const std::filesystem::path& path, Fd& fd) {
  fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return file_error(path, errno);
  std::string head(16, '\0');
  const ssize_t got = ::pread(fd.get(), head.data(), head.size(), 0);
  // A pipe has no beginning to come back to: it is read as it comes.
  head.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (got < 0 && errno != ESPIPE) return file_error(path, errno);
  return head;
}

}  // namespace

Result<ImportedFile> import_stream(const Reader& read, const std::string& name, const ImportOptions& options,
                                   RowSink& sink) {
  Chunks chunks(read, options);
  const Result<std::string_view> first = chunks.next();
  if (!first) return first.error();
  if (first->empty()) return nothing_in(name, "the file is empty");
  const std::string beginning(first->substr(0, kBeginning));  // of the file; the chunk goes as the next one comes
  SourceKind kind = options.as.value_or(options.columns.empty() ? detect(*first) : SourceKind::kLlamaBench);
  ImportedFile file;
  Status status;
  switch (kind) {
    case SourceKind::kLlamaBench:
      status = read_llama_bench(chunks, *first, options, sink, file);
      break;
    case SourceKind::kGoogleBenchmark:
    case SourceKind::kMlxLm:
      status = read_document(chunks, *first, kind, name, sink, file);
      break;
    case SourceKind::kSqlite:
      return Error{ErrorKind::kUsage, name, "a database cannot be read from a stream", "give the path of a file"};
    case SourceKind::kBinary:
      return nothing_in(name, "it is neither text nor a database");
  }
  if (!status) return std::move(status).error();
  file.size = chunks.size();
  file.sha256 = chunks.finish();
  if (Status found = check_found(file, name, options, beginning); !found) return std::move(found).error();
  return file;
}

Result<ImportedFile> import_file(const std::filesystem::path& path, const ImportOptions& options, RowSink& sink) {
  Fd fd;
  const Result<std::string> head = first_bytes(path, fd);
  if (!head) return head.error();
  if (options.as.value_or(detect(*head)) != SourceKind::kSqlite) {
    const Reader read = [&](std::span<char> buffer) -> Result<std::size_t> {
      while (true) {
        const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
        if (got >= 0) return static_cast<std::size_t>(got);
        if (errno != EINTR) return file_error(path, errno);
      }
    };
    return import_stream(read, path.string(), options, sink);
  }
  const Result<SqliteCounts> counts = import_sqlite(path, sink);
  if (!counts) return counts.error();
  Result<std::string> digest = sha256_file(path);
  if (!digest) return std::move(digest).error();
  std::error_code ignored;
  ImportedFile file{counts->kind,        *digest, std::filesystem::file_size(path, ignored), counts->rows,
                    counts->quarantined, 0};
  if (Status found = check_found(file, path.string(), {}, ""); !found) return std::move(found).error();
  return file;
}

Result<Imported> import_bytes(std::string_view bytes, const std::string& name, const ImportOptions& options) {
  RowList list;
  const Reader read = [&](std::span<char> buffer) -> Result<std::size_t> {
    const std::size_t size = std::min(buffer.size(), bytes.size());
    std::copy_n(bytes.begin(), size, buffer.begin());
    bytes.remove_prefix(size);
    return size;
  };
  Result<ImportedFile> file = import_stream(read, name, options, list);
  if (!file) return std::move(file).error();
  return Imported{std::move(*file), std::move(list.rows), std::move(list.quarantined), std::move(list.notes)};
}

}  // namespace capbench::imports
