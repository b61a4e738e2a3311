#include "harness/target/transport.h"

namespace capbench::target {

ToolCommand Transport::copy_in(const std::string& /*local*/, const std::string& /*remote*/) const {
  return {};
}

ToolCommand Transport::copy_out(const std::string& /*remote*/, const std::string& /*local*/) const {
  return {};
}

std::optional<SshOptions> Transport::ssh(const std::string& /*address*/) const {
  return std::nullopt;
}

Transport::Advice Transport::advise(const ToolOutput& /*output*/) const {
  return {};
}

std::optional<Traits> Transport::own_traits() const {
  return std::nullopt;
}

std::vector<Query> Transport::queries(Aspect /*aspect*/) const {
  return {};
}

std::string_view state_name(State state) {
  switch (state) {
    case State::kAbsent:
      return "absent";
    case State::kStopped:
      return "stopped";
    case State::kStarting:
      return "starting";
    case State::kRunning:
      return "running";
    case State::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace capbench::target
