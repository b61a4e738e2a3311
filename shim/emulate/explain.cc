#include "shim/emulate/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/digest.h"
#include "base/file.h"

namespace capbench::emulate {
namespace {

constexpr std::uint64_t kCacheStep = 256;  // llama.cpp looks at the cache in steps of so many cells
constexpr std::string_view kBuildNotes = "_nlcBuildMetadata.json";  // of node-llama-cpp's packages
constexpr std::uint64_t kMaxBuildNotes = 1U << 20U;

std::uint64_t cells_for(std::uint64_t tokens) {
  return (tokens + kCacheStep - 1) / kCacheStep * kCacheStep;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The releases whose maps are kept in releases/, by their libggml-metal.so.
struct KnownRelease {
  std::string_view sha256;
  std::string_view release;
};
constexpr std::array<KnownRelease, 7> kKnownReleases = {{
    {"2e2694ecfe7b5624a8874897d1be5e2a18563708d409dd8ad4b6fc75b29419a7", "b4753"},
    {"0906981bcbe2d7d2331632e1b0f4701cedecb7dbfe2949823f5621e712bc4283", "b7698"},
    {"039d1f3002241c55176d40cd9c635da8c87407e7573e110b596f6fc36bc095d8", "b8121"},
    {"111d0052ec2e336c4aeab185b8f7c92c8dea0cca0500840d850e97d54cffd2d6", "b8390"},
    {"02974085a46e97b0472f397413712c5a91029d0123d2c3a2e089921fdaf4f7ff", "b10068"},
    {"6ed7d955fca4e86674a84f7bb6a685ccbd4a0e593928a37771aec792e0598b92", "b10361"},
    {"1081bd1cf05edc21513c07ba9b18c2ba345af8a14ae678fc13e2fa462d744bb2", "v0.4.0"},
}};

// node-llama-cpp keeps a file beside its libraries that says of which release they are.
std::string release_beside(const std::string& library) {
  const auto bytes = read_file(std::filesystem::path(library).parent_path() / kBuildNotes, kMaxBuildNotes);
  if (!bytes.ok()) return {};
  const auto notes = nlohmann::json::parse(*bytes, nullptr, false);
  const nlohmann::json::json_pointer where("/buildOptions/llamaCpp/release");
  if (notes.is_discarded() || !notes.contains(where) || !notes[where].is_string()) return {};
  std::string release = notes[where].get<std::string>();
  const bool plain = release.size() <= 40 && std::all_of(release.begin(), release.end(), [](char c) {
                       return c > ' ' && c < '\x7f' && c != '"' && c != '\\';
                     });
  return plain ? release : std::string();
}

}  // namespace

std::vector<Situation> situations_of(std::uint64_t prompt) {
  std::vector<Situation> situations;
  for (const bool flash : {false, true}) {
    Situation reading{fmt::format("pp{}", prompt), flash, {}};
    reading.shape.tokens = prompt;
    reading.shape.cells = cells_for(prompt);
    reading.shape.flash_attention = flash;
    Situation writing{"tg", flash, {}};
    writing.shape.tokens = 1;
    writing.shape.cells = cells_for(prompt + 1);
    writing.shape.flash_attention = flash;
    situations.push_back(reading);
    situations.push_back(writing);
  }
  return situations;
}

LibraryIdentity identify(const ExplainInput& input, const GgmlLibraries& libraries) {
  LibraryIdentity identity;
  identity.name = libraries.metal.name;
  identity.sha256 = sha256(libraries.metal.bytes);
  identity.base_sha256 = sha256(libraries.base.bytes);
  if (libraries.shim) {
    identity.shim = libraries.shim->name;
    identity.shim_sha256 = sha256(libraries.shim->bytes);
  }
  const auto known = std::find_if(kKnownReleases.begin(), kKnownReleases.end(),
                                  [&](const KnownRelease& release) { return release.sha256 == identity.sha256; });
  identity.release = known != kKnownReleases.end() ? std::string(known->release) : release_beside(input.library);
  return identity;
}

std::vector<OperatorAnswer> ask_operators(Ggml& ggml, const std::vector<std::vector<LayerOperator>>& layers) {
  std::vector<OperatorAnswer> answers;
  for (std::size_t situation = 0; situation < layers.size(); ++situation) {
    std::size_t after = 0;  // where a row that is new belongs: behind the last one found
    for (const LayerOperator& op : layers[situation]) {
      const auto same = std::find_if(answers.begin(), answers.end(), [&](const OperatorAnswer& answer) {
        return std::tie(answer.role, answer.op, answer.types) == std::tie(op.role, op.op, op.types);
      });
      std::size_t at = static_cast<std::size_t>(same - answers.begin());
      if (same == answers.end()) {
        at = std::min(after, answers.size());
        answers.insert(answers.begin() + static_cast<std::ptrdiff_t>(at),
                       {op.role, op.op, op.types, std::vector<std::optional<bool>>(layers.size())});
      }
      after = at + 1;
      const bool taken = ggml.supports(op.tensor);
      std::optional<bool>& answer = answers[at].on_gpu[situation];
      answer = answer.value_or(true) && taken;  // of several with one name, all must run there
    }
  }
  return answers;
}

std::vector<Question> questions_of(Ggml& ggml, std::string_view library) {
  std::vector<Question> questions;
  for (const Asked& asked : ggml.device().asked()) {
    if (ggml.process().library_of(asked.sender) != library) continue;
    const auto same = std::find_if(questions.begin(), questions.end(), [&](const Question& question) {
      return std::tie(question.selector, question.argument, question.told) ==
             std::tie(asked.selector, asked.argument, asked.told);
    });
    if (same != questions.end()) {
      ++same->times;
    } else {
      questions.push_back({asked.selector, asked.argument, asked.told, asked.device, 1});
    }
  }
  return questions;
}

Result<Explanation> explain(const ExplainInput& input) {
  auto libraries = read_ggml(input.library, input.shim);
  if (!libraries.ok()) return libraries.error();
  auto started = Ggml::start(*libraries, input.guest, input.environment);
  if (!started.ok()) return started.error();
  Ggml& ggml = **started;

  Explanation explanation;
  explanation.library = identify(input, *libraries);
  explanation.library.ggml = ggml.version();
  explanation.guest = input.guest;
  const auto set = input.environment.find("CAPSHIM_SET");
  if (set != input.environment.end()) explanation.set = set->second;
  // Before properties(), for which some releases initialise the device once more.
  explanation.log = lines_of(ggml.log());
  explanation.questions = questions_of(ggml, libraries->metal.name);
  explanation.device = ggml.description();
  explanation.properties = ggml.properties();
  explanation.model = input.model.model;
  explanation.architecture = input.model.architecture;
  explanation.not_covered = input.model.not_covered;
  explanation.situations = situations_of(input.prompt);
  std::vector<std::vector<LayerOperator>> layers;
  for (const Situation& situation : explanation.situations) {
    auto layer = build_decoder_layer(ggml, input.model, situation.shape);
    if (!layer.ok()) return layer.error();
    layers.push_back(std::move(layer).value());
  }
  explanation.operators = ask_operators(ggml, layers);
  if (ggml.process().machine().failed()) return *ggml.process().machine().error();
  return explanation;
}

}  // namespace capbench::emulate
