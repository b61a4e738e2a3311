#include "models/synth.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <string>

#include "base/digest.h"
#include "base/file.h"
#include "models/catalog.h"
#include "models/gguf.h"
#include "models/twin_stream.h"

namespace capbench::models {
namespace {

std::filesystem::path fresh_folder(const std::string& name) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

Shape shape_of(std::string_view name) {
  const auto shape = find_shape(name);
  EXPECT_TRUE(shape.ok());
  return *shape;
}

std::string digest_of(const Shape& shape, std::uint64_t seed, Fill fill, unsigned threads = 0) {
  const auto plan = plan_twin(shape, seed, fill);
  EXPECT_TRUE(plan.ok());
  Sha256 hash;
  hash.update(plan->head.bytes);
  const Status status = stream_twin(*plan, threads, [&hash](const TwinPiece& piece) -> Status {
    hash.update(piece.bytes);
    return {};
  });
  EXPECT_TRUE(status.ok());
  return hash.finish();
}

std::map<std::string, std::uint64_t> tensors_by_type(const TwinPlan& plan) {
  std::map<std::string, std::uint64_t> counts;
  for (const GgufTensor& tensor : plan.head.layout.tensors) ++counts[std::string(tensor_type_info(tensor.type).name)];
  return counts;
}

TEST(TwinPlan, OfTinyLlamaHasTheRealModelsMix) {
  const auto plan = plan_twin(shape_of("tinyllama-1.1b"), 1, Fill::kPlanted);
  ASSERT_TRUE(plan.ok());
  const std::map<std::string, std::uint64_t> expected{{"F32", 45}, {"Q4_K", 135}, {"Q6_K", 21}};
  EXPECT_EQ(tensors_by_type(*plan), expected);
  std::uint64_t bytes = 0;
  std::uint64_t parameters = 0;
  for (const GgufTensor& tensor : plan->head.layout.tensors) {
    bytes += tensor.bytes;
    parameters += tensor.elements;
  }
  // What llama-bench reports for the published file.
  EXPECT_EQ(bytes, 667078656U);
  EXPECT_EQ(parameters, 1100048384U);
  EXPECT_EQ(plan->head.layout.tensors.size(), plan->weights.size());
}

TEST(TwinPlan, GivesBetterTypesToTheDocumentedLayers) {
  std::string better;
  for (std::uint32_t layer = 0; layer < 22; ++layer) {
    if (use_more_bits(layer, 22)) better += std::to_string(layer) + " ";
  }
  EXPECT_EQ(better, "0 1 4 7 10 13 16 19 20 21 ");
}

TEST(TwinPlan, EveryMixGivesItsTypes) {
  Shape shape = shape_of("tiny");
  const auto types = [&shape](Mix mix, bool pure) {
    shape.mix = mix;
    shape.pure = pure;
    const auto plan = plan_twin(shape, 1, Fill::kPlanted);
    EXPECT_TRUE(plan.ok());
    return tensors_by_type(*plan);
  };
  using Counts = std::map<std::string, std::uint64_t>;
  EXPECT_EQ(types(Mix::kF16, false), (Counts{{"F32", 9}, {"F16", 30}}));
  EXPECT_EQ(types(Mix::kBF16, false), (Counts{{"F32", 9}, {"BF16", 30}}));
  EXPECT_EQ(types(Mix::kQ8_0, false), (Counts{{"F32", 9}, {"Q8_0", 30}}));
  EXPECT_EQ(types(Mix::kQ4_0, false), (Counts{{"F32", 9}, {"Q4_0", 29}, {"Q6_K", 1}}));
  EXPECT_EQ(types(Mix::kQ4_0, true), (Counts{{"F32", 9}, {"Q4_0", 30}}));
}

TEST(TwinPlan, RefusesImpossibleShapes) {
  const auto refused = [](auto change) {
    Shape shape = shape_of("tiny");
    change(shape);
    const auto plan = plan_twin(shape, 1, Fill::kPlanted);
    return !plan.ok() && plan.error().kind == ErrorKind::kUsage && !plan.error().cause.empty();
  };
  EXPECT_FALSE(refused([](Shape&) {}));
  EXPECT_TRUE(refused([](Shape& s) { s.layers = 0; }));
  EXPECT_TRUE(refused([](Shape& s) { s.layers = 1001; }));
  EXPECT_TRUE(refused([](Shape& s) { s.vocab = 258; }));
  EXPECT_TRUE(refused([](Shape& s) { s.vocab = UINT32_MAX; }));
  EXPECT_TRUE(refused([](Shape& s) { s.width = 500; }));
  EXPECT_TRUE(refused([](Shape& s) { s.width = 0; }));
  EXPECT_TRUE(refused([](Shape& s) { s.ffn = UINT32_MAX; }));
  EXPECT_TRUE(refused([](Shape& s) { s.heads = 0; }));
  EXPECT_TRUE(refused([](Shape& s) { s.heads = 512; }));
  EXPECT_TRUE(refused([](Shape& s) { s.kv_heads = 3; }));
  EXPECT_TRUE(refused([](Shape& s) { s.context = 0; }));
  EXPECT_TRUE(refused([](Shape& s) { s.rms_epsilon = 0; }));
}

TEST(Twin, CarriesAByteVocabularyAndItsMarks) {
  const auto plan = plan_twin(shape_of("tiny"), 77, Fill::kPlanted);
  ASSERT_TRUE(plan.ok());
  const Gguf& gguf = plan->head.layout;
  const GgufValue* value = find_key(gguf, "tokenizer.ggml.tokens");
  ASSERT_NE(value, nullptr);
  const auto tokens = strings_of(std::get<GgufArray>(*value));
  ASSERT_EQ(tokens.size(), 512U);
  EXPECT_EQ(tokens[0], "<unk>");
  EXPECT_EQ(tokens[3], "<0x00>");
  EXPECT_EQ(tokens[3 + 'A'], "<0x41>");
  EXPECT_EQ(tokens[258], "<0xFF>");
  EXPECT_EQ(tokens[259], "<f259>");
  EXPECT_EQ(find_string(gguf, kTwinLikeKey), "tiny");
  EXPECT_EQ(find_unsigned(gguf, kTwinSeedKey), 77U);
  EXPECT_EQ(find_string(gguf, kTwinFillKey), "planted");
  EXPECT_NE(find_string(gguf, "general.name")->find("twin"), std::string::npos);
  EXPECT_EQ(find_unsigned(gguf, "general.file_type"), 15U);
}

// Pinned: another value means that some platform, compiler or change gives other weights. If the change is meant,
// kTwinVersion goes up with it.
TEST(Twin, OfTinyHasThePinnedBytes) {
  const auto path = fresh_folder("pinned") / "tiny.gguf";
  const auto report = synth(shape_of("tiny"), 1, Fill::kPlanted, path);
  ASSERT_TRUE(report.ok()) << to_string(report.error());
  EXPECT_EQ(report->sha256, "7a62190bd38844bedf468f05d97184c358a2d8d9f41d74afefa773903d8b6665");
  EXPECT_EQ(report->sha256, *sha256_file(path));
  EXPECT_EQ(report->size, std::filesystem::file_size(path));
  EXPECT_EQ(report->size, twin_size(shape_of("tiny")));
  EXPECT_EQ(report->tensors, 39U);
  EXPECT_EQ(report->parameters, 9966080U);
  const auto gguf = read_gguf(path);
  ASSERT_TRUE(gguf.ok()) << to_string(gguf.error());
  EXPECT_EQ(gguf->tensors.size(), 39U);
  const auto again = synth(shape_of("tiny"), 1, Fill::kPlanted, path, {1, {}});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->sha256, report->sha256);
}

TEST(Twin, OfEveryMixHasThePinnedBytes) {
  Shape shape = shape_of("tiny");
  shape.layers = 1;
  const auto digest = [&shape](Mix mix) {
    shape.mix = mix;
    return digest_of(shape, 1, Fill::kPlanted).substr(0, 16);
  };
  EXPECT_EQ(digest(Mix::kF16), "42541706b88dae7b");
  EXPECT_EQ(digest(Mix::kBF16), "7bfff7fa8142208b");
  EXPECT_EQ(digest(Mix::kQ8_0), "127ce37183abbd81");
  EXPECT_EQ(digest(Mix::kQ4_0), "c1b8e0a8c1632a90");
  EXPECT_EQ(digest(Mix::kQ4_K_M), "80c94ad59b954dd3");
}

TEST(Twin, DependsOnSeedAndFillButNotOnThreads) {
  const Shape tiny = shape_of("tiny");
  const std::string one = digest_of(tiny, 1, Fill::kPlanted, 1);
  EXPECT_EQ(digest_of(tiny, 1, Fill::kPlanted, 7), one);
  EXPECT_NE(digest_of(tiny, 2, Fill::kPlanted, 1), one);
  const std::string pattern = digest_of(tiny, 1, Fill::kPattern, 3);
  EXPECT_NE(pattern, one);
  EXPECT_EQ(digest_of(tiny, 1, Fill::kPattern, 1), pattern);
}

TEST(Twin, PlantsTheNextTokenIntoTheOutput) {
  // With embedding and output of one type, output row r + 1 holds embedding row r up to the scale.
  Shape shape = shape_of("tiny");
  shape.mix = Mix::kQ4_0;
  shape.pure = true;
  const auto plan = plan_twin(shape, 3, Fill::kPlanted);
  ASSERT_TRUE(plan.ok());
  std::map<std::string, std::string> data;
  ASSERT_TRUE(stream_twin(*plan, 2, [&](const TwinPiece& piece) -> Status {
                data[plan->head.layout.tensors[piece.tensor].name] += piece.bytes;
                return {};
              }).ok());
  const std::string& embedding = data["token_embd.weight"];
  const std::string& output = data["output.weight"];
  ASSERT_EQ(embedding.size(), output.size());
  const std::size_t row = embedding.size() / shape.vocab;
  for (std::size_t r = 0; r < shape.vocab; ++r) {
    const std::size_t next = (r + 1) % shape.vocab;
    for (std::size_t block = 0; block < row; block += 18) {
      ASSERT_EQ(embedding.substr(r * row + block + 2, 16), output.substr(next * row + block + 2, 16)) << r;
    }
  }
}

TEST(Twin, PatternRepeatsOneBlock) {
  const auto plan = plan_twin(shape_of("quickstart"), 1, Fill::kPattern);
  ASSERT_TRUE(plan.ok());
  std::uint64_t bytes = 0;
  ASSERT_TRUE(stream_twin(*plan, 2, [&](const TwinPiece& piece) -> Status {
                bytes += piece.bytes.size();
                if (plan->head.layout.tensors[piece.tensor].type != TensorType::kQ4_0) return {};
                for (std::size_t i = 18; i < piece.bytes.size(); i += 18) {
                  if (piece.bytes.substr(i, 18) != piece.bytes.substr(0, 18)) return Error{};
                }
                return {};
              }).ok());
  EXPECT_EQ(bytes, 15370240U);
}

TEST(Synth, StopsWhenAskedAndLeavesNothing) {
  const auto folder = fresh_folder("stopped");
  SynthOptions options;
  std::uint64_t calls = 0;
  options.progress = [&calls](std::uint64_t done, std::uint64_t total) {
    EXPECT_LE(done, total);
    return ++calls < 3;
  };
  const auto report = synth(shape_of("tiny"), 1, Fill::kPlanted, folder / "tiny.gguf", options);
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::kInterrupted);
  EXPECT_EQ(calls, 3U);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(Synth, AFullDiskIsOneErrorAndLeavesNothing) {
  const auto folder = fresh_folder("full");
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1U << 20U, 1U << 20U};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto report = synth(shape_of("tiny"), 1, Fill::kPlanted, folder / "tiny.gguf");
    ::_exit(!report.ok() && report.error().kind == ErrorKind::kMachine &&
                    report.error().what == (folder / "tiny.gguf").string()
                ? 0
                : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(Synth, ReportsForPeopleAndPrograms) {
  const auto report = synth(shape_of("tiny"), 5, Fill::kPattern, fresh_folder("reports") / "tiny.gguf");
  ASSERT_TRUE(report.ok());
  EXPECT_NE(synth_text(*report).find("pattern twin of tiny, seed 5, 5.76 MiB, 9.97 M parameters"), std::string::npos);
  EXPECT_NE(synth_json(*report).find("\"sha256\": \"" + report->sha256 + "\""), std::string::npos);
}

TEST(SequenceText, IsAscendingRunsOfPrintableCharacters) {
  const std::string text = sequence_text(4096);
  ASSERT_EQ(text.size(), 4096U);
  EXPECT_EQ(text, sequence_text(8192).substr(0, 4096));
  std::size_t breaks = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    EXPECT_GE(text[i], '!');
    EXPECT_LE(text[i], '~');
    if (i > 0 && text[i] != text[i - 1] + 1) ++breaks;
  }
  // Runs have 16 to 31 characters.
  EXPECT_GE(breaks, 4096U / 31 - 1);
  EXPECT_LE(breaks, 4096U / 16);
}

}  // namespace
}  // namespace capbench::models
