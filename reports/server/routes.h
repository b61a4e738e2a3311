// What there is to ask for. Pure.
#ifndef CAPBENCH_REPORTS_SERVER_ROUTES_H_
#define CAPBENCH_REPORTS_SERVER_ROUTES_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::server {

enum class Resource {
  kPage,
  kHealth,
  kMetrics,
  kOpenApi,
  kSubmit,
  kSubmission,
  kWithdraw,
  kArchive,
  kPutPart,
  kUpload,
  kSuites,
  kSuite,
  kMachines,
  kEnvironment,
  kTrials,
  kTrial,
  kRaw,
  kReport,
  kBundles,
};

struct Route {
  std::string_view method;
  std::string_view pattern;  // "/api/v1/trials/{id}"
  Resource resource;
  std::vector<std::string_view> parameters;  // of the query; there are no others
  bool writes = false;
};

std::span<const Route> routes();

struct Matched {
  const Route* route = nullptr;           // null: none
  std::vector<std::string> captured;      // what stands for {...}
  std::vector<std::string_view> allowed;  // methods of the path if the one asked for is not among them
};
// HEAD is answered as GET unless it has a route of its own.
Matched match(std::string_view method, std::string_view path);

}  // namespace capbench::server

#endif  // CAPBENCH_REPORTS_SERVER_ROUTES_H_
