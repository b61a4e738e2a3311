// Small pieces of text for people.
#ifndef CAPBENCH_MODELS_FORMAT_H_
#define CAPBENCH_MODELS_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace capbench::models {

// "636.18 MiB"; below a KiB in bytes.
std::string size_text(std::uint64_t bytes);

// "1.10 B", "27.31 M", "512": as llama-bench counts parameters.
std::string count_text(std::uint64_t count);

// A foreign string for a terminal: control characters and bytes outside ASCII become '?', the rest is cut at `limit`.
std::string printable(std::string_view text, std::size_t limit);

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_FORMAT_H_
