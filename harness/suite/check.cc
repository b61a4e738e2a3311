#include "harness/suite/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "harness/suite/limits.h"
#include "harness/suite/strict_json.h"

namespace capbench::suite {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

struct OwnedOption {
  std::string_view option;
  std::string_view remedy;
  bool arms_may = false;  // differ in it
};

// Options of llama-bench that are said elsewhere in the suite, or that only capbench may give.
constexpr auto kOwned = std::to_array<OwnedOption>({
    {"-m", R"("file", "like" or "catalog" of a model)"},
    {"--model", R"("file", "like" or "catalog" of a model)"},
    {"-hf", "download the file and name it in \"file\" of a model"},
    {"-hfr", "download the file and name it in \"file\" of a model"},
    {"--hf-repo", "download the file and name it in \"file\" of a model"},
    {"-hff", "download the file and name it in \"file\" of a model"},
    {"--hf-file", "download the file and name it in \"file\" of a model"},
    {"-hft", "download the file and name it in \"file\" of a model"},
    {"--hf-token", "download the file and name it in \"file\" of a model"},
    {"-p", "\"p\" of the workload"},
    {"--n-prompt", "\"p\" of the workload"},
    {"-n", "\"n\" of the workload"},
    {"--n-gen", "\"n\" of the workload"},
    {"-pg", R"("p" and "n" of the workload, which are timed apart)"},
    {"-d", "\"d\" of the workload"},
    {"--n-depth", "\"d\" of the workload"},
    {"-r", "\"r\" of the workload"},
    {"--repetitions", "\"r\" of the workload"},
    {"-t", "\"t\" of the workload", true},
    {"--threads", "\"t\" of the workload", true},
    {"-ngl", "\"ngl\" of the workload", true},
    {"--n-gpu-layers", "\"ngl\" of the workload", true},
    {"-fa", "\"fa\" of the workload", true},
    {"--flash-attn", "\"fa\" of the workload", true},
    {"-dev", "\"device\" of the arm"},
    {"--device", "\"device\" of the arm"},
    {"-o", "leave it out: capbench chooses the output it can read"},
    {"--output", "leave it out: capbench chooses the output it can read"},
    {"-oe", "leave it out: capbench chooses the output it can read"},
    {"--output-err", "leave it out: capbench chooses the output it can read"},
    {"-v", "leave it out: logging would be timed too, and capbench runs it untimed where it needs it"},
    {"--verbose", "leave it out: logging would be timed too, and capbench runs it untimed where it needs it"},
    {"--progress", "leave it out: capbench shows the progress"},
    {"--list-devices", "leave it out: it measures nothing"},
    {"-h", "leave it out: it measures nothing"},
    {"--help", "leave it out: it measures nothing"},
    {"--version", "leave it out: it measures nothing"},
});

// Short and long names of the options that people repeat, so that `-b 512 --batch-size 1024` is seen as a repetition.
constexpr auto kAliases = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"--batch-size", "-b"},     {"--ubatch-size", "-ub"},     {"--cache-type-k", "-ctk"},
    {"--cache-type-v", "-ctv"}, {"--cpu-mask", "-C"},         {"--n-cpu-moe", "-ncmoe"},
    {"--split-mode", "-sm"},    {"--main-gpu", "-mg"},        {"--no-kv-offload", "-nkvo"},
    {"--load-mode", "-lm"},     {"--lazy-mode", "-lzm"},      {"--embeddings", "-embd"},
    {"--tensor-split", "-ts"},  {"--override-tensor", "-ot"}, {"--no-op-offload", "-nopo"},
    {"--fit-target", "-fitt"},  {"--fit-ctx", "-fitc"},       {"--mmap", "-mmp"},
    {"--direct-io", "-dio"},    {"--threads", "-t"},          {"--n-gpu-layers", "-ngl"},
    {"--flash-attn", "-fa"},
});

