#include "reports/server/http/message.h"

#include <algorithm>
#include <utility>

namespace capbench::http {
namespace {

bool fits_a_line(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return c == '\r' || c == '\n' || c == '\0'; });
}

void append_field(std::string& text, std::string_view name, std::string_view value) {
  if (!fits_a_line(name) || !fits_a_line(value)) return;
  text.append(name).append(": ").append(value).append("\r\n");
}

// A reply to these has no body, and says nothing about its length.
bool has_no_length(int status) {
  return status == 204 || status == 304 || status < 200;
}

}  // namespace

std::string_view Head::field(std::string_view name) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
  return found == fields.end() ? std::string_view() : std::string_view(found->value);
}

Reply reply(int status, std::string type, std::string body) {
  Reply made;
  made.status = status;
  made.type = std::move(type);
  made.body = std::make_shared<const std::string>(std::move(body));
  return made;
}

std::string_view status_text(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return "";
  }
}

std::string head_text(const Reply& reply, bool keep_alive, std::string_view date) {
  std::string text = "HTTP/1.1 " + std::to_string(reply.status) + " " + std::string(status_text(reply.status)) + "\r\n";
  append_field(text, "Date", date);
  if (!reply.type.empty()) append_field(text, "Content-Type", reply.type);
  if (!has_no_length(reply.status)) {
    append_field(text, "Content-Length", std::to_string(reply.body == nullptr ? 0 : reply.body->size()));
  }
  for (const Field& field : reply.fields) append_field(text, field.name, field.value);
  append_field(text, "Connection", keep_alive ? "keep-alive" : "close");
  text += "\r\n";
  return text;
}

}  // namespace capbench::http
