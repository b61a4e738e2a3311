// llama.cpp's own Metal libraries, from the folder that CAPBENCH_METAL_DIR names, above made-up devices.
#include "shim/emulate/explain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "base/file.h"
#include "shim/emulate/capability_map.h"
#include "shim/emulate/release_table.h"

namespace capbench::emulate {
namespace {

const std::string kShim = "shim/metal/libcapshim_metal.dylib";
constexpr const char* kReleases[] = {"3.6.0", "3.15.0", "3.16.2", "3.18.1", "3.19.1", "3.20.0", "3.21.1"};

std::string library_of(const std::string& version) {
  const char* const folder = std::getenv("CAPBENCH_METAL_DIR");
  return folder == nullptr || *folder == '\0' ? std::string()
                                              : std::string(folder) + "/" + version + "/libggml-metal.so";
}

bool present(const std::string& library) {
  std::error_code ignored;
  return !library.empty() && std::filesystem::exists(library, ignored);
}

#define SKIP_WITHOUT(library) \
  if (!present(library)) GTEST_SKIP() << "no " << (library) << ": set CAPBENCH_METAL_DIR"

ExplainInput input_of(const std::string& library, const std::string& guest, const std::string& set = "") {
  ExplainInput input;
  input.library = library;
  input.guest = *parse_guest(guest);
  input.model = *find_model_layer("tinyllama-1.1b");
  if (!set.empty()) {
    input.shim = kShim;
    input.environment["CAPSHIM_SET"] = set;
  }
  return input;
}

Explanation explained(const ExplainInput& input) {
  auto explanation = explain(input);
  if (!explanation.ok()) ADD_FAILURE() << to_string(explanation.error());
  return explanation.ok() ? std::move(explanation).value() : Explanation{};
}

// The lines about capabilities: what is published of them, and what the emulated library prints, are compared whole.
std::vector<std::string> capability_lines(const std::vector<std::string>& log) {
  std::vector<std::string> lines;
  for (const std::string& line : log) {
    for (const char* const what : {"tensor API disabled", "GPU name: ", "GPU family: ", "simdgroup ",
                                   "has unified memory", "has bfloat", "has tensor", "use residency sets",
                                   "use shared buffers", "recommendedMaxWorkingSetSize", "residency set collection"}) {
      if (line.starts_with("ggml_metal_") && line.find(what) != std::string::npos) {
        lines.push_back(line);
        break;
      }
    }
  }
  return lines;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string evidence(const std::string& name) {
  const char* const shared = std::getenv("CAPBENCH_SHARED");
  const auto bytes = read_file(std::string(shared == nullptr ? "" : shared) + "/data/evidence/" + name);
  return bytes.ok() ? *bytes : std::string();
}

std::set<std::string> on_cpu(const Explanation& explanation) {
  std::set<std::string> names;
  for (const OperatorAnswer& answer : explanation.operators) {
    for (const std::optional<bool>& gpu : answer.on_gpu) {
      if (gpu == std::optional<bool>(false)) names.insert(answer.op);
    }
  }
  return names;
}

TEST(Published, TheStockGuestsLinesWordForWord) {
  const std::string library = library_of("3.19.1");
  SKIP_WITHOUT(library);
  const std::vector<std::string> lines = capability_lines(explained(input_of(library, "stock")).log);
  EXPECT_EQ(lines.size(), 13U);
  for (const char* const name :
       {"2026-08-10-m1-ultra-gemma4/gemma4-stock-10x.stderr", "2026-08-09-m1-ultra/tiny-stock-minimal.stderr"}) {
    const std::string published = evidence(name);
    if (published.empty()) GTEST_SKIP() << "no evidence: set CAPBENCH_SHARED";
    EXPECT_EQ(lines, capability_lines(lines_of(published))) << name;
  }
}

TEST(Published, TheUnlockedLinesWordForWordThroughOurShim) {
  const std::string library = library_of("3.19.1");
  SKIP_WITHOUT(library);
  const Explanation explanation = explained(input_of(library, "stock", "metal.apple_family=1009"));
  for (const char* const name : {"2026-08-10-m1-ultra-gemma4/gemma4-safe-shim-10x.stderr",
                                 "2026-08-09-m1-ultra/tiny-safe-shim-10x-final.stderr"}) {
    const std::string published = evidence(name);
    if (published.empty()) GTEST_SKIP() << "no evidence: set CAPBENCH_SHARED";
    EXPECT_EQ(capability_lines(explanation.log), capability_lines(lines_of(published))) << name;
  }
}

TEST(Published, AnM1sLines) {
  const std::string library = library_of("3.19.1");
  SKIP_WITHOUT(library);
  ExplainInput input = input_of(library, "m1");
  input.guest.device = "Apple M1 Ultra";
  input.guest.recommended_working_set = 115'448'725'504;
  const std::string published = evidence("2026-08-10-m1-ultra-gemma4/gemma4-host-10x.stderr");
  if (published.empty()) GTEST_SKIP() << "no evidence: set CAPBENCH_SHARED";
  EXPECT_EQ(capability_lines(explained(input).log), capability_lines(lines_of(published)));
}

class Release : public testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(All, Release, testing::ValuesIn(kReleases), [](const auto& instance) {
  std::string name = instance.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
});

TEST_P(Release, AStockGuestMultipliesOnTheCpu) {
  const std::string library = library_of(GetParam());
  SKIP_WITHOUT(library);
  const Explanation stock = explained(input_of(library, "stock"));
  EXPECT_EQ(on_cpu(stock), (std::set<std::string>{"FLASH_ATTN_EXT", "MUL_MAT", "RMS_NORM", "SOFT_MAX"}));
  EXPECT_EQ(stock.properties.at("simdgroup reduction"), "false");
  EXPECT_EQ(stock.properties.at("simdgroup matrix mul."), "false");
  EXPECT_EQ(stock.properties.at("has bfloat"), "false");
  EXPECT_EQ(stock.properties.at("GPU family Apple"), "5");
  EXPECT_GE(stock.operators.size(), 26U);
}

TEST_P(Release, Apple7IsEnoughForAll) {
  const std::string library = library_of(GetParam());
  SKIP_WITHOUT(library);
  const Explanation unlocked = explained(input_of(library, "stock", "metal.apple_family=1007"));
  EXPECT_EQ(on_cpu(unlocked), std::set<std::string>{});
  EXPECT_EQ(unlocked.properties.at("GPU family Apple"), "7");
  // The library was told otherwise than the device answers.
  EXPECT_TRUE(std::any_of(unlocked.questions.begin(), unlocked.questions.end(), [](const Question& question) {
    return question.argument == "1007" && question.told == "true" && question.device == "false";
  }));
  EXPECT_EQ(on_cpu(explained(input_of(library, "m1"))), std::set<std::string>{});
}

TEST_P(Release, TheMapInTheTreeIsWhatItsCodeDoes) {
  const std::string library = library_of(GetParam());
  SKIP_WITHOUT(library);
  const auto map = map_capabilities(input_of(library, "stock"));
  ASSERT_TRUE(map.ok()) << to_string(map.error());
  EXPECT_EQ(map->contradictions, 0U);
  EXPECT_TRUE(map->failures.empty());
  EXPECT_TRUE(map->not_asked.empty());
  const auto kept = read_file(std::string("shim/emulate/releases/") + GetParam() + ".json");
  ASSERT_TRUE(kept.ok()) << to_string(kept.error());
  EXPECT_EQ(map_json(*map), *kept);
}

TEST(Releases, TheTableIsThatOfTheMaps) {
  std::vector<std::string> maps;
  for (const char* const version : kReleases) {
    const auto kept = read_file(std::string("shim/emulate/releases/") + version + ".json");
    ASSERT_TRUE(kept.ok()) << version;
    maps.push_back(*kept);
  }
  const auto table = release_table(maps);
  ASSERT_TRUE(table.ok()) << to_string(table.error());
  const auto page = read_file("shim/emulate/releases/README.md");
  ASSERT_TRUE(page.ok());
  EXPECT_NE(page->find(*table), std::string::npos) << *table;
  // The project's front page shows the newest release.
  const auto newest = release_table({maps.back()});
  const auto front = read_file("README.md");
  ASSERT_TRUE(newest.ok() && front.ok());
  EXPECT_NE(front->find(*newest), std::string::npos) << *newest;
  for (const char* const other : {"", "{}", "[1]", "{\"kind\":\"capbench.map\"}"}) {
    EXPECT_FALSE(release_table({other}).ok()) << other;
  }
}

TEST(Shim, EveryCeilingThroughGgmlsOwnCode) {
  const std::string library = library_of("3.21.1");
  SKIP_WITHOUT(library);
  for (int level = 1005; level <= 1010; ++level) {
    const Explanation explanation =
        explained(input_of(library, "stock", "metal.apple_family=" + std::to_string(level)));
    EXPECT_EQ(explanation.properties.at("GPU family Apple"), std::to_string(level - 1000));
    EXPECT_EQ(explanation.properties.at("has bfloat"), level >= 1006 ? "true" : "false");
    EXPECT_EQ(explanation.properties.at("simdgroup matrix mul."), level >= 1007 ? "true" : "false");
    EXPECT_EQ(on_cpu(explanation).empty(), level >= 1007) << level;
  }
}

TEST(Shim, EveryToggleReachesGgml) {
  const std::string library = library_of("3.21.1");
  SKIP_WITHOUT(library);
  const auto told = [&](const std::string& set, const std::string& selector) {
    std::string answer;
    for (const Question& question : explained(input_of(library, "stock", set)).questions) {
      if (question.selector == selector) answer = question.told;
    }
    return answer;
  };
  EXPECT_EQ(told("metal.max_threadgroup_memory=65536", "maxThreadgroupMemoryLength"), "65536");
  EXPECT_EQ(told("metal.recommended_working_set=17179869184", "recommendedMaxWorkingSetSize"), "17179869184");
  EXPECT_EQ(told("metal.max_buffer_length=1048576", "maxBufferLength"), "1048576");
  EXPECT_EQ(told("metal.unified_memory=off", "hasUnifiedMemory"), "false");
  const Explanation metal3 = explained(input_of(library, "stock", "metal.metal_family=5001"));
  EXPECT_EQ(metal3.properties.at("simdgroup reduction"), "true");
  EXPECT_EQ(metal3.properties.at("simdgroup matrix mul."), "false");
  EXPECT_EQ(on_cpu(metal3), std::set<std::string>{"FLASH_ATTN_EXT"});
}

TEST(Shim, PublishedVariablesAndMalformedSettings) {
  const std::string library = library_of("3.21.1");
  SKIP_WITHOUT(library);
  ExplainInput input = input_of(library, "stock");
  input.shim = kShim;
  input.environment["LUME_METAL_APPLE_FAMILY_MAX"] = "1009";
  const Explanation published = explained(input);
  EXPECT_EQ(published.properties.at("GPU family Apple"), "9");
  EXPECT_EQ(published.properties.at("max threadgroup memory"), "65536");
  for (const char* const bad : {"metal.apple_family=9", "nonsense", "metal.apple_family=1009,"}) {
    const Explanation stock = explained(input_of(library, "stock", bad));
    EXPECT_EQ(stock.properties.at("GPU family Apple"), "5") << bad;
    EXPECT_TRUE(std::any_of(stock.log.begin(), stock.log.end(), [](const std::string& line) {
      return line.find("nothing is changed") != std::string::npos;
    }));
  }
}

TEST(Explain, TheSameEveryTimeInEightyColumns) {
  const std::string library = library_of("3.21.1");
  SKIP_WITHOUT(library);
  const ExplainInput input = input_of(library, "stock", "metal.apple_family=1009");
  const Explanation explanation = explained(input);
  const std::string text = explain_text(explanation);
  EXPECT_EQ(text, explain_text(explained(input)));
  for (const std::string& line : lines_of(text)) EXPECT_LE(line.size(), 80U) << line;
  const auto json = nlohmann::json::parse(explain_json(explanation), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["kind"], "capbench.explain");
  EXPECT_EQ(json["library"]["release"], "v0.4.0");
  EXPECT_EQ(json["library"]["sha256"].get<std::string>().size(), 64U);
  EXPECT_EQ(json["operators"][0]["runs_on"].size(), json["situations"].size());
  const auto map = map_capabilities(input_of(library, "stock"));
  ASSERT_TRUE(map.ok());
  for (const std::string& line : lines_of(map_text(*map))) EXPECT_LE(line.size(), 80U) << line;
}

// What a schema requires is there, and what is there is described.
void expect_described(const nlohmann::json& schema, const nlohmann::json& value, const std::string& where) {
  if (schema.contains("properties") && value.is_object()) {
    for (const auto& name : schema.value("required", nlohmann::json::array())) {
      EXPECT_TRUE(value.contains(name.get<std::string>())) << where << " lacks " << name;
    }
    for (const auto& [name, part] : value.items()) {
      if (!schema["properties"].contains(name)) {
        ADD_FAILURE() << where << "." << name << " is not described";
      } else {
        expect_described(schema["properties"][name], part, where + "." + name);
      }
    }
  }
  if (schema.contains("items") && value.is_array()) {
    for (const auto& part : value) expect_described(schema["items"], part, where + "[]");
  }
}

TEST(Schemas, DescribeWhatIsPrinted) {
  const std::string library = library_of("3.19.1");
  SKIP_WITHOUT(library);
  const auto schema = [](const std::string& name) {
    const auto bytes = read_file("shim/emulate/" + name);
    return nlohmann::json::parse(bytes.ok() ? *bytes : std::string(), nullptr, false);
  };
  const Explanation explanation = explained(input_of(library, "stock", "metal.apple_family=1009"));
  expect_described(schema("explain.schema.json"), nlohmann::json::parse(explain_json(explanation)), "$");
  const auto map = read_file("shim/emulate/releases/3.21.1.json");
  ASSERT_TRUE(map.ok());
  expect_described(schema("map.schema.json"), nlohmann::json::parse(*map), "$");
}

TEST(Explain, SwitchesOfTheEnvironmentReachTheLibrary) {
  const std::string library = library_of("3.21.1");
  SKIP_WITHOUT(library);
  ExplainInput input = input_of(library, "m1");
  input.environment["GGML_METAL_BF16_DISABLE"] = "1";
  EXPECT_EQ(explained(input).properties.at("has bfloat"), "false");
  EXPECT_EQ(explained(input_of(library, "m5")).properties.at("has tensor"), "true");
}

TEST(Explain, OtherModelsAndTypes) {
  const std::string library = library_of("3.21.1");
  SKIP_WITHOUT(library);
  ExplainInput input = input_of(library, "stock");
  input.model = with_weight_type(input.model, models::TensorType::kBF16);
  const Explanation explanation = explained(input);
  const auto embedding = std::find_if(explanation.operators.begin(), explanation.operators.end(),
                                      [](const OperatorAnswer& answer) { return answer.role == "token_embd"; });
  ASSERT_NE(embedding, explanation.operators.end());
  EXPECT_EQ(embedding->types, "BF16 x I32");
  EXPECT_EQ(embedding->on_gpu[0], std::optional<bool>(false));  // BF16 without bfloat
}

// Fused query, key and value; biases; norms of heads; GELU; a cap on attention; experts; tied embeddings.
std::vector<ModelLayer> other_layers() {
  const ModelLayer plain = *find_model_layer("tiny");
  ModelLayer fused = plain;
  for (const char* const role : {"attn_q", "attn_k", "attn_v"}) fused.weights.erase(role);
  fused.weights["attn_qkv"] = {{fused.width, fused.key_length * (fused.heads + 2 * fused.kv_heads)},
                               {models::TensorType::kQ4_0}};
  fused.weights["attn_qkv.bias"] = {{fused.key_length * (fused.heads + 2 * fused.kv_heads)},
                                    {models::TensorType::kF32}};
  fused.weights.erase("ffn_gate");
  fused.weights.erase("output");
  fused.rms_norm = false;
  fused.gelu = true;
  ModelLayer normed = plain;
  normed.weights["attn_q_norm"] = {{normed.key_length}, {models::TensorType::kF32}};
  normed.weights["attn_k_norm"] = {{normed.key_length}, {models::TensorType::kF32}};
  normed.gelu = true;
  normed.attention_softcap = 50;
  normed.rope_neox = true;
  ModelLayer experts = plain;
  experts.experts = 4;
  experts.experts_used = 2;
  const std::vector<models::TensorType> types{models::TensorType::kQ4_0};
  experts.weights["ffn_gate_inp"] = {{experts.width, 4}, {models::TensorType::kF32}};
  experts.weights["ffn_gate_exps"] = {{experts.width, 512, 4}, types};
  experts.weights["ffn_up_exps"] = {{experts.width, 512, 4}, types};
  experts.weights["ffn_down_exps"] = {{512, experts.width, 4}, types};
  return {fused, normed, experts};
}

TEST_P(Release, BuildsOtherLayersToo) {
  const std::string library = library_of(GetParam());
  SKIP_WITHOUT(library);
  for (const ModelLayer& layer : other_layers()) {
    ExplainInput input = input_of(library, "m1");
    input.model = layer;
    const Explanation explanation = explained(input);
    EXPECT_EQ(on_cpu(explanation), std::set<std::string>{});
    EXPECT_GE(explanation.operators.size(), 20U);
  }
}

// Whatever the damage: an explanation or an error, in bounded time, and this process stays.
TEST(Explain, SurvivesDamagedLibraries) {
  const std::string path = library_of("3.19.1");
  SKIP_WITHOUT(path);
  auto whole = read_ggml(path, "");
  ASSERT_TRUE(whole.ok());
  Limits limits;
  limits.instructions = 3'000'000;
  std::mt19937 draw(11);
  std::size_t refused = 0;
  for (int i = 0; i < 60; ++i) {
    GgmlLibraries damaged = *whole;
    std::string& bytes = i % 2 == 0 ? damaged.metal.bytes : damaged.base.bytes;
    for (int flips = 0; flips < 200; ++flips) {
      const std::size_t at = draw() % 300'000;  // code, and what the loader reads
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << draw() % 8));
    }
    if (i % 5 == 0) bytes.resize(draw() % bytes.size());
    const auto ggml = Ggml::start(damaged, *parse_guest("stock"), {}, limits);
    if (!ggml.ok()) ++refused;
  }
  EXPECT_GT(refused, 10U);
}

TEST(Explain, BadInputIsOneClearError) {
  ExplainInput input = input_of("no/such/libggml-metal.so", "stock");
  auto missing = explain(input);
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().what.find("no/such/libggml-metal.so"), std::string::npos);

