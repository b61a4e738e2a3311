#include "models/gguf_writer.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include "base/file.h"
#include "models/little_endian.h"

namespace capbench::models {
namespace {

void append_string(std::string& out, std::string_view text) {
  append<std::uint64_t>(out, text.size());
  out += text;
}

void append_value(std::string& out, const GgufValue& value) {
  append(out, static_cast<std::uint32_t>(type_of(value)));
  std::visit(
      [&out](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::string>) {
          append_string(out, held);
        } else if constexpr (std::is_same_v<T, GgufArray>) {
          append(out, static_cast<std::uint32_t>(held.element));
          append(out, held.count);
          out += held.encoded;
        } else if constexpr (std::is_same_v<T, bool>) {
          append<std::uint8_t>(out, held ? 1 : 0);
        } else {
          append(out, held);
        }
      },
      value);
}

std::uint64_t align_up(std::uint64_t value, std::uint64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

Error layout_error(std::string what, std::string cause) {
  return {ErrorKind::kUsage, std::move(what), std::move(cause), "change the shape"};
}

template <class T>
GgufArray number_array(GgufType element, const std::vector<T>& numbers) {
  GgufArray array{element, numbers.size(), {}};
  array.encoded.reserve(numbers.size() * sizeof(T));
  for (const T number : numbers) append(array.encoded, number);
  return array;
}

// Fills offset, elements and bytes.
Result<std::uint64_t> place(std::vector<GgufTensor>& tensors, std::uint64_t alignment) {
  // Far above any model and far below overflow.
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 60U;
  std::unordered_set<std::string> names;
  std::uint64_t end = 0;
  for (GgufTensor& tensor : tensors) {
    const std::string what = "tensor '" + tensor.name + "'";
    if (!names.insert(tensor.name).second) return layout_error(what, "is there twice");
    // llama.cpp keeps names in 64 bytes, the last one a zero.
    if (tensor.name.empty() || tensor.name.size() > 63) return layout_error(what, "a name has 1 to 63 bytes");
    if (tensor.shape.empty() || tensor.shape.size() > kGgufMaxDimensions) {
      return layout_error(what, "has " + std::to_string(tensor.shape.size()) + " dimensions; 1 to 4 exist");
    }
    tensor.elements = 1;
    for (const std::uint64_t length : tensor.shape) {
      if (length == 0 || tensor.elements > kMaxBytes / length) return layout_error(what, "has no sensible size");
      tensor.elements *= length;
    }
    const auto bytes = tensor_bytes(tensor.type, tensor.elements, tensor.shape.front());
    if (!bytes) {
      const TensorTypeInfo info = tensor_type_info(tensor.type);
      return layout_error(what, "a row of " + std::to_string(tensor.shape.front()) + " is no multiple of " +
                                    std::to_string(info.block_elements) + ", the block of " + std::string(info.name));
    }
    tensor.bytes = *bytes;
    tensor.offset = end;
    if (tensor.bytes > kMaxBytes - end) return layout_error(what, "makes the file too large");
    end = align_up(end + tensor.bytes, alignment);
  }
  return end;
}

}  // namespace

GgufArray string_array(const std::vector<std::string>& strings) {
  GgufArray array{GgufType::kString, strings.size(), {}};
  for (const std::string& text : strings) append_string(array.encoded, text);
  return array;
}

GgufArray float_array(const std::vector<float>& numbers) {
  return number_array(GgufType::kF32, numbers);
}

GgufArray int_array(const std::vector<std::int32_t>& numbers) {
  return number_array(GgufType::kI32, numbers);
}

Result<GgufHead> lay_out_gguf(std::vector<GgufKey> metadata, std::vector<GgufTensor> tensors) {
  GgufHead head;
  std::unordered_set<std::string> keys;
  for (const GgufKey& entry : metadata) {
    if (entry.key.empty()) return layout_error("a key", "has no name");
    if (!keys.insert(entry.key).second) return layout_error("key '" + entry.key + "'", "is there twice");
    if (entry.key == "general.alignment") {
      const auto* alignment = std::get_if<std::uint32_t>(&entry.value);
      if (alignment == nullptr || *alignment < 8 || (*alignment & (*alignment - 1)) != 0) {
        return layout_error("key 'general.alignment'", "must be an unsigned 32-bit power of two of at least 8");
      }
      head.layout.alignment = *alignment;
    }
  }
  const auto data_size = place(tensors, head.layout.alignment);
  if (!data_size) return data_size.error();

  std::string& out = head.bytes;
  out = "GGUF";
  append<std::uint32_t>(out, head.layout.version);
  append<std::uint64_t>(out, tensors.size());
  append<std::uint64_t>(out, metadata.size());
  for (const GgufKey& entry : metadata) {
    append_string(out, entry.key);
    append_value(out, entry.value);
  }
  for (const GgufTensor& tensor : tensors) {
    append_string(out, tensor.name);
    append(out, static_cast<std::uint32_t>(tensor.shape.size()));
    for (const std::uint64_t length : tensor.shape) append(out, length);
    append(out, static_cast<std::uint32_t>(tensor.type));
    append(out, tensor.offset);
  }
  out.resize(static_cast<std::size_t>(align_up(out.size(), head.layout.alignment)), '\0');
  head.layout.data_start = out.size();
  head.size = out.size() + *data_size;
  head.layout.file_size = head.size;
  head.layout.metadata = std::move(metadata);
  head.layout.tensors = std::move(tensors);
  return head;
}

GgufWriter::Temporary& GgufWriter::Temporary::operator=(Temporary&& other) noexcept {
  std::swap(path, other.path);
  return *this;
}

GgufWriter::Temporary::~Temporary() {
  if (!path.empty()) ::unlink(path.c_str());
}

GgufWriter::~GgufWriter() = default;

Error GgufWriter::write_error(int errno_value) const {
  Error error = file_error(path_, errno_value);
  if (errno_value == ENOSPC || errno_value == EDQUOT) {
    error.cause += " (the file needs " + std::to_string(head_.size) + " bytes)";
  } else if (errno_value == EFBIG) {
    error.cause += " for the file-size limit (the file needs " + std::to_string(head_.size) + " bytes)";
    error.remedy = "raise the limit (`ulimit -f unlimited`), or name a place on another disk";
  }
  return error;
}

Result<GgufWriter> GgufWriter::create(const std::filesystem::path& path, GgufHead head) {
  GgufWriter writer;
  writer.path_ = path;
  writer.head_ = std::move(head);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return file_error(path, EISDIR);
  std::string temporary = path.string() + ".XXXXXX";
  writer.fd_ = Fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!writer.fd_.valid()) return writer.write_error(errno);
  writer.temporary_.path = std::move(temporary);
#ifdef __linux__
  // Asking for the space first makes a full disk an error before the work, not after it.
  if (::fallocate(writer.fd_.get(), 0, 0, static_cast<off_t>(writer.head_.size)) != 0 && errno != EOPNOTSUPP &&
      errno != ENOSYS && errno != EINTR) {
    return writer.write_error(errno);
  }
#endif
  if (const Status status = writer.put(writer.head_.bytes); !status) return status.error();
  return writer;
}

