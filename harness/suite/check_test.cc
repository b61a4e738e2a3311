#include "harness/suite/check.h"

#include <gtest/gtest.h>

namespace capbench::suite {
namespace {

TEST(CheckName, TakesPrintableTextOfAnyLanguage) {
  for (const char* good :
       {"pp128+tg32", "TinyLlama 1.1B Q4_K_M", "\xE6\xA8\xA1\xE5\x9E\x8B", "a,b", "-x", ".hidden", "..."}) {
    EXPECT_FALSE(check_name(good).has_value()) << good;
  }
  EXPECT_FALSE(check_name(std::string(100, 'a')).has_value());
}

TEST(CheckName, RefusesWhatBreaksTablesAndPaths) {
  for (const char* bad : {"", "a/b", " a", "a ", ".", "..", "a\nb", "a\x7F", "a\xC2\x85", "-\xE2\x80\xAE-",
                          "\xEF\xBB\xBF-", "\xFF", "\xC0\xAF", "\xED\xA0\x80", "\xE2\x80\x8B"}) {
    EXPECT_TRUE(check_name(bad).has_value()) << bad;
  }
  EXPECT_TRUE(check_name(std::string(101, 'a')).has_value());
  EXPECT_TRUE(check_name(std::string("a\0b", 3)).has_value());
}

TEST(CheckCapability, IsDomainDotName) {
  for (const char* good : {"cpu.isa", "metal.max_threadgroup_memory", "vulkan.shader_float16"}) {
    EXPECT_FALSE(check_capability(good).has_value()) << good;
  }
  for (const char* bad :
       {"", "cpu", ".isa", "cpu.", "cpu.isa.x", "Cpu.isa", "cpu.i sa", "cpu.is=a", "cpu,isa", "1cpu.isa"}) {
    EXPECT_TRUE(check_capability(bad).has_value()) << bad;
  }
}

TEST(CheckLevel, SurvivesTheList) {
  for (const char* good : {"x64", "best", "1009", "65536", "a b"}) EXPECT_FALSE(check_level(good).has_value()) << good;
  for (const char* bad : {"", "a,b", "a=b", "a\nb", " a", "a "}) EXPECT_TRUE(check_level(bad).has_value()) << bad;
}

TEST(CheckEnvironmentName, KeepsInjectionToCapbench) {
  for (const char* good : {"GGML_VK_VISIBLE_DEVICES", "_x", "LD_LIBRARY_PATH", "CAPSHIM"}) {
    EXPECT_FALSE(check_environment_name(good).has_value()) << good;
  }
  for (const char* bad : {"", "1A", "A-B", "A=B", "A B", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "VK_LAYER_PATH",
                          "VK_INSTANCE_LAYERS", "CAPSHIM_SET", "CAPSHIM_"}) {
    EXPECT_TRUE(check_environment_name(bad).has_value()) << bad;
  }
}

TEST(CheckArguments, TakesWhatLeavesOneRowOfEachTest) {
  const std::vector<std::vector<std::string>> good = {
      {},
      {"-b", "512", "-ub", "256"},
      {"-ngl_is_no_option"},
      {"--no-warmup", "--numa", "distribute", "--prio", "-1"},
      {"-ot", R"(blk\.1\.ffn=CPU;blk\.2=CPU)"},
      {"-rpc", "host1:50052,host2:50052"},
      {"-ts", "1/1", "-C", "0x3", "--poll", "0"},
  };
  for (const auto& arguments : good)
    EXPECT_FALSE(check_arguments(arguments, "llama-bench", ArgumentsOf::kWorkload).has_value())
        << ::testing::PrintToString(arguments);
}

TEST(CheckArguments, SaysWhichMemberToUseInstead) {
  const std::vector<std::pair<std::string, std::string>> owned = {{"-m", "file"},
                                                                  {"--model", "file"},
                                                                  {"-hf", "file"},
                                                                  {"-p", "\"p\""},
                                                                  {"--n-prompt", "\"p\""},
                                                                  {"-n", "\"n\""},
                                                                  {"--n_gen", "\"n\""},
                                                                  {"-pg", "timed apart"},
                                                                  {"-d", "\"d\""},
                                                                  {"--n-depth=4", "\"d\""},
                                                                  {"-r", "\"r\""},
                                                                  {"--repetitions", "\"r\""},
                                                                  {"-t", "\"t\""},
                                                                  {"--threads", "\"t\""},
                                                                  {"-ngl", "\"ngl\""},
                                                                  {"--n_gpu_layers", "\"ngl\""},
                                                                  {"-fa", "\"fa\""},
                                                                  {"--flash-attn", "\"fa\""},
                                                                  {"-dev", "\"device\""},
                                                                  {"-o", "leave it out"},
                                                                  {"-oe", "leave it out"},
                                                                  {"-v", "leave it out"},
                                                                  {"--progress", "leave it out"},
                                                                  {"--list-devices", "leave it out"},
                                                                  {"--help", "leave it out"}};
  for (const auto& [option, remedy] : owned) {
    const auto wrong = check_arguments({"-b", "512", option, "1"}, "llama-bench", ArgumentsOf::kWorkload);
    ASSERT_TRUE(wrong.has_value()) << option;
    EXPECT_EQ(wrong->index, 2U);
    EXPECT_NE(wrong->complaint.remedy.find(remedy), std::string::npos) << option << ": " << wrong->complaint.remedy;
  }
}

TEST(CheckArguments, RefusesWhatMakesMoreRowsOrCannotBeRead) {
  const std::vector<std::pair<std::vector<std::string>, std::size_t>> bad = {
      {{"-b", "512,1024"}, 1},
      {{"-b", "512-2048"}, 1},
      {{"-b", "512-2048+512"}, 1},
      {{"-b", "512-2048*2"}, 1},
      {{"-b", "512", "-b", "1024"}, 2},
      {{"-b", "512", "--batch_size", "1024"}, 2},
      {{"--batch-size=512"}, 0},
      {{"512"}, 0},
      {{"-b", ""}, 1},
      {{"-b", "5\n12"}, 1},
      {{std::string("-b\0x", 4)}, 0},
  };
  for (const auto& [arguments, index] : bad) {
    const auto wrong = check_arguments(arguments, "llama-bench", ArgumentsOf::kWorkload);
    ASSERT_TRUE(wrong.has_value()) << ::testing::PrintToString(arguments);
    EXPECT_EQ(wrong->index, index) << ::testing::PrintToString(arguments);
  }
}

TEST(CheckArguments, OfArmsMayDifferInThreadsLayersAndFlashAttention) {
  for (const char* option : {"-t", "--threads", "-ngl", "--n_gpu_layers", "-fa", "--flash-attn"}) {
    EXPECT_FALSE(check_arguments({option, "1"}, "llama-bench", ArgumentsOf::kArm).has_value()) << option;
    EXPECT_TRUE(check_arguments({option, "1"}, "llama-bench", ArgumentsOf::kWorkload).has_value()) << option;
  }
  // Others would make another test, or another comparison, of the arm.
  for (const char* option : {"-p", "-n", "-pg", "-d", "-r", "-m", "-dev", "-o", "-v"}) {
    EXPECT_TRUE(check_arguments({option, "1"}, "llama-bench", ArgumentsOf::kArm).has_value()) << option;
  }
  EXPECT_EQ(check_arguments({"-t", "1", "--threads", "2"}, "llama-bench", ArgumentsOf::kArm)->complaint.remedy,
            "one arm for each value");
}

TEST(CheckArguments, OfGoogleBenchmarkAreFreeButForTheOutputAndTheRepetitions) {
  const auto check = [](const std::string& argument) {
    return check_arguments({argument}, "google-benchmark", ArgumentsOf::kWorkload).has_value();
  };
  EXPECT_FALSE(check("--benchmark_min_time=0.5s"));
  EXPECT_FALSE(check("input,with,commas"));
  EXPECT_FALSE(check("--size=512-2048"));
  for (const char* owned : {"--benchmark_filter=BM_x", "--benchmark_repetitions=3", "--benchmark_format=csv",
                            "--benchmark_out=x", "--benchmark_list_tests", "--help"}) {
    EXPECT_TRUE(check(owned)) << owned;
  }
  EXPECT_TRUE(check(""));
}

TEST(CheckArguments, OfMlxLmAreNone) {
  EXPECT_FALSE(check_arguments({}, "mlx-lm", ArgumentsOf::kWorkload).has_value());
  EXPECT_TRUE(check_arguments({"--anything"}, "mlx-lm", ArgumentsOf::kArm).has_value());
}

TEST(Options, AreComparedByAnyOfTheirNames) {
  EXPECT_EQ(common_option({"-b", "512"}, {"-t", "1", "--batch_size", "1024"}), "--batch_size");
  EXPECT_EQ(common_option({"-b", "512"}, {"-ub", "512"}), "");
  EXPECT_EQ(common_option({"-C", "-1"}, {"--poll", "-1"}), "");  // values are no options
  EXPECT_TRUE(has_option({"-b", "512", "--flash-attn", "on"}, "-fa"));
  EXPECT_FALSE(has_option({"-b", "512"}, "-fa"));
}

TEST(CheckArgumentName, TakesOptions) {
  for (const char* good : {"-fa", "--benchmark_min_time", "-b"}) EXPECT_FALSE(check_argument_name(good).has_value());
  for (const char* bad : {"", "-", "fa", "-1", "-fa on", "-fa=on", "-a,b", "-a/b", "-a\n"}) {
    EXPECT_TRUE(check_argument_name(bad).has_value()) << bad;
  }
}

TEST(CheckOptionName, TakesWordsWithAtMostOneDot) {
  for (const char* good : {"user", "work_dir", "require.os", "known-hosts", "x1"}) {
    EXPECT_FALSE(check_option_name(good).has_value()) << good;
  }
  for (const char* bad : {"", "A", "1x", "a.b.c", ".a", "a.", "a b", "require.OS"}) {
    EXPECT_TRUE(check_option_name(bad).has_value()) << bad;
  }
}

}  // namespace
}  // namespace capbench::suite
