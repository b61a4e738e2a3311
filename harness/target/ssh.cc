#include "harness/target/ssh.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "harness/target/shell.h"

namespace capbench::target {
namespace {

constexpr std::array kToolCodes{255};

std::string home_path(const std::string& path) {
  const char* home = std::getenv("HOME");
  if (!path.starts_with("~/") || home == nullptr) return path;
  return std::string(home) + path.substr(1);
}

int number_option(const TargetSpec& spec, std::string_view key, int otherwise) {
  const std::string text = option(spec, key);
  std::from_chars(text.data(), text.data() + text.size(), otherwise);
  return otherwise;
}

// ssh reads -o values with its own quoting: a path with spaces goes into double quotes. `%` begins an expansion.
std::string file_value(const std::string& path) {
  std::string value = "\"";
  for (const char c : path) {
    if (c == '"' || c == '\\') value += '\\';
    if (c == '%') value += '%';
    value += c;
  }
  return value + "\"";
}

class Ssh : public Transport {
 public:
  explicit Ssh(SshOptions options) : options_(std::move(options)) {}

  ToolCommand execute(const std::string& script, bool /*with_stdin*/) const override {
    ToolCommand command;
    command.argv = ssh_argv(options_);
    command.argv.push_back(far_shell_words(script));
    return command;
  }

  Advice advise(const ToolOutput& output) const override {
    const auto says = [&](std::string_view words) { return output.err.find(words) != std::string::npos; };
    if (says("Host key verification failed") || says("HOST IDENTIFICATION HAS CHANGED")) {
      return {"if the host was made anew, put its new key into `known_hosts` (`ssh-keyscan`), after checking it", true};
    }
    if (says("Permission denied")) {
      return {
          "let `identity` name a key without a passphrase (or held by an agent) whose public half the `user` has in "
          "authorized_keys there",
          true};
    }
    if (says("Connection refused")) return {"start sshd there, and check `address` and `port`", true};
    if (says("Could not resolve hostname")) return {"check `address`", true};
    if (says("bad permissions")) return {"`chmod 600` the identity file", true};
    std::vector<std::string> by_hand{"ssh"};
    if (!options_.port.empty()) by_hand.insert(by_hand.end(), {"-p", options_.port});
    if (!options_.identity.empty()) by_hand.insert(by_hand.end(), {"-i", options_.identity});
    if (!options_.known_hosts.empty()) {
      by_hand.insert(by_hand.end(), {"-o", "UserKnownHostsFile=" + options_.known_hosts});
    }
    by_hand.push_back(options_.user.empty() ? options_.address : options_.user + "@" + options_.address);
    return {"check that it is up and reachable: `" + quote_all(by_hand) + " true`", false};
  }

 private:
  SshOptions options_;
};

Status check_ssh(const TargetSpec& spec) {
  const std::string port = option(spec, "port");
  const int number = number_option(spec, "port", 22);
  if (!port.empty() && (number < 1 || number > 65535)) {
    return Error{ErrorKind::kUsage, "ssh: port", "\"" + port + "\" is no port", "a number from 1 to 65535"};
  }
  for (const char* key : {"identity", "known_hosts"}) {
    // ssh puts variables into these names, and knows no way to write the two characters themselves.
    if (option(spec, key).find("${") == std::string::npos) continue;
    return Error{ErrorKind::kUsage, "ssh: " + std::string(key), "holds \"${\", which ssh takes for a variable",
                 "give the file another name"};
  }
  return {};
}

SshOptions options_of(const TargetSpec& spec) {
  SshOptions options;
  options.address = option(spec, "address");
  options.port = option(spec, "port");
  options.user = option(spec, "user");
  options.identity = home_path(option(spec, "identity"));
  options.known_hosts = home_path(option(spec, "known_hosts"));
  options.lost_after_s = number_option(spec, "lost_after_s", options.lost_after_s);
  return options;
}

constexpr std::array kOptions{
    OptionRule{"address", OptionRule::Type::kText, true, "the host's name or address, or its alias in ~/.ssh/config"},
    OptionRule{"port", OptionRule::Type::kInteger, false, "sshd's port"},
    OptionRule{"user", OptionRule::Type::kText, false, "the user there"},
    OptionRule{"identity", OptionRule::Type::kPath, false, "the private key file"},
    OptionRule{"known_hosts", OptionRule::Type::kPath, false, "a file with this host's key, and no other"},
};

}  // namespace

std::vector<std::string> ssh_argv(const SshOptions& options) {
  const int lost = std::max(options.lost_after_s, 3);
  std::vector<std::string> argv{"ssh", "-T"};
  const auto set = [&](const std::string& name, const std::string& value) {
    argv.emplace_back("-o");
    argv.push_back(name + "=" + value);
  };
  set("BatchMode", "yes");
  set("ConnectTimeout", std::to_string(std::min(lost, 10)));
  set("ServerAliveInterval", std::to_string(std::max(lost / 3, 1)));
  set("ServerAliveCountMax", "2");
  set("StrictHostKeyChecking", "yes");
  set("LogLevel", "ERROR");
  // What the user's configuration may do for a person at a terminal must not happen to a measurement. A shared
  // connection would outlive the tool that the keeper ends.
  set("ControlMaster", "no");
  set("ControlPath", "none");
  set("ForwardAgent", "no");
  set("ForwardX11", "no");
  set("ClearAllForwardings", "yes");
  set("PermitLocalCommand", "no");
  if (!options.known_hosts.empty()) {
    set("UserKnownHostsFile", file_value(options.known_hosts));
    set("GlobalKnownHostsFile", "none");
    set("UpdateHostKeys", "no");
  }
  if (!options.identity.empty()) {
    set("IdentityFile", file_value(options.identity));
    set("IdentitiesOnly", "yes");
  }
  if (!options.port.empty()) set("Port", options.port);
  if (!options.user.empty()) set("User", options.user);
  argv.emplace_back("--");
  argv.push_back(options.address);
  return argv;
}

std::unique_ptr<Transport> make_ssh_transport(const SshOptions& options) {
  return std::make_unique<Ssh>(options);
}

const KindInfo& ssh_kind() {
  static const KindInfo kKind = [] {
    KindInfo kind;
    kind.name = "ssh";
    kind.summary = "a host that is reached by OpenSSH's `ssh`";
    kind.traits.argv = ArgvPassing::kJoined;
    kind.traits.environment = EnvironmentPassing::kNone;
    kind.traits.streams = StreamPassing::kSeparate;
    kind.traits.exit = ExitPassing::kWraps;
    kind.traits.tool_codes = kToolCodes;
    kind.traits.copy = CopyMeans::kPipe;
    kind.traits.may_be_preinjected = true;
    kind.options = kOptions;
    kind.check = check_ssh;
    kind.make = [](const TargetSpec& spec) { return make_ssh_transport(options_of(spec)); };
    return kind;
  }();
  return kKind;
}

}  // namespace capbench::target