Status GgufWriter::put(std::string_view bytes) {
  hash_.update(bytes);
  written_ += bytes.size();
  if (const int error = write_all(fd_.get(), bytes); error != 0) return write_error(error);
  return {};
}

Status GgufWriter::pad() {
  const std::uint64_t alignment = head_.layout.alignment;
  return put(std::string(static_cast<std::size_t>(align_up(written_, alignment) - written_), '\0'));
}

Status GgufWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    if (tensor_ == head_.layout.tensors.size()) {
      return Error{ErrorKind::kUsage, path_.string(), "more data than the tensors hold", "check the shape"};
    }
    const std::uint64_t size = head_.layout.tensors[tensor_].bytes;
    const std::uint64_t count = std::min<std::uint64_t>(bytes.size(), size - in_tensor_);
    if (Status status = put(bytes.substr(0, static_cast<std::size_t>(count))); !status) return status;
    bytes.remove_prefix(static_cast<std::size_t>(count));
    in_tensor_ += count;
    if (in_tensor_ == size) {
      ++tensor_;
      in_tensor_ = 0;
      if (Status status = pad(); !status) return status;
    }
  }
  return {};
}

Result<WrittenFile> GgufWriter::finish() {
  if (tensor_ != head_.layout.tensors.size()) {
    return Error{ErrorKind::kUsage, path_.string(),
                 "the data of tensor '" + head_.layout.tensors[tensor_].name + "' are missing", "check the shape"};
  }
  if (::fchmod(fd_.get(), 0644) != 0 || ::fsync(fd_.get()) != 0) return write_error(errno);
  if (std::rename(temporary_.path.c_str(), path_.c_str()) != 0) return write_error(errno);
  temporary_.path.clear();
  fd_.reset();
  return WrittenFile{written_, hash_.finish()};
}

}  // namespace capbench::models
