// A connection to a server, in the clear or over TLS, with time limits.
#ifndef CAPBENCH_MODELS_NET_STREAM_H_
#define CAPBENCH_MODELS_NET_STREAM_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "models/url.h"

namespace capbench::models {

enum class NetFailure {
  kNone,
  kUnreachable,  // no such host, nobody listens, no answer in time, no TLS
  kNotTrusted,   // the certificate is not of a known authority, or of another host
};

// One thread at a time.
class NetStream {
 public:
  struct Read {
    std::size_t count = 0;  // 0 at the end or on failure
    bool failed = false;    // a cut line or a time limit; false with count 0: the other side has closed in order
    std::string why;
  };

  NetStream();
  NetStream(NetStream&&) noexcept;
  NetStream& operator=(NetStream&&) noexcept;
  ~NetStream();

  // TLS 1.2 or later, against the system's authorities ($SSL_CERT_FILE and $SSL_CERT_DIR are OpenSSL's own).
  NetFailure connect(const Url& url, std::chrono::milliseconds connect_timeout, std::chrono::milliseconds read_timeout,
                     std::string& why);
  bool write(std::string_view bytes);
  Read read(char* buffer, std::size_t size);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace capbench::models

#endif  // CAPBENCH_MODELS_NET_STREAM_H_
