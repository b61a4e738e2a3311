// A request on its way through the service. For this room only.
#ifndef CAPBENCH_REPORTS_SERVER_CALL_H_
#define CAPBENCH_REPORTS_SERVER_CALL_H_

#include "reports/server/http/message.h"
#include "reports/server/routes.h"
#include "reports/server/service.h"

namespace capbench::server {

struct Service::Call {
  http::Request& request;
  Matched matched;
};

// The digest of the secret that may withdraw a submission; the client's own, so that it is not lost with a reply.
inline constexpr std::string_view kReceiptDigestField = "capbench-receipt-sha256";

inline Error request_error(std::string what, std::string cause, std::string remedy) {
  return {ErrorKind::kUsage, std::move(what), std::move(cause), std::move(remedy)};
}

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_CALL_H_
