// Takes personal details out of text: facts, raw output, paths, anything that leaves the machine.
//
// Known details (this user's name, home, host names, serial numbers) go wherever they stand as a whole word. What has a
// form of its own goes whoever it belongs to: home folders, UUIDs, MAC, IPv4 and IPv6 addresses, credentials in a URL,
// and what follows the words "serial number" or "password". Loopback, unspecified and broadcast addresses stay, and so
// do four-part numbers behind the word "version". Names that say nothing of a person ("root", "admin", "localhost")
// stay. Redacting twice changes nothing more.
//
// Pure, thread-safe, linear in the text; takes any bytes.
#ifndef CAPBENCH_HARNESS_OBSERVE_REDACT_H_
#define CAPBENCH_HARNESS_OBSERVE_REDACT_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::observe {

struct PersonalDetails {
  std::vector<std::string> users;    // account names, and people's own
  std::vector<std::string> homes;    // "/Users/jo"
  std::vector<std::string> hosts;    // "jos-mac.local", "Jo's Mac"
  std::vector<std::string> secrets;  // serial numbers, hardware ids, passwords
};

// One place. What stood there is not repeated.
struct Replacement {
  std::string kind;        // "user", "home", "host", "secret", "serial", "password", "credentials", "uuid", "mac",
                           // "ipv4", "ipv6"
  std::size_t offset = 0;  // in the text that was given
  std::size_t length = 0;  // of what stood there

  bool operator==(const Replacement&) const = default;
};

struct Redacted {
  std::string text;                   // with "<KIND>" at every place
  std::vector<Replacement> replaced;  // by offset
};

// Four-part version numbers ("5.15.167.4") look like IPv4 addresses; where a text is known to hold versions and no
// addresses, they are kept.
enum class Addresses { kReplace, kKeep };

Redacted redact(std::string_view text, const PersonalDetails& details, Addresses addresses = Addresses::kReplace);

// True for a name that many machines share, which is nobody's: redact() leaves it. Also true for a single byte,
// which would be found everywhere.
bool is_common_name(std::string_view name);

}  // namespace capbench::observe

#endif  // CAPBENCH_HARNESS_OBSERVE_REDACT_H_
