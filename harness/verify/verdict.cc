#include "harness/verify/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace capbench::verify {
namespace {

using nlohmann::json;

constexpr std::size_t kColumns = 80;
constexpr std::size_t kIndent = 25;  // of details: outcome and name stand before them

// Text of strangers for a terminal: printable ASCII as it is, the rest as \xNN, so that nothing moves a cursor, hides
// or turns round what stands beside it.
std::string plain(std::string_view text) {
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F) {
      shown += c;
    } else {
      shown += fmt::format("\\x{:02x}", byte);
    }
  }
  return shown;
}

// 64 hexadecimal digits become their first twelve.
std::string shortened(std::string_view text) {
  constexpr std::size_t kDigest = 64;
  constexpr std::size_t kKept = 12;
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string shown;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_not_of(kHex), text.size());
    shown += text.substr(0, end == kDigest ? kKept : end);
    text.remove_prefix(end);
    if (text.empty()) break;
    shown += text.front();
    text.remove_prefix(1);
  }
  return shown;
}

// Words in lines of at most `width`; a longer word is cut.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    while (!word.empty()) {
      const std::size_t used = lines.back().empty() ? 0 : lines.back().size() + 1;
      if (used + word.size() <= width) {
        lines.back() += (lines.back().empty() ? "" : " ") + std::string(word);
        break;
      }
      if (!lines.back().empty()) {
        lines.emplace_back();
        continue;
      }
      lines.back() = word.substr(0, width);
      word.remove_prefix(width);
      lines.emplace_back();
    }
  }
  if (lines.size() > 1 && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string row_text(const Check& check) {
  std::string text = shortened(plain(check.detail));
  if (!check.where.empty()) text = shortened(plain(check.where)) + ": " + text;
  std::string row = fmt::format("  {:<8} {:<13} ", outcome_name(check.outcome), check.name);
  for (const std::string& line : wrapped(text, kColumns - kIndent)) {
    row += row.ends_with('\n') ? std::string(kIndent, ' ') + line : line;
    row += '\n';
  }
  return row;
}

std::string paragraph(std::string_view text, std::string_view indent) {
  std::string lines;
  for (const std::string& line : wrapped(text, kColumns - indent.size())) {
    lines += std::string(indent) + line + "\n";
  }
  return lines;
}

// "1 check failed".
std::string counted(std::size_t n, std::string_view noun, std::string_view what) {
  return fmt::format("{} {}{} {}", n, noun, n == 1 ? "" : "s", what);
}

std::size_t names_with(const Verdict& verdict, Outcome outcome) {
  std::vector<std::string_view> names;
  for (const Check& check : verdict.checks) {
    if (check.outcome == outcome && std::find(names.begin(), names.end(), check.name) == names.end()) {
      names.push_back(check.name);
    }
  }
  return names.size();
}

std::string conclusion(const Verdict& verdict) {
  const std::size_t flagged = names_with(verdict, Outcome::kFlagged);
  const std::string flags = flagged == 0 ? "" : "; " + counted(flagged, "check", "flagged");
  if (verdict.failed()) {
    return fmt::format("FAILED: {}{}", counted(names_with(verdict, Outcome::kFailed), "check", "failed"), flags);
  }
  if (verdict.tier == kConsistent) {
    return fmt::format("{}: nothing in it contradicts itself{}. That is not proof that nobody lied.", verdict.tier,
                       flags);
  }
  return fmt::format("{}: nothing contradicts itself in what could be looked at{}.", verdict.tier, flags);
}

json to_json(const Verdict& verdict) {
  json checks = json::array();
  for (const Check& check : verdict.checks) {
    checks.push_back({{"name", check.name},
                      {"outcome", outcome_name(check.outcome)},
                      {"detail", check.detail},
                      {"where", check.where}});
  }
  return {{"bundle", verdict.bundle_id},
          {"signer", verdict.signer},
          {"tier", verdict.tier},
          {"verdict", verdict.failed() ? "failed" : "passed"},
          {"failed", verdict.count(Outcome::kFailed)},
          {"flagged", verdict.count(Outcome::kFlagged)},
          {"trials", verdict.trials},
          {"missing", verdict.missing},
          {"checks", std::move(checks)}};
}

std::string dumped(const json& document) {
  return document.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPassed:
      return "passed";
    case Outcome::kSkipped:
      return "skipped";
    case Outcome::kFlagged:
      return "flagged";
    case Outcome::kFailed:
      return "failed";
  }
  return "";
}

std::size_t Verdict::count(Outcome outcome) const {
  return static_cast<std::size_t>(
      std::count_if(checks.begin(), checks.end(), [&](const Check& check) { return check.outcome == outcome; }));
}

std::string summary_text(const Verdict& verdict) {
  std::string text = "verify\n";
  for (const Check& check : verdict.checks) {
    if (check.outcome == Outcome::kFailed || check.outcome == Outcome::kFlagged) text += row_text(check);
  }
  return text + paragraph(conclusion(verdict), "  ");
}

std::string verdict_text(const Verdict& verdict, std::string_view name) {
  std::string text = paragraph(plain(name), "");
  for (const Check& check : verdict.checks) {
    // What could not be opened could not be looked at: that is said once.
    if (verdict.bundle_id.empty() && check.outcome == Outcome::kSkipped) continue;
    text += row_text(check);
  }
  text += paragraph(conclusion(verdict), "");
  if (!verdict.failed() && verdict.tier == kSelfReported && !verdict.missing.empty()) {
    text += "  to be called consistent it lacks:\n";
    constexpr std::size_t kMost = 8;
    for (std::size_t i = 0; i < std::min(verdict.missing.size(), kMost); ++i) {
      text += paragraph(shortened(plain(verdict.missing[i])), "    ");
    }
    if (verdict.missing.size() > kMost) text += fmt::format("    and {} more\n", verdict.missing.size() - kMost);
  }
  return text;
}

std::string verdict_json(const Verdict& verdict) {
  return dumped(to_json(verdict));
}

std::string verdicts_json(const std::vector<NamedVerdict>& verdicts) {
  json bundles = json::array();
  for (const NamedVerdict& named : verdicts) {
    json one = to_json(named.verdict);
    one["file"] = named.name;
    bundles.push_back(std::move(one));
  }
  return dumped({{"bundles", std::move(bundles)}});
}

}  // namespace capbench::verify