  const std::filesystem::path folder = std::filesystem::path(std::getenv("TEST_TMPDIR")) / "bad";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(replace_file(folder / "libggml-metal.so", "not a library").ok());
  input.library = (folder / "libggml-metal.so").string();
  auto text = explain(input);
  ASSERT_FALSE(text.ok());
  EXPECT_NE(text.error().cause.find("not a library"), std::string::npos) << to_string(text.error());
  ASSERT_TRUE(replace_file(folder / "libggml-metal.so", "\xcf\xfa\xed\xfe and nothing else").ok());
  input.library = (folder / "libggml-metal.so").string();
  auto alone = explain(input);
  ASSERT_FALSE(alone.ok());
  EXPECT_NE(alone.error().remedy.find("libggml-base.dylib"), std::string::npos);
  ASSERT_TRUE(replace_file(folder / "libggml-base.dylib", "nor is this").ok());
  auto none = explain(input);
  ASSERT_FALSE(none.ok());
  EXPECT_FALSE(none.error().remedy.empty());

  input.shim = "x";
  const auto both = map_capabilities(input);
  ASSERT_FALSE(both.ok());
  EXPECT_NE(both.error().remedy.find("without --shim"), std::string::npos);
  EXPECT_FALSE(find_model_layer("no-such-model").ok());
}

}  // namespace
}  // namespace capbench::emulate
