#include "models/net_stream.h"

#include <fcntl.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "base/error.h"
#include "base/fd.h"
#include "base/no_pipe_signal.h"

namespace capbench::models {
namespace {

using std::chrono::milliseconds;

struct FreeContext {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};
struct FreeAddresses {
  void operator()(addrinfo* addresses) const { ::freeaddrinfo(addresses); }
};

// A connected socket, or the errno why not.
int connect_to(const addrinfo& address, milliseconds limit, Fd& out) {
  Fd fd(::socket(address.ai_family, address.ai_socktype, address.ai_protocol));
  if (!fd.valid()) return errno;
  ::fcntl(fd.get(), F_SETFD, FD_CLOEXEC);
  const int flags = ::fcntl(fd.get(), F_GETFL);
  ::fcntl(fd.get(), F_SETFL, flags | O_NONBLOCK);
  if (::connect(fd.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    pollfd ready{fd.get(), POLLOUT, 0};
    const int limit_ms = static_cast<int>(std::min<std::int64_t>(limit.count(), INT_MAX));
    const int count = ::poll(&ready, 1, limit_ms);
    if (count <= 0) return count == 0 ? ETIMEDOUT : errno;
    int error = 0;
    socklen_t length = sizeof(error);
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) return errno;
    if (error != 0) return error;
  }
  ::fcntl(fd.get(), F_SETFL, flags);
  out = std::move(fd);
  return 0;
}

void set_time_limit(int fd, milliseconds limit) {
  const timeval value{static_cast<time_t>(limit.count() / 1000), static_cast<suseconds_t>(limit.count() % 1000 * 1000)};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &value, sizeof(value));
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &value, sizeof(value));
}

bool is_address(const std::string& host) {
  return host.find(':') != std::string::npos || host.find_first_not_of("0123456789.") == std::string::npos;
}

// SSL_set_tlsext_host_name() without its macro's cast.
bool set_server_name(SSL* ssl, std::string host) {
  return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, host.data()) == 1;
}

std::string tls_error() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "the connection was closed";
  std::array<char, 256> text{};
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

}  // namespace

struct NetStream::State {
  Fd fd;
  std::unique_ptr<SSL_CTX, FreeContext> context;
  std::unique_ptr<SSL, FreeSsl> ssl;

  NetFailure start_tls(const std::string& host, std::string& why) {
    ERR_clear_error();
    context.reset(SSL_CTX_new(TLS_client_method()));
    if (!context || SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_default_verify_paths(context.get()) != 1) {
      why = tls_error();
      return NetFailure::kUnreachable;
    }
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    ssl.reset(SSL_new(context.get()));
    if (!ssl) {
      why = tls_error();
      return NetFailure::kUnreachable;
    }
    const bool named = is_address(host)
                           ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str()) == 1
                           : SSL_set1_host(ssl.get(), host.c_str()) == 1 && set_server_name(ssl.get(), host);
    if (!named || SSL_set_fd(ssl.get(), fd.get()) != 1) {
      why = tls_error();
      return NetFailure::kUnreachable;
    }
    const NoPipeSignal no_signal;
    if (SSL_connect(ssl.get()) == 1) return NetFailure::kNone;
    const long verified = SSL_get_verify_result(ssl.get());
    if (verified != X509_V_OK) {
      ERR_clear_error();
      why = X509_verify_cert_error_string(verified);
      return NetFailure::kNotTrusted;
    }
    why = tls_error();
    return NetFailure::kUnreachable;
  }
};

NetStream::NetStream() : state_(std::make_unique<State>()) {}
NetStream::NetStream(NetStream&&) noexcept = default;
NetStream& NetStream::operator=(NetStream&&) noexcept = default;
NetStream::~NetStream() = default;

NetFailure NetStream::connect(const Url& url, milliseconds connect_timeout, milliseconds read_timeout,
                              std::string& why) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &found);
  if (error != 0) {
    why = ::gai_strerror(error);
    return NetFailure::kUnreachable;
  }
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  int problem = EHOSTUNREACH;
  for (const addrinfo* address = found; address != nullptr && problem != 0; address = address->ai_next) {
    problem = connect_to(*address, connect_timeout, state_->fd);
  }
  if (problem != 0) {
    why = errno_text(problem);
    return NetFailure::kUnreachable;
  }
  set_time_limit(state_->fd.get(), read_timeout);
  return url.secure ? state_->start_tls(url.host, why) : NetFailure::kNone;
}

bool NetStream::write(std::string_view bytes) {
  const NoPipeSignal no_signal;
  if (state_->ssl) {
    ERR_clear_error();
    return SSL_write(state_->ssl.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  while (!bytes.empty()) {
    const ssize_t count = ::send(state_->fd.get(), bytes.data(), bytes.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

NetStream::Read NetStream::read(char* buffer, std::size_t size) {
  if (state_->ssl) {
    const NoPipeSignal no_signal;
    ERR_clear_error();
    const int count = SSL_read(state_->ssl.get(), buffer, static_cast<int>(std::min<std::size_t>(size, INT_MAX)));
    if (count > 0) return {static_cast<std::size_t>(count), false, ""};
    // Only an orderly close is an end: anybody can cut a line.
    if (SSL_get_error(state_->ssl.get(), count) == SSL_ERROR_ZERO_RETURN) return {};
    return {0, true, tls_error()};
  }
  for (;;) {
    const ssize_t count = ::recv(state_->fd.get(), buffer, size, 0);
    if (count > 0) return {static_cast<std::size_t>(count), false, ""};
    if (count == 0) return {};
    if (errno == EINTR) continue;
    return {0, true, errno == EAGAIN || errno == EWOULDBLOCK ? "nothing came in time" : errno_text(errno)};
  }
}

}  // namespace capbench::models
