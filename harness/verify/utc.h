// Times of day as records write them. Internal to this room. Pure.
#ifndef CAPBENCH_HARNESS_VERIFY_UTC_H_
#define CAPBENCH_HARNESS_VERIFY_UTC_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace capbench::verify {

// Milliseconds since 1970 of "2026-11-30T04:25:07Z" or "2026-11-30T04:25:07.123Z" (one to nine digits of a second's
// part). Nothing for any other text, and for a day or hour that does not exist.
std::optional<std::int64_t> parse_utc(std::string_view text);

}  // namespace capbench::verify

#endif  // CAPBENCH_HARNESS_VERIFY_UTC_H_