// Options of a Google Benchmark binary that are said elsewhere or that only capbench may give.
constexpr auto kOwnedBenchmark = std::to_array<OwnedOption>({
    {"--benchmark_filter", "\"filter\" of the workload"},
    {"--benchmark_repetitions", "\"r\" of the workload"},
    {"--benchmark_format", "leave it out: capbench chooses the output it can read"},
    {"--benchmark_out", "leave it out: capbench chooses the output it can read"},
    {"--benchmark_out_format", "leave it out: capbench chooses the output it can read"},
    {"--benchmark_report_aggregates_only", "leave it out: capbench keeps every repetition"},
    {"--benchmark_display_aggregates_only", "leave it out: capbench keeps every repetition"},
    {"--benchmark_color", "leave it out: capbench chooses the output it can read"},
    {"--benchmark_list_tests", "leave it out: it measures nothing"},
    {"--help", "leave it out: it measures nothing"},
});

// The option as llama-bench compares it: after a double dash '_' is '-'. "--x=y" is taken for "--x".
std::string option_name(std::string_view argument) {
  std::string name(argument.substr(0, argument.find('=')));
  if (name.starts_with("--")) std::replace(name.begin(), name.end(), '_', '-');
  for (const auto& [long_name, short_name] : kAliases) {
    if (name == long_name) return std::string(short_name);
  }
  return name;
}

bool is_option(std::string_view argument) {
  return argument.size() >= 2 && argument[0] == '-' && !is_digit(argument[1]) && argument[1] != '.';
}

// "512-2048", "512-2048+512", "512-2048*2": llama-bench counts through the range.
bool is_range(std::string_view value) {
  const auto digits = [&value] {
    std::size_t n = 0;
    while (n < value.size() && is_digit(value[n])) ++n;
    value.remove_prefix(n);
    return n > 0;
  };
  if (!digits() || !value.starts_with('-')) return false;
  value.remove_prefix(1);
  if (!digits()) return false;
  if (value.empty()) return true;
  if (value[0] != '+' && value[0] != '*') return false;
  value.remove_prefix(1);
  return digits() && value.empty();
}

}  // namespace

std::optional<Complaint> check_name(std::string_view name) {
  const auto expected = [name](const char* what) { return Complaint{in_quotes(name) + "; expected " + what, ""}; };
  if (name.empty() || name.size() > kNameBytes) return expected("a name of 1 to 100 bytes");
  if (!is_printable(name)) return expected("a name of printable characters");
  if (name.find('/') != std::string_view::npos) return expected("a name without '/'");
  if (name.front() == ' ' || name.back() == ' ') return expected("a name without spaces at its ends");
  if (name == "." || name == "..") return expected("a name that is no folder's");
  return std::nullopt;
}

std::optional<Complaint> check_capability(std::string_view name) {
  const auto word = [](std::string_view part) {
    return !part.empty() && is_lower(part[0]) &&
           std::all_of(part.begin(), part.end(), [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
  };
  const std::size_t dot = name.find('.');
  if (name.size() <= kNameBytes && dot != std::string_view::npos && word(name.substr(0, dot)) &&
      word(name.substr(dot + 1))) {
    return std::nullopt;
  }
  return Complaint{in_quotes(name) + "; expected a capability, \"domain.name\"", "a name like \"cpu.isa\""};
}

std::optional<Complaint> check_level(std::string_view value) {
  if (!value.empty() && value.size() <= kValueBytes && is_printable(value) &&
      value.find_first_of(",=") == std::string_view::npos && value.front() != ' ' && value.back() != ' ') {
    return std::nullopt;
  }
  return Complaint{in_quotes(value) + "; expected 1 to 200 printable bytes without ',' and '='", ""};
}

std::optional<Complaint> check_environment_name(std::string_view name) {
  const auto letter = [](char c) { return is_lower(c) || is_upper(c) || c == '_'; };
  if (name.empty() || name.size() > kNameBytes || !letter(name[0]) ||
      !std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || is_digit(c); })) {
    return Complaint{in_quotes(name) + "; expected a variable's name: letters, digits and '_', no digit first", ""};
  }
  if (name.starts_with("CAPSHIM_")) {
    return Complaint{in_quotes(name) + " is set by capbench", R"("set" and "guest" of the arm)"};
  }
  if (name == "LD_PRELOAD" || name == "DYLD_INSERT_LIBRARIES" || name == "VK_LAYER_PATH" ||
      name == "VK_INSTANCE_LAYERS") {
    return Complaint{in_quotes(name) + " is set by capbench, which loads the shim with it",
                     "\"shim\" of the arm to load another shim"};
  }
  return std::nullopt;
}

