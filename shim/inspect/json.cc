#include <nlohmann/json.hpp>

#include "shim/inspect/inspect.h"

namespace capbench::shim::inspect {
namespace {

using Json = nlohmann::json;

Json or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

std::string_view role_name(Role role) {
  switch (role) {
    case Role::kProgram:
      return "program";
    case Role::kLibrary:
      return "library";
    case Role::kNeither:
      break;
  }
  return "neither";
}

Json signature_json(const SignatureFacts& signature) {
  return {
      {"adhoc", signature.adhoc},
      {"linker_signed", signature.linker_signed},
      {"certificate", signature.certificate},
      {"hardened_runtime", signature.hardened_runtime},
      {"library_validation", signature.library_validation},
      {"restricted", signature.restricted},
      {"platform_binary", signature.platform_binary},
      {"identifier", signature.identifier},
      {"team", or_null(signature.team)},
      {"entitlements",
       {{"com.apple.security.cs.allow-dyld-environment-variables", signature.allow_dyld_variables},
        {"com.apple.security.cs.disable-library-validation", signature.disable_library_validation},
        {"com.apple.security.get-task-allow", signature.get_task_allow},
        {"com.apple.security.app-sandbox", signature.app_sandbox}}},
  };
}

Json macho_json(const MachOFacts& facts) {
  Json minimum = Json::array();
  for (const MinimumOs& os : facts.minimum_os) {
    minimum.push_back({{"platform", os.platform}, {"version", os.version}, {"sdk", or_null(os.sdk)}});
  }
  return {{"minimum_os", minimum},
          {"restricted_segment", facts.restricted_segment},
          {"encrypted", facts.encrypted},
          {"signature", facts.signature ? signature_json(*facts.signature) : Json(nullptr)}};
}

Json verdict_json(const Verdict& verdict) {
  Json obstacles = Json::array();
  for (const Obstacle& obstacle : verdict.obstacles) {
    obstacles.push_back({{"code", obstacle.code}, {"why", obstacle.why}, {"remedy", obstacle.remedy}});
  }
  return {{"injection", injection_name(verdict.injection)},
          {"mechanism", or_null(verdict.mechanism)},
          {"obstacles", obstacles},
          {"notes", verdict.notes}};
}

Json image_json(const InspectedImage& image) {
  const ImageFacts& facts = image.facts;
  Json libraries = Json::array();
  for (const Library& library : facts.libraries) {
    libraries.push_back({{"name", library.name}, {"kind", library.kind}});
  }
  Json questions = Json::array();
  for (const Question& question : facts.questions) {
    questions.push_back({{"name", question.name},
                         {"evidence", evidence_name(question.evidence)},
                         {"domain", question.domain},
                         {"entry_point", question.entry_point},
                         {"capabilities", question.capabilities}});
  }
  return {{"architecture", facts.architecture},
          {"kind", facts.kind},
          {"role", role_name(facts.role)},
          {"install_name", or_null(facts.install_name)},
          {"libraries", libraries},
          {"run_paths", facts.run_paths},
          {"build_id", or_null(facts.build_id)},
          {"exported_symbols", facts.exported_symbols},
          {"imported_symbols", facts.imported_symbols},
          {"macho", facts.macho ? macho_json(*facts.macho) : Json(nullptr)},
          {"elf", facts.elf
                      ? Json{{"static", facts.elf->linked_statically}, {"interpreter", or_null(facts.elf->interpreter)}}
                      : Json(nullptr)},
          {"questions", questions},
          {"verdict", verdict_json(image.verdict)}};
}

}  // namespace

std::string inspection_json(const Inspection& inspection) {
  Json images = Json::array();
  for (const InspectedImage& image : inspection.images) images.push_back(image_json(image));
  const Json document{{"inspect", inspection.file},
                      {"sha256", inspection.sha256},
                      {"size", inspection.size},
                      {"format", inspection.format == Format::kMachO ? "mach-o" : "elf"},
                      {"injection", injection_name(inspection.running().verdict.injection)},
                      {"runs", inspection.runs},
                      {"images", images}};
  // Names come from the file and need not be UTF-8.
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace capbench::shim::inspect
