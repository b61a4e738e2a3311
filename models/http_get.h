// One HTTP/1.1 GET: headers first, then the body piece by piece. Headers come as they were sent: libraries that decode
// "%2B" in them break the signed addresses that model hosts redirect to.
#ifndef CAPBENCH_MODELS_HTTP_GET_H_
#define CAPBENCH_MODELS_HTTP_GET_H_

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/url.h"

namespace capbench::models {

struct HttpRequest {
  Url url;
  std::vector<std::pair<std::string, std::string>> headers;
  std::chrono::milliseconds connect_timeout{15000};
  std::chrono::milliseconds read_timeout{60000};  // without a byte
};

struct HttpHead {
  int status = 0;
  // The first header of that name, whatever its case; empty if there is none.
  std::function<std::string(std::string_view name)> header;
};

// Called once the headers are there, and with each piece of the body. Returning false ends the request.
struct HttpReader {
  std::function<bool(const HttpHead& head)> on_head;
  std::function<bool(std::string_view piece)> on_body;
};

enum class HttpEnd {
  kWhole,       // the body came to its end, as far as HTTP tells
  kStopped,     // by the reader
  kNoAnswer,    // no connection, or none that lasted to the headers
  kCut,         // in the body
  kNotTrusted,  // the server's certificate could not be verified
};

// The body comes as it was sent (no decompression); redirects are not followed. `why` names the failure.
struct HttpOutcome {
  HttpEnd end = HttpEnd::kNoAnswer;
  std::string why;
};
HttpOutcome http_get(const HttpRequest& request, const HttpReader& reader);

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_HTTP_GET_H_
