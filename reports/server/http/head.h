// The head of an HTTP/1.1 request (RFC 9112), read strictly: whatever two readers could take for different things (two
// lengths, a folded line, a bare line break, a space before the colon) is refused, so nothing can be smuggled past a
// proxy. Pure; safe to call from several threads.
#ifndef CAPBENCH_REPORTS_SERVER_HTTP_HEAD_H_
#define CAPBENCH_REPORTS_SERVER_HTTP_HEAD_H_

#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "reports/server/http/message.h"

namespace capbench::http {

struct HeadLimits {
  std::size_t bytes = 16U << 10U;  // of the whole head
  std::size_t target = 2048;       // of path and query as sent
  std::size_t fields = 64;
  std::size_t parameters = 32;  // of the query
};

// A request that is not served, and why.
struct Refusal {
  int status = 400;
  Error error;
};

// Where the body begins: behind the first empty line, or nothing if that has not come yet. The first `searched` bytes
// are known to hold none.
std::optional<std::size_t> find_body(std::string_view bytes, std::size_t searched = 0);

// `text` ends with the empty line. A body needs a Content-Length: chunks are refused with 411, and so is every coding
// of the content with 415.
std::variant<Head, Refusal> parse_head(std::string_view text, const HeadLimits& limits);

// What can be said of a head that is not complete: too long, or not HTTP at all.
std::optional<Refusal> check_beginning(std::string_view bytes, const HeadLimits& limits);

}  // namespace capbench::http

#endif  // CAPBENCH_REPORTS_SERVER_HTTP_HEAD_H_
