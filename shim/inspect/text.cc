#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "shim/inspect/inspect.h"

namespace capbench::shim::inspect {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kIndent = 13;

// Names come from the file: nothing in them may steer a terminal.
std::string shown(std::string_view name) {
  std::string text;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f) {
      text += fmt::format("\\x{:02x}", byte);
    } else {
      text += c;
    }
  }
  return text;
}

// Where the first word ends; a command between backticks is one word, so that it can be copied.
std::size_t word_end(std::string_view text) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '`') quoted = !quoted;
    if (text[i] == ' ' && !quoted) return i;
  }
  return text.size();
}

// Appends the words of `text` behind what the last line holds, breaking lines between words; continued lines start
// with `indent` blanks. A word longer than a line stays whole.
void wrap(std::string& out, std::string_view text, std::size_t indent) {
  const std::size_t line_start = out.rfind('\n') + 1;  // npos + 1 is 0
  std::size_t column = out.size() - line_start;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = word_end(text);
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!first && column + 1 + word.size() > kWidth) {
      out += '\n';
      out.append(indent, ' ');
      column = indent;
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    first = false;
  }
  out += '\n';
}

void field(std::string& out, std::string_view label, std::string_view value) {
  if (value.empty()) return;
  out += fmt::format("{:<{}}", label, kIndent);
  if (value.size() > kWidth - kIndent && value.find(' ') == std::string_view::npos) {
    // A long path: one that fits a line of its own gets it.
    while (!out.empty() && out.back() == ' ') out.pop_back();
    if (!label.empty()) out += '\n';
    out += "  ";
  }
  wrap(out, value, kIndent);
}

void list(std::string& out, std::string_view label, const std::vector<std::string>& values) {
  for (const std::string& value : values) {
    field(out, label, value);
    label = "";
  }
}

std::string signature_text(const SignatureFacts& signature) {
  std::vector<std::string> parts;
  if (signature.certificate) parts.emplace_back("certificate");
  if (signature.adhoc) parts.emplace_back(signature.linker_signed ? "ad hoc, by the linker" : "ad hoc");
  if (signature.hardened_runtime) parts.emplace_back("hardened runtime");
  if (signature.library_validation) parts.emplace_back("library validation");
  if (signature.restricted) parts.emplace_back("restricted");
  if (signature.platform_binary) parts.emplace_back("Apple platform binary");
  if (!signature.team.empty()) parts.push_back("team " + shown(signature.team));
  if (!signature.identifier.empty()) parts.push_back("identifier " + shown(signature.identifier));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<std::string> entitlement_names(const SignatureFacts& signature) {
  std::vector<std::string> names;
  if (signature.allow_dyld_variables) names.emplace_back("com.apple.security.cs.allow-dyld-environment-variables");
  if (signature.disable_library_validation) names.emplace_back("com.apple.security.cs.disable-library-validation");
  if (signature.get_task_allow) names.emplace_back("com.apple.security.get-task-allow");
  if (signature.app_sandbox) names.emplace_back("com.apple.security.app-sandbox");
  return names;
}

void macho_text(std::string& out, const MachOFacts& facts) {
  for (const MinimumOs& os : facts.minimum_os) {
    field(out, "minimum OS",
          os.platform + " " + os.version + (os.sdk.empty() ? "" : fmt::format(", built with SDK {}", os.sdk)));
  }
  field(out, "signature", facts.signature ? signature_text(*facts.signature) : "none");
  if (facts.signature) list(out, "entitled to", entitlement_names(*facts.signature));
}

void questions_text(std::string& out, const std::vector<Question>& questions) {
  std::string others;
  std::string entries;
  bool any = false;
  for (const Question& question : questions) {
    if (question.entry_point) {
      entries += (entries.empty() ? "" : ", ") + question.name;
      continue;
    }
    if (question.capabilities.empty()) {
      others += (others.empty() ? "" : ", ") + question.name;
      continue;
    }
    if (!any) out += "asks for\n";
    any = true;
    out += fmt::format("  {}  ({})\n      ", question.name, evidence_name(question.evidence));
    wrap(out, fmt::format("{}", fmt::join(question.capabilities, " ")), 6);
  }
  if (questions.empty()) field(out, "asks for", "nothing known about a device; its libraries may: inspect them");
  field(out, "devices by", entries);
  field(out, any ? "and for" : "asks for", others.empty() ? "" : others + " (no shim answers these)");
  const bool metal = std::any_of(questions.begin(), questions.end(), [](const Question& question) {
    return std::any_of(question.capabilities.begin(), question.capabilities.end(),
                       [](const auto& name) { return name.starts_with("metal."); });
  });
  if (metal) field(out, "and then", "`capbench explain` runs ggml's Metal library and says what it asks and needs");
}

void verdict_text(std::string& out, const Verdict& verdict) {
  switch (verdict.injection) {
    case Injection::kWorks:
      field(out, "injection", "works, with " + verdict.mechanism);
      break;
    case Injection::kBlocked:
      field(out, "injection", "will not work" + (verdict.mechanism.empty() ? "" : " with " + verdict.mechanism));
      break;
    case Injection::kProgramDecides:
      field(out, "injection", "decided by the program that loads it, with " + verdict.mechanism);
      break;
  }
  std::vector<std::string> remedies;
  for (const Obstacle& obstacle : verdict.obstacles) {
    field(out, "  because", fmt::format("{} [{}]", obstacle.why, obstacle.code));
    if (std::find(remedies.begin(), remedies.end(), obstacle.remedy) == remedies.end()) {
      remedies.push_back(obstacle.remedy);
    }
  }
  for (const std::string& remedy : remedies) field(out, "  try", remedy);
  for (const std::string& note : verdict.notes) field(out, "  note", note);
}

void image_text(std::string& out, const InspectedImage& image) {
  const ImageFacts& facts = image.facts;
  field(out, "image", fmt::format("{}, {}", facts.architecture, facts.kind));
  field(out, "named", shown(facts.install_name));
  if (facts.macho) macho_text(out, *facts.macho);
  if (facts.elf) field(out, "interpreter", shown(facts.elf->interpreter));
  std::vector<std::string> libraries;
  for (const Library& library : facts.libraries) {
    libraries.push_back(shown(library.name) + (library.kind == "regular" ? "" : " (" + library.kind + ")"));
  }
  list(out, "libraries", libraries);
  std::vector<std::string> paths;
  for (const std::string& path : facts.run_paths) paths.push_back(shown(path));
  list(out, "run paths", paths);
  questions_text(out, facts.questions);
  verdict_text(out, image.verdict);
}

}  // namespace

std::string inspection_text(const Inspection& inspection) {
  std::string out;
  field(out, "file", inspection.file);
  field(out, "sha256", inspection.sha256);
  field(out, "format",
        fmt::format("{}, {} bytes", inspection.format == Format::kMachO ? "Mach-O" : "ELF", inspection.size));
  if (inspection.images.size() > 1) {
    field(out, "holds",
          fmt::format("{} images; macOS on Apple silicon runs {}", inspection.images.size(),
                      inspection.running().facts.architecture));
  }
  for (const InspectedImage& image : inspection.images) {
    if (inspection.images.size() > 1) out += '\n';
    image_text(out, image);
  }
  return out;
}

}  // namespace capbench::shim::inspect
