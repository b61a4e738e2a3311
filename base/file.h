// Whole files: read with a bound, replaced atomically.
#ifndef CAPBENCH_BASE_FILE_H_
#define CAPBENCH_BASE_FILE_H_

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench {

// The file's bytes. An error names the path; a file of more than `max_bytes` is refused unread.
Result<std::string> read_file(const std::filesystem::path& path, std::uint64_t max_bytes = 64U << 20U);

// Every byte to the descriptor, however many writes it takes. 0, or the errno of the write that failed.
int write_all(int fd, std::string_view bytes);

// Writes to a temporary file beside `path`, syncs it and renames it over `path`: readers see the old
// bytes or the new ones, never a part. A failure (full disk, no permission) leaves `path` as it was.
Status replace_file(const std::filesystem::path& path, std::string_view bytes);

// What a failed system call on `path` means: kind (missing or unreadable input, or the machine's fault), cause and
// remedy.
Error file_error(const std::filesystem::path& path, int errno_value);

}  // namespace capbench

#endif  // CAPBENCH_BASE_FILE_H_
