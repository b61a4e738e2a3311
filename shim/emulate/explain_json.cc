#include <nlohmann/json.hpp>

#include "shim/emulate/explain.h"
#include "shim/emulate/explain_parts.h"

namespace capbench::emulate {

Json library_json(const LibraryIdentity& library) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  Json json{{"name", library.name},
            {"sha256", library.sha256},
            {"base_sha256", library.base_sha256},
            {"ggml", or_null(library.ggml)},
            {"release", or_null(library.release)}};
  if (!library.shim.empty()) json["shim"] = {{"name", library.shim}, {"sha256", library.shim_sha256}};
  return json;
}

Json guest_json(const DeviceProfile& guest) {
  return {{"name", guest.name},
          {"device", guest.device},
          {"source", guest.source},
          {"capabilities",
           {{"metal.apple_family", guest.apple_family},
            {"metal.mac_family", guest.mac_family},
            {"metal.common_family", guest.common_family},
            {"metal.metal_family", guest.metal_family},
            {"metal.max_threadgroup_memory", guest.max_threadgroup_memory},
            {"metal.recommended_working_set", guest.recommended_working_set},
            {"metal.max_buffer_length", guest.max_buffer_length},
            {"metal.unified_memory", guest.unified_memory},
            {"metal.bfloat", guest.bfloat}}}};
}

std::string dump_json(const Json& json) {
  // Text of a library need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string explain_json(const Explanation& explanation) {
  Json json{{"kind", "capbench.explain"}, {"format", 1}};
  json["library"] = library_json(explanation.library);
  json["guest"] = guest_json(explanation.guest);
  json["set"] = explanation.set.empty() ? Json() : Json(explanation.set);
  json["log"] = explanation.log;
  json["questions"] = Json::array();
  for (const Question& question : explanation.questions) {
    json["questions"].push_back({{"selector", question.selector},
                                 {"argument", question.argument.empty() ? Json() : Json(question.argument)},
                                 {"told", question.told},
                                 {"device", question.device},
                                 {"times", question.times}});
  }
  json["properties"] = Json::object();
  for (const auto& [name, value] : explanation.properties) json["properties"][name] = value;
  json["model"] = {{"name", explanation.model},
                   {"architecture", explanation.architecture},
                   {"not_covered", explanation.not_covered}};
  json["situations"] = Json::array();
  for (const Situation& situation : explanation.situations) {
    json["situations"].push_back({{"name", situation.name},
                                  {"flash_attention", situation.flash_attention},
                                  {"tokens", situation.shape.tokens},
                                  {"cells", situation.shape.cells}});
  }
  json["operators"] = Json::array();
  for (const OperatorAnswer& answer : explanation.operators) {
    Json where = Json::array();
    for (const std::optional<bool>& gpu : answer.on_gpu) {
      where.push_back(!gpu ? Json() : *gpu ? Json("gpu") : Json("cpu"));
    }
    json["operators"].push_back(
        {{"role", answer.role}, {"operator", answer.op}, {"types", answer.types}, {"runs_on", std::move(where)}});
  }
  return dump_json(json);
}

}  // namespace capbench::emulate
