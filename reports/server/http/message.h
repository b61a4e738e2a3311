// A request as received whole, and what is answered. Plain values; who reads and writes sockets is in front.h.
#ifndef CAPBENCH_REPORTS_SERVER_HTTP_MESSAGE_H_
#define CAPBENCH_REPORTS_SERVER_HTTP_MESSAGE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::http {

struct Field {
  std::string name;  // in lower case in a request's head
  std::string value;
};

// Everything before the body.
struct Head {
  std::string method;
  std::string path;          // percent-decoded, valid UTF-8 without control characters; begins with "/"
  std::vector<Field> query;  // decoded, in order; at most kMaxParameters
  std::vector<Field> fields;
  std::uint64_t content_length = 0;
  bool keep_alive = true;
  bool expects_continue = false;

  // The first of that name (lower case), or empty.
  std::string_view field(std::string_view name) const;
};

struct Request {
  Head head;
  std::string body;
  std::string address;  // of the peer, in numbers
};

struct Reply {
  int status = 200;
  std::string type;  // Content-Type; empty if there is no body
  std::vector<Field> fields;
  std::shared_ptr<const std::string> body;  // null: none
  bool close = false;                       // the connection after it

  Reply& with(std::string name, std::string value) {
    fields.push_back({std::move(name), std::move(value)});
    return *this;
  }
};

Reply reply(int status, std::string type, std::string body);

// "Not Found"; empty for a status that this program does not use.
std::string_view status_text(int status);

// Status line and fields up to the empty line. `date` is an IMF-fixdate. Fields that could not be sent as one line are
// left out: nothing in them can begin a new one.
std::string head_text(const Reply& reply, bool keep_alive, std::string_view date);

}  // namespace capbench::http

#endif  // CAPBENCH_REPORTS_SERVER_HTTP_MESSAGE_H_