namespace {

std::optional<ArgumentComplaint> check_llama_bench(const std::vector<std::string>& arguments, ArgumentsOf whose) {
  const char* each = whose == ArgumentsOf::kArm ? "one arm for each value" : "one workload for each value";
  std::set<std::string> seen;
  std::string option;  // whose value is next
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& argument = arguments[i];
    const auto complain = [&](std::string cause, std::string remedy) {
      return ArgumentComplaint{i, {in_quotes(argument) + std::move(cause), std::move(remedy)}};
    };
    if (is_option(argument)) {
      option = option_name(argument);
      for (const OwnedOption& owned : kOwned) {
        if (owned.option == option && !(owned.arms_may && whose == ArgumentsOf::kArm)) {
          return complain(" is an option that capbench gives itself", std::string(owned.remedy));
        }
      }
      if (argument.find('=') != std::string::npos) {
        return complain("; llama-bench takes an option's value as the next argument",
                        fmt::format(R"("{}", "...")", argument.substr(0, argument.find('='))));
      }
      if (!seen.insert(option).second) {
        return complain(" appears twice; llama-bench would run every combination", each);
      }
      continue;
    }
    if (i == 0) return complain("; expected an option first", R"("-b", "512", each in quotes of its own)");
    // -rpc alone takes a list of servers that is one setting.
    if (option != "-rpc" && option != "--rpc" && argument.find(',') != std::string::npos) {
      return complain(" has a comma; llama-bench would run every value", each);
    }
    if (is_range(argument)) return complain(" is a range; llama-bench would run every value", each);
  }
  return std::nullopt;
}

std::optional<ArgumentComplaint> check_google_benchmark(const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string option = arguments[i].substr(0, arguments[i].find('='));
    for (const OwnedOption& owned : kOwnedBenchmark) {
      if (owned.option == option) {
        return ArgumentComplaint{
            i, {in_quotes(arguments[i]) + " is an option that capbench gives itself", std::string(owned.remedy)}};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ArgumentComplaint> check_arguments(const std::vector<std::string>& arguments, std::string_view runtime,
                                                 ArgumentsOf whose) {
  if (runtime == kMlxLm && !arguments.empty()) {
    return ArgumentComplaint{
        0, {in_quotes(arguments[0]) + "; mlx-lm takes no further arguments", R"("p", "n" and "r" of the workload)"}};
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].empty() || arguments[i].size() > kPathBytes || !is_printable(arguments[i])) {
      return ArgumentComplaint{i, {in_quotes(arguments[i]) + "; expected 1 to 4000 printable bytes", ""}};
    }
  }
  return runtime == kGoogleBenchmark ? check_google_benchmark(arguments) : check_llama_bench(arguments, whose);
}

std::string common_option(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  std::set<std::string> options;
  for (const std::string& argument : a) {
    if (is_option(argument)) options.insert(option_name(argument));
  }
  for (const std::string& argument : b) {
    if (is_option(argument) && options.contains(option_name(argument))) return argument;
  }
  return "";
}

bool has_option(const std::vector<std::string>& arguments, std::string_view short_name) {
  return std::any_of(arguments.begin(), arguments.end(), [short_name](const std::string& argument) {
    return is_option(argument) && option_name(argument) == short_name;
  });
}

std::optional<Complaint> check_argument_name(std::string_view name) {
  if (is_option(name) && name.size() <= kNameBytes && is_printable(name) &&
      name.find_first_of(" =,/") == std::string_view::npos) {
    return std::nullopt;
  }
  return Complaint{in_quotes(name) + "; expected an option of the application", "a name like \"-fa\""};
}

std::optional<Complaint> check_option_name(std::string_view name) {
  const auto word = [](std::string_view part) {
    return !part.empty() && is_lower(part[0]) && std::all_of(part.begin(), part.end(), [](char c) {
      return is_lower(c) || is_digit(c) || c == '_' || c == '-';
    });
  };
  const std::size_t dot = name.find('.');
  const bool fits =
      name.size() <= kNameBytes &&
      (dot == std::string_view::npos ? word(name) : word(name.substr(0, dot)) && word(name.substr(dot + 1)));
  if (fits) return std::nullopt;
  return Complaint{in_quotes(name) + "; expected a word in lower case", "a name like \"work_dir\""};
}

}  // namespace capbench::suite
