#include "harness/submit/redact_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "harness/runtime/runtime.h"

namespace capbench::submit {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const observe::PersonalDetails kJo{
    {"jo", "Jo Q. Smith"}, {"/Users/jo"}, {"jos-mac.local", "jos-mac", "Jo's Mac [2]"}, {"ZX81FAKE99", "5123456789"}};

std::string redacted(std::string_view text, std::string_view key = {}) {
  return TextRedactor(kJo, {}).redact(text, key);
}

TEST(JsonSpans, AreFoundWhereverTheyStand) {
  const auto found = [](std::string_view text) {
    std::vector<std::string> parts;
    for (const JsonSpan& span : json_spans(text)) parts.emplace_back(text.substr(span.begin, span.end - span.begin));
    return parts;
  };
  EXPECT_THAT(found("{\"a\":1}\n{\"b\":[2]}\n"), ElementsAre("{\"a\":1}", "{\"b\":[2]}"));
  EXPECT_THAT(found("capshim: {\"a\":\"}\"} x"), ElementsAre("{\"a\":\"}\"}"));
  EXPECT_THAT(found("{ {\"a\": {\"b\":\n null}}"), ElementsAre("{\"a\": {\"b\":\n null}}"));
  EXPECT_THAT(found("[x] {y} [1,] [\"\\q\"] {\"a\":1"), ElementsAre());
  EXPECT_THAT(found("[-0.5e+3,true,\"\\u00e9\"]"), ElementsAre("[-0.5e+3,true,\"\\u00e9\"]"));
  EXPECT_THAT(found("[01] [.5] [1.] [-] [1e] [\"\n\"] [nul]"), ElementsAre());
}

TEST(JsonSpans, DepthAndTimeAreBounded) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(json_spans(std::string(1000000, '[')).empty());
  std::string pairs;
  for (int i = 0; i < 200000; ++i) pairs += "{\"a\":";
  EXPECT_TRUE(json_spans(pairs).empty());
  EXPECT_EQ(json_spans(std::string(256, '[') + std::string(256, ']')).size(), 1U);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(RedactText, StringsOfJsonAreReadAsWhatTheyMean) {
  EXPECT_EQ(redacted(R"({"path":"\/Users\/jo\/m.gguf"})"), R"({"path":"<home>/m.gguf"})");
  EXPECT_EQ(redacted(R"({"path":"\u002fUsers\u002fjo"})"), R"({"path":"<home>"})");
  EXPECT_EQ(redacted(R"({"who":"\u006a\u006f","n":1})"), R"({"who":"<user>","n":1})");
  EXPECT_EQ(redacted(R"({"log":"a\n\/home\/ana\/x\t\u001f\"jo\""})"), R"({"log":"a\n<home>/x\t\u001f\"<user>\""})");
  EXPECT_EQ(redacted(R"({"ip":"\b1:22:33:44:55:66"})"), R"({"ip":"\b1:22:33:44:55:66"})");
  EXPECT_EQ(redacted(R"({"inner":"{\"home\":\"\\/Users\\/jo\"}"})"), R"({"inner":"{\"home\":\"<home>\"}"})");
  EXPECT_EQ(redacted(R"({"win":"C:\\Users\\ana\\x"})"), R"({"win":"C:<home>\\x"})");
  EXPECT_EQ(redacted(R"({"/Users/jo/a":1,"/Users/jo/b":2})"), R"({"<home>/a":1,"<home>/b":2})");
  EXPECT_EQ(redacted(R"({"10.0.0.1":1,"10.0.0.2":2,"<ipv4>":3})"), R"({"<ipv4>":1,"<ipv4> 2":2,"<ipv4> 3":3})");
}

TEST(RedactText, KeysSayWhatAValueIs) {
  EXPECT_EQ(redacted(R"({"serial_number":"FAKE1234","serial":165212345,"serial_port":7})"),
            R"({"serial_number":"<serial>","serial":"<serial>","serial_port":7})");
  EXPECT_EQ(redacted(R"({"password":"two words, \"three","pin":1,"passphrase":null,"db_password":9})"),
            R"({"password":"<password>","pin":1,"passphrase":null,"db_password":"<password>"})");
  EXPECT_EQ(redacted(R"({"driver_version":"31.0.15.52","versions":["1.3.1.1"],"address":"10.1.2.3"})"),
            R"({"driver_version":"31.0.15.52","versions":["1.3.1.1"],"address":"<ipv4>"})");
  EXPECT_EQ(redacted("driver 31.0.15.52, firmware: 1.2.3.4, at 10.1.2.3"),
            "driver 31.0.15.52, firmware: 1.2.3.4, at <ipv4>");
  EXPECT_EQ(redacted("10.1.2.3.json libggml.so.0.9.4.1 v1.2.3.4.dev0 1.2.3.4.5 51234567890.5e3"),
            "<ipv4>.json libggml.so.0.9.4.1 v1.2.3.4.dev0 1.2.3.4.5 51234567890.5e3");
  EXPECT_EQ(redacted("31.0.15.52", "driver_version"), "31.0.15.52");
  EXPECT_EQ(redacted("anything at all", "password"), "<password>");
}

TEST(RedactText, NumbersStayNumbers) {
  // A serial number of digits that happens to be part of a sample, and one that is a sample.
  const std::string row =
      R"({"samples_ns":[51234567890,5123456789,25123456789],"avg_ns":15123456789.25,"n":5123456780})";
  EXPECT_EQ(redacted(row), row);
  EXPECT_EQ(redacted("512345678901 5123456789 1.5123456789"), "512345678901 <secret> 1.5123456789");
  EXPECT_EQ(redacted(R"({"board":5123456789})"), R"({"board":"<serial>"})");
}

TEST(RedactText, JsonThatIsCutGivesNothingAway) {
  const std::string line =
      R"({"m":"\/Users\/jo\/x","a":"\u002fhome\u002fana","u":"file:%2FUsers%2Fjo%2Fx","h":"JOS\u002dMAC"})";
  for (std::size_t length = 0; length <= line.size(); ++length) {
    const std::string shown = redacted(line.substr(0, length));
    EXPECT_THAT(shown, Not(HasSubstr("Users\\/jo\\"))) << shown;
    EXPECT_THAT(shown, Not(HasSubstr("fana\""))) << shown;
    EXPECT_THAT(shown, Not(HasSubstr("%2Fjo%"))) << shown;
    EXPECT_THAT(shown, Not(HasSubstr("u002dMAC\""))) << shown;
  }
  EXPECT_EQ(redacted("\x1B[1;32mjo\x1B[0m@\x1B[1mjos-mac\x1B[m"), "\x1B[1;32m<user>\x1B[0m@\x1B[1m<host>\x1B[m");
  EXPECT_EQ(redacted(R"({"log":"\u001b[1mjo\u001b[0m"})"), R"({"log":"\u001b[1m<user>\u001b[0m"})");
  EXPECT_EQ(redacted("Jo's Mac [2] and \\033[1mjo\\033[0m"), "<host> and \\033[1m<user>\\033[0m");
}

TEST(RedactText, WordsOfTheOutputStay) {
  const UsableDetails known =
      usable({{"metal", "jo", "512", "20231234", "root"}, {"/Users/metal"}, {"vulkan", "jos-mac"}, {}});
  EXPECT_THAT(known.left, ElementsAre("metal", "512", "vulkan"));
  TextRedactor redactor(known.details, {});
  EXPECT_EQ(redactor.redact("ggml_metal_init: found metal 512 of 20231234 at /Users/metal/x on Vulkan"),
            "ggml_metal_init: found metal 512 of <user> at <home>/x on Vulkan");
}

TEST(RedactText, WhatIsKeptIsNotEvenCounted) {
  TextRedactor redactor(kJo, {"JO", "10.0.0.1"});
  EXPECT_EQ(redactor.redact("jo at 10.0.0.1 and 10.0.0.2, /Users/jo"), "jo at 10.0.0.1 and <ipv4>, <home>");
  EXPECT_EQ(redactor.take_counts(), (std::map<std::string, std::uint64_t>{{"home", 1}, {"ipv4", 1}}));
  EXPECT_TRUE(redactor.take_counts().empty());
  const auto finds = redactor.take_finds();
  ASSERT_EQ(finds.size(), 2U);
  EXPECT_EQ(finds[0].text, "10.0.0.2");
}

std::string random_text(std::mt19937& random, const std::vector<std::string>& pieces, int most) {
  std::string text;
  for (auto n = random() % static_cast<unsigned>(most) + 1; n > 0; --n) text += pieces[random() % pieces.size()];
  return text;
}

const std::vector<std::string> kPieces{"jo",
                                       "/Users/jo",
                                       "\\/Users\\/jo",
                                       "\\u002fhome\\u002fana",
                                       "10.0.0.1",
                                       "{\"",
                                       "\":\"",
                                       "\"}",
                                       "\"",
                                       "\\",
                                       "\\\"",
                                       "{",
                                       "}",
                                       "[",
                                       "]",
                                       ",",
                                       ":",
                                       "1",
                                       " ",
                                       "\n",
                                       "serial",
                                       "password",
                                       "ZX81FAKE99",
                                       "%2F",
                                       "a4:83:e7:00:11:22",
                                       "\\\\Users\\\\jo",
                                       "\xff",
                                       "<",
                                       ">",
                                       "5123456789",
                                       "01234567-89ab-cdef-0123-456789abcdef",
                                       "JOS-MAC"};

TEST(RedactText, TwiceIsOnceForAnyBytes) {
  std::mt19937 random(5);  // NOLINT: the same texts every time
  for (int i = 0; i < 10000; ++i) {
    const std::string text = random_text(random, kPieces, 14);
    const std::string once = redacted(text);
    EXPECT_EQ(redacted(once), once) << text;
    EXPECT_THAT(once, Not(HasSubstr("ZX81FAKE99")));
  }
}

// Values of every kind, with details anywhere in them.
json random_json(std::mt19937& random, int depth) {
  switch (random() % (depth > 3 ? 5 : 7)) {
    case 0:
      return random_text(random, kPieces, 5);
    case 1:
      return static_cast<std::int64_t>(random()) * (random() % 2 == 0 ? 1 : 5123456789);
    case 2:
      return random() % 2 == 0 ? json(nullptr) : json(true);
    case 3:
      return static_cast<double>(random()) / 3.0;
    case 4:
      return "model " + random_text(random, kPieces, 2);
    case 5: {
      json list = json::array();
      for (auto n = random() % 4; n > 0; --n) list.push_back(random_json(random, depth + 1));
      return list;
    }
    default: {
      json object = json::object();
      for (auto n = random() % 4; n > 0; --n) object["k" + std::to_string(n)] = random_json(random, depth + 1);
      return object;
    }
  }
}

// The same but for the texts.
void expect_same_shape(const json& a, const json& b) {
  ASSERT_EQ(a.type(), b.type()) << a << b;
  ASSERT_EQ(a.size(), b.size());
  if (a.is_object()) {
    for (const auto& [key, value] : a.items()) {
      ASSERT_TRUE(b.contains(key)) << key;
      expect_same_shape(value, b[key]);
    }
  } else if (a.is_array()) {
    for (std::size_t i = 0; i < a.size(); ++i) expect_same_shape(a[i], b[i]);
  } else if (!a.is_string()) {
    EXPECT_EQ(a, b);
  }
}

TEST(RedactText, JsonStaysTheSameJsonButForItsTexts) {
  std::mt19937 random(11);  // NOLINT: the same values every time
  for (int i = 0; i < 3000; ++i) {
    json value = {{"v", random_json(random, 0)}, {"w", random_json(random, 0)}};
    // Spelled in several ways; texts that are not UTF-8 as their spelling has them.
    const std::string text = value.dump(i % 3 - 1, ' ', i % 2 == 0, json::error_handler_t::replace);
    value = json::parse(text);
    const std::string shown = redacted(text);
    const json after = json::parse(shown, nullptr, false);
    ASSERT_FALSE(after.is_discarded()) << text << "\n" << shown;
    expect_same_shape(value, after);
    EXPECT_EQ(redacted(shown), shown);
  }
}

// What a benchmark printed, on a machine whose names stand in every text of it.
TEST(RedactText, ARuntimeReadsTheSameFromIt) {
  std::string raw = "warning: asserts enabled on jos-mac by jo\n";
  for (int i = 0; i < 20; ++i) {
    json row = {{"build_commit", "0ad4a86"},
                {"build_number", 4871},
                {"cpu_info", "Apple M1 of jo"},
                {"gpu_info", "Apple M1 (Jo's Mac [2])"},
                {"backends", "Metal,BLAS"},
                {"model_filename", "/Users/jo/models/tiny.gguf"},
                {"model_type", "llama 1B Q4_K - Medium"},
                {"model_size", 5123456789},
                {"model_n_params", 1100048384},
                {"n_prompt", 512},
                {"n_gen", 0},
                {"n_depth", 0},
                {"test_time", "2026-11-30T04:25:08Z"},
                {"samples_ns", {5123456789 + i, 51234567890, 5123456789}},
                {"samples_ts", {99.9, 10.0, 99.9}}};
    raw += row.dump(-1, ' ', i % 2 == 0) + "\n";
  }
  raw += R"({"model_filename":"\/Users\/jo\/cut)";
  const std::string shown = redacted(raw);
  for (const char* secret : {"jo/", "jos-mac", " jo", "Mac [2]"}) EXPECT_THAT(shown, Not(HasSubstr(secret)));
  const auto before = runtime::parse_output("llama-bench", raw);
  const auto after = runtime::parse_output("llama-bench", shown);
  ASSERT_EQ(before.results.size(), 20U);
  ASSERT_EQ(after.results.size(), before.results.size());
  EXPECT_EQ(after.problem, before.problem);
  for (std::size_t i = 0; i < before.results.size(); ++i) {
    const auto& a = before.results[i];
    const auto& b = after.results[i];
    EXPECT_EQ(a.test, b.test);
    EXPECT_EQ(a.samples_ns, b.samples_ns);
    EXPECT_EQ(a.median_ts, b.median_ts);
    EXPECT_EQ(a.build, b.build);
    EXPECT_EQ(a.model_type, b.model_type);
    EXPECT_EQ(a.backends, b.backends);
    EXPECT_EQ(b.gpu_info, "Apple M1 (<host>)");
    // The stored texts, redacted one by one, are those that the redacted output holds.
    EXPECT_EQ(redacted(a.gpu_info, "gpu_info"), b.gpu_info);
    EXPECT_EQ(redacted(a.cpu_info, "cpu_info"), b.cpu_info);
    EXPECT_EQ(json::parse(redacted(a.fields)), json::parse(b.fields));
  }
}

TEST(RedactText, TakesTimeInProportion) {
  std::string text;
  for (int i = 0; i < 20000; ++i)
    text += R"({"a":"\/Users\/jo","samples_ns":[1,2,3,4,5]} {"x": [ "unfinished)"
            "\n";
  const auto start = std::chrono::steady_clock::now();
  redacted(text);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

}  // namespace
}  // namespace capbench::submit
