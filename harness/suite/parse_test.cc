#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "harness/suite/suite.h"

namespace capbench::suite {
namespace {

const std::string kModels = R"("models": [{"name": "twin", "like": "quickstart", "seed": 1}])";
const std::string kWorkloads = R"("workloads": [{"name": "w", "p": 128, "n": [32]}])";
const std::string kArms = R"("arms": [{"name": "stock", "mode": "stock"}])";

std::string suite_with(const std::string& models, const std::string& workloads, const std::string& arms,
                       const std::string& rest = "") {
  return R"({"capbench": 1, "name": "s", )" + models + ", " + workloads + ", " + arms +
         (rest.empty() ? "" : ", " + rest) + "}";
}
std::string with_model(const std::string& members) {
  return suite_with(R"("models": [{"name": "m")" + members + "}]", kWorkloads, kArms);
}
std::string with_workload(const std::string& members) {
  return suite_with(kModels, R"("workloads": [{"name": "w", "p": 1, )" + members + "}]", kArms);
}
std::string with_arm(const std::string& members) {
  return suite_with(kModels, kWorkloads, R"("arms": [{"name": "a", )" + members + "}]");
}
std::string with_protocol(const std::string& members) {
  return suite_with(kModels, kWorkloads, kArms, "\"protocol\": {" + members + "}");
}
std::string with_args(const std::string& args) {
  return with_workload("\"args\": [" + args + "]");
}

std::string error_of(const std::string& text) {
  const auto suite = parse_suite(text);
  return suite.ok() ? "no error" : to_string(suite.error());
}

TEST(ParseSuite, ReadsEveryMember) {
  const auto suite = parse_suite(R"({
    "capbench": 1, "name": "everything", "description": "d",
    "runtime": {"kind": "llama-bench", "executable": "bin/llama-bench"},
    "targets": {"vm": {"kind": "lume", "name": "capbench"}},
    "models": [{"name": "twin", "like": "quickstart", "seed": 7}, {"name": "pinned", "catalog": "tinyllama-1.1b"},
               {"name": "tl", "file": "x.gguf", "kind": "twin",
                "sha256": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}],
    "workloads": [{"name": "w", "p": [128, 512], "n": 32, "d": [0, 4096], "r": 3, "t": 2, "ngl": 99, "fa": "off",
                   "args": ["-b", "512", "-ub", "256"]}],
    "arms": [{"name": "bare-metal", "mode": "bare-metal"},
             {"name": "u", "mode": "unlocked", "target": "vm", "guest": {"cpu.isa": "x64"}, "set": {"cpu.isa": "best"},
              "env": {"GGML_VK_VISIBLE_DEVICES": "0"}, "device": "Vulkan0", "shim": "lib/shim.so",
              "executable": "other/llama-bench", "args": ["-nkvo", "1"], "expect": "fails"}],
    "protocol": {"trials": 8, "order": "as-written", "seed": 5, "time_limit_s": 12.5, "cooldown_s": 1,
                 "warmup_trials": 2, "verbose_trial": true, "preload_s": 3,
                 "hygiene": {"gate": "wait", "wait_s": 60, "max_load": 0.5, "max_gpu_use_percent": 5,
                             "min_memory_free_percent": 20, "max_temperature_c": 70, "require_ac": true,
                             "vms": "stopped"},
                 "until": {"ci_half_width": 0.02, "max_trials": 30}},
    "quality": {"text": "some.txt", "max_mean_kl": 0.01, "max_kl": 0.2, "chunks": 2, "ctx": 64, "ops": ["MUL_MAT"]}
  })");
  ASSERT_TRUE(suite.ok()) << to_string(suite.error());
  EXPECT_EQ(suite->name, "everything");
  EXPECT_EQ(suite->description, "d");
  EXPECT_EQ(suite->runtime.executable, "bin/llama-bench");
  ASSERT_EQ(suite->models.size(), 3U);
  EXPECT_EQ(suite->models[0].like, "quickstart");
  EXPECT_EQ(suite->models[0].seed, 7U);
  EXPECT_EQ(suite->models[0].kind, "twin");
  EXPECT_EQ(suite->models[1].catalog, "tinyllama-1.1b");
  EXPECT_EQ(suite->models[1].kind, "real");
  EXPECT_EQ(suite->models[2].file, "x.gguf");
  EXPECT_EQ(suite->models[2].kind, "twin");
  EXPECT_EQ(suite->models[2].sha256.size(), 64U);
  const Workload& workload = suite->workloads.at(0);
  EXPECT_EQ(workload.n_prompt, (std::vector<std::int64_t>{128, 512}));
  EXPECT_EQ(workload.n_gen, (std::vector<std::int64_t>{32}));
  EXPECT_EQ(workload.n_depth, (std::vector<std::int64_t>{0, 4096}));
  EXPECT_EQ(workload.repetitions, 3);
  EXPECT_EQ(workload.threads, 2);
  EXPECT_EQ(workload.gpu_layers, 99);
  EXPECT_EQ(workload.flash_attention, "off");
  EXPECT_EQ(workload.extra_args, (std::vector<std::string>{"-b", "512", "-ub", "256"}));
  const Arm& arm = suite->arms.at(1);
  EXPECT_EQ(arm.mode, "unlocked");
  EXPECT_EQ(arm.target, "vm");
  EXPECT_EQ(arm.guest.at("cpu.isa"), "x64");
  EXPECT_EQ(arm.set.at("cpu.isa"), "best");
  EXPECT_EQ(arm.env.at("GGML_VK_VISIBLE_DEVICES"), "0");
  EXPECT_EQ(arm.device, "Vulkan0");
  EXPECT_EQ(arm.shim, "lib/shim.so");
  EXPECT_EQ(arm.executable, "other/llama-bench");
  EXPECT_EQ(arm.args, (std::vector<std::string>{"-nkvo", "1"}));
  EXPECT_TRUE(arm.expected_to_fail);
  EXPECT_FALSE(suite->arms[0].expected_to_fail);
  EXPECT_EQ(suite->targets.at("vm").kind, "lume");
  EXPECT_EQ(suite->targets.at("vm").options.at("name"), "capbench");
  EXPECT_EQ(suite->protocol.trials, 8);
  EXPECT_EQ(suite->protocol.order, Order::kAsWritten);
  EXPECT_EQ(suite->protocol.seed, 5U);
  EXPECT_EQ(suite->protocol.time_limit_s, 12.5);
  EXPECT_EQ(suite->protocol.cooldown_s, 1);
  EXPECT_EQ(suite->protocol.warmup_trials, 2);
  EXPECT_TRUE(suite->protocol.verbose_trial);
  EXPECT_EQ(suite->protocol.preload_s, 3);
  const Hygiene hygiene = suite->protocol.hygiene.value();
  EXPECT_EQ(hygiene.gate, "wait");
  EXPECT_EQ(hygiene.wait_s, 60);
  EXPECT_EQ(hygiene.max_load, 0.5);
  EXPECT_EQ(hygiene.max_gpu_use_percent, 5);
  EXPECT_EQ(hygiene.min_memory_free_percent, 20);
  EXPECT_EQ(hygiene.max_temperature_c, 70);
  EXPECT_TRUE(hygiene.require_ac);
  EXPECT_EQ(hygiene.vms, "stopped");
  EXPECT_EQ(suite->protocol.until.value(), (Until{0.02, 30}));
  EXPECT_EQ(suite->quality.value(), (Quality{"some.txt", 0.01, 0.2, 2, 64, {"MUL_MAT"}}));
  const auto again = parse_suite(canonical_json(*suite));
  ASSERT_TRUE(again.ok()) << to_string(again.error());
  EXPECT_EQ(*again, *suite);
}

TEST(ParseSuite, FillsInDefaults) {
  const auto suite = parse_suite(suite_with(R"("models": [{"name": "m", "file": "m.gguf"}])", kWorkloads, kArms));
  ASSERT_TRUE(suite.ok()) << to_string(suite.error());
  EXPECT_EQ(suite->models[0].kind, "real");
  EXPECT_EQ(suite->workloads[0].n_depth, (std::vector<std::int64_t>{0}));
  EXPECT_EQ(suite->workloads[0].repetitions, 5);
  EXPECT_FALSE(suite->workloads[0].threads.has_value());
  EXPECT_EQ(suite->arms[0].target, "local");
  EXPECT_EQ(suite->protocol, Protocol());
}

TEST(ParseSuite, SkipsAByteOrderMarkAndTakesWholeNumbersHoweverWritten) {
  const auto suite = parse_suite("\xEF\xBB\xBF" + with_workload(R"("r": 3.0, "n": 1e2)"));
  ASSERT_TRUE(suite.ok()) << to_string(suite.error());
  EXPECT_EQ(suite->workloads[0].repetitions, 3);
  EXPECT_EQ(suite->workloads[0].n_gen.at(0), 100);
}

TEST(ParseSuite, SyntaxErrorsSayLineAndColumn) {
  const std::string comma = error_of("{\n  \"capbench\": 1,\n  }");
  EXPECT_TRUE(comma.starts_with("line 3, column 3: not JSON: unexpected '}'")) << comma;
  // Columns count characters, not bytes.
  const std::string accents = error_of("{\"\xC3\xA9\xC3\xA9\": x}");
  EXPECT_TRUE(accents.starts_with("line 1, column 8: not JSON: invalid literal")) << accents;
  EXPECT_TRUE(error_of("").starts_with("line 1, column 1: not JSON: unexpected end of input")) << error_of("");
  EXPECT_TRUE(error_of("{} {}").starts_with("line 1, column 4: not JSON")) << error_of("{} {}");
  EXPECT_TRUE(error_of("{\"a\": 1e999}").starts_with("line 1, column 11: not JSON: number overflow"))
      << error_of("{\"a\": 1e999}");
  EXPECT_TRUE(error_of(std::string("{}\0{}", 5)).starts_with("line 1, column 3: not JSON: a zero byte"));
  const std::string bad_utf8 = error_of("{\"\xFF\": 1}");
  EXPECT_TRUE(bad_utf8.starts_with("line 1, column 3: not JSON: invalid string: ill-formed UTF-8 byte")) << bad_utf8;
}

TEST(ParseSuite, RefusesDuplicateKeysAndDepthAndSize) {
  EXPECT_EQ(error_of(R"({"capbench": 1, "arms": [{}, {"name": "a", "name": "b"}]})"),
            "$.arms[1].name: the key appears twice in the same object; try: remove one of the two");
  EXPECT_EQ(error_of(R"({"a b": {"c": 1, "c": 2}})"),
            "$[\"a b\"].c: the key appears twice in the same object; try: remove one of the two");
  const std::string deep = error_of("{\"name\": " + std::string(500000, '['));
  EXPECT_TRUE(deep.starts_with("$.name[0][0]")) << deep;
  EXPECT_NE(deep.find("nested deeper than 16 levels"), std::string::npos);
  EXPECT_EQ(error_of(std::string((1U << 20U) + 1, ' ')),
            "$: larger than 1048576 bytes; try: check that this is the right file");
}

TEST(ParseSuite, UnknownKeysNameTheNearestKnownOne) {
  EXPECT_EQ(error_of(with_protocol(R"("trails": 5)")), "$.protocol.trails: unknown key; try: \"trials\"");
  EXPECT_EQ(error_of(with_workload(R"("repetitions": 5)")), "$.workloads[0].repetitions: unknown key; try: \"r\"");
  EXPECT_EQ(error_of(with_arm(R"("mode": "stock", "gest": {})")), "$.arms[0].gest: unknown key; try: \"guest\"");
  EXPECT_EQ(error_of(with_protocol(R"("zzz": 5)")),
            "$.protocol.zzz: unknown key; try: one of trials, order, seed, time_limit_s, cooldown_s, warmup_trials, "
            "verbose_trial, preload_s, hygiene, until");
  EXPECT_EQ(error_of(R"({"capbench": 1, "model": []})"), "$.model: unknown key; try: \"models\"");
}

TEST(ParseSuite, EveryErrorNamesThePathAndWhatWasExpected) {
  struct Case {
    std::string text, error;
  };
  const std::string pin(64, 'g');
  const std::vector<Case> cases = {
      {"[]", "$: []; expected an object"},
      {"{}", "$.capbench: missing; expected 1, the version of this format"},
      {R"({"capbench": 2})",
       "$.capbench: 2; expected 1, the version of this format; try: a capbench that knows this version"},
      {R"({"capbench": 1, "name": ""})", "$.name: \"\"; expected a name of 1 to 100 bytes"},
      {R"({"capbench": 1, "name": "a/b"})", "$.name: \"a/b\"; expected a name without '/'"},
      {R"({"capbench": 1, "name": "a\u0007b"})", R"($.name: "a\x07b"; expected printable text of at most 4000 bytes)"},
      {R"({"capbench": 1, "name": 5})", "$.name: 5; expected text in quotes"},
      {R"({"capbench": 1, "name": "s"})", "$.models: missing; expected an array of models"},
      {suite_with("\"models\": []", kWorkloads, kArms), "$.models: []; expected an array of 1 to 1000 models"},
      {suite_with("\"models\": {}", kWorkloads, kArms), "$.models: {}; expected an array of 1 to 1000 models"},
      {suite_with("\"models\": [3]", kWorkloads, kArms), "$.models[0]: 3; expected an object"},
      {suite_with(kModels, kWorkloads, kArms, R"("runtime": {"kind": "mlx"})"),
       R"($.runtime.kind: "mlx"; expected "llama-bench" or "google-benchmark" or "mlx-lm")"},
      // models
      {with_model(""),
       "$.models[0]: none of \"file\", \"like\" and \"catalog\"; try: \"file\" for a model file, \"catalog\" for a "
       "pinned one, or \"like\" for a twin written on first use"},
      {with_model(R"(, "like": "tiny", "file": "x")"),
       "$.models[0]: both \"file\" and \"like\"; try: \"file\" for a model file, \"catalog\" for a pinned one, or "
       "\"like\" for a twin written on first use"},
      {with_model(R"(, "catalog": "tiny", "file": "x")"),
       "$.models[0]: both \"file\" and \"catalog\"; try: \"file\" for a model file, \"catalog\" for a pinned one, or "
       "\"like\" for a twin written on first use"},
      {with_model(R"(, "catalog": "tiny", "seed": 1)"),
       "$.models[0].seed: only a twin has a seed; try: remove it, or use \"like\""},
      {with_model(R"(, "catalog": "tiny", "kind": "twin")"),
       R"($.models[0].kind: "twin"; a model of the catalog is a real one; try: remove it, or "like" in place of "catalog")"},
      {with_model(R"(, "catalog": "")"), "$.models[0].catalog: \"\"; expected a name of 1 to 100 bytes"},
      {with_model(R"(, "file": "")"), "$.models[0].file: \"\"; expected a path"},
      {with_model(R"(, "file": "a,b")"),
       "$.models[0].file: \"a,b\" has a comma, at which llama-bench splits paths; try: "
       "rename the file, or link it under another name"},
      {with_model(R"(, "file": "a", "seed": 2)"),
       "$.models[0].seed: only a twin has a seed; try: remove it, or use \"like\""},
      {with_model(R"(, "like": "tiny", "seed": -1)"),
       "$.models[0].seed: -1; expected an integer from 0 to 9007199254740991"},
      {with_model(R"(, "like": "tiny", "seed": 18446744073709551615)"),
       "$.models[0].seed: 18446744073709551615; expected an integer from 0 to 9007199254740991"},
      {with_model(R"(, "like": "tiny", "kind": "real")"),
       R"($.models[0].kind: "real"; a model that is "like" another is a twin; try: remove it)"},
      {with_model(R"(, "file": "a", "sha256": ")" + pin + "\""),
       "$.models[0].sha256: \"" + pin.substr(0, 60) + "...\"; expected 64 lowercase hexadecimal digits"},
      // workloads
      {with_workload(R"("r": -3)"), "$.workloads[0].r: -3; expected an integer from 1 to 10000"},
      {with_workload(R"("r": 2.5)"), "$.workloads[0].r: 2.5; expected an integer from 1 to 10000"},
      {with_workload(R"("r": "5")"), "$.workloads[0].r: \"5\"; expected an integer from 1 to 10000"},
      {with_workload(R"("r": true)"), "$.workloads[0].r: true; expected an integer from 1 to 10000"},
      {with_workload(R"("r": 1e300)"), "$.workloads[0].r: 1e+300; expected an integer from 1 to 10000"},
      {with_workload(R"("t": 0)"), "$.workloads[0].t: 0; expected an integer from 1 to 512"},
      {with_workload(R"("ngl": -2)"), "$.workloads[0].ngl: -2; expected an integer from -1 to 10000"},
      {with_workload(R"("fa": 1)"), R"($.workloads[0].fa: 1; expected "on" or "off" or "auto")"},
      {with_workload(R"("n": -1)"),
       "$.workloads[0].n: -1; expected an integer from 0 to 10000000, or an array of them"},
      {with_workload(R"("n": [1, "2"])"), "$.workloads[0].n[1]: \"2\"; expected an integer from 0 to 10000000"},
      {with_workload(R"("n": [1, 2, 1])"),
       "$.workloads[0].n[2]: 1 appears twice; each test runs once; try: remove one of the two"},
      {with_workload(R"("n": [])"), "$.workloads[0].n: 0 elements; expected 1 to 100 integers"},
      {suite_with(kModels, R"("workloads": [{"name": "w", "p": 0, "n": [0]}])", kArms),
       R"($.workloads[0]: "p" and "n" are both 0, so nothing would be measured; try: "p": 512, "n": 128)"},
      {suite_with(kModels, R"("workloads": [{"name": "w"}])", kArms),
       R"($.workloads[0]: "p" and "n" are both 0, so nothing would be measured; try: "p": 512, "n": 128)"},
      {with_workload(R"("args": "-b 512")"),
       R"($.workloads[0].args: "-b 512"; expected an array of texts; try: ["-b", "512"])"},
      {with_args("\"-b\", 512"), "$.workloads[0].args[1]: 512; expected text in quotes"},
      {with_args(R"("-b", "512", "-m", "x")"),
       "$.workloads[0].args[2]: \"-m\" is an option that capbench gives itself; "
       "try: \"file\", \"like\" or \"catalog\" of a model"},
      // arms
      {with_arm(R"("target": "local")"),
       R"($.arms[0].mode: missing; expected "bare-metal", "stock", "unlocked" or another name)"},
      {with_arm(R"("mode": "stock", "set": {"cpu.isa": "best"})"),
       R"($.arms[0].set: the mode is stock, which has no shim; try: remove "set", or "mode": "unlocked")"},
      {with_arm(R"("mode": "bare-metal", "set": {"cpu.isa": "best"})"),
       R"($.arms[0].set: the mode is bare-metal, which has no shim; try: remove "set", or "mode": "unlocked")"},
      {with_arm(R"("mode": "bare-metal", "guest": {"cpu.isa": "x64"})"),
       R"($.arms[0].guest: the mode is bare-metal, which has no guest; try: remove "guest", or "mode": "stock")"},
      {with_arm(R"("mode": "unlocked")"),
       "$.arms[0].set: the mode is unlocked, but no capability is set; try: \"set\": "
       "{\"cpu.isa\": \"best\"}"},
      {with_arm(R"("mode": "unlocked", "set": {})"),
       R"($.arms[0].set: the mode is unlocked, but no capability is set; try: "set": {"cpu.isa": "best"})"},
      {with_arm(R"("mode": "x", "set": {"isa": "best"})"),
       R"($.arms[0].set.isa: "isa"; expected a capability, "domain.name"; try: a name like "cpu.isa")"},
      {with_arm(R"("mode": "x", "set": {"cpu.isa": "a,b"})"),
       R"($.arms[0].set["cpu.isa"]: "a,b"; expected 1 to 200 printable bytes without ',' and '=')"},
      {with_arm(R"("mode": "x", "set": {"metal.apple_family": 1009})"),
       R"($.arms[0].set["metal.apple_family"]: 1009; expected text in quotes; try: "1009")"},
      {with_arm(R"("mode": "x", "guest": ["cpu.isa"])"), "$.arms[0].guest: an array; expected an object of texts"},
      {with_arm(R"("mode": "x", "env": {"1A": "x"})"),
       "$.arms[0].env.1A: \"1A\"; expected a variable's name: letters, digits and '_', no digit first"},
      {with_arm(R"("mode": "x", "env": {"LD_PRELOAD": "x"})"),
       "$.arms[0].env.LD_PRELOAD: \"LD_PRELOAD\" is set by capbench, "
       "which loads the shim with it; try: \"shim\" of the arm to "
       "load another shim"},
      {with_arm(R"("mode": "x", "env": {"A": "x\u0000y"})"),
       R"($.arms[0].env.A: "x\x00y"; expected at most 4000 bytes, none of them zero)"},
      {with_arm(R"("mode": "x", "device": "a,b")"),
       "$.arms[0].device: \"a,b\" has a comma; llama-bench would run every "
       "device; try: '/' between devices used together, or one arm for each"},
      {with_arm(R"("mode": "stock", "shim": "x.so")"),
       "$.arms[0].shim: the arm neither sets a capability nor has a guest, so "
       "no shim is loaded; try: remove \"shim\", or add \"set\""},
      // protocol
      {with_protocol(R"("trials": 0)"), "$.protocol.trials: 0; expected an integer from 1 to 10000"},
      {with_protocol(R"("order": "random")"),
       R"($.protocol.order: "random"; expected "random-blocks" or "as-written")"},
      {with_protocol(R"("time_limit_s": 0)"), "$.protocol.time_limit_s: 0; expected a number above 0 to 604800"},
      {with_protocol(R"("time_limit_s": null)"), "$.protocol.time_limit_s: null; expected a number above 0 to 604800"},
      {with_protocol(R"("cooldown_s": -0.5)"), "$.protocol.cooldown_s: -0.5; expected a number from 0 to 86400"},
  };
  for (const Case& wrong : cases) EXPECT_EQ(error_of(wrong.text), wrong.error) << wrong.text;
}

TEST(ParseSuite, RefusesDuplicateNames) {
  EXPECT_EQ(error_of(suite_with(kModels, kWorkloads,
                                R"("arms": [{"name": "a", "mode": "stock"}, {"name": "b", "mode": "stock"},
                                            {"name": "a", "mode": "bare-metal"}])")),
            "$.arms[2].name: \"a\" is also the name of $.arms[0]; try: a name of its own");
}

TEST(ParseSuite, BoundsTheNumberOfItemsAndTrials) {
  const auto many = [](std::size_t count) {
    std::string text = "\"arms\": [";
    for (std::size_t i = 0; i < count; ++i)
      text += fmt::format(R"({}{{"name": "a{}", "mode": "stock"}})", i == 0 ? "" : ",", i);
    return text + "]";
  };
  EXPECT_TRUE(parse_suite(suite_with(kModels, kWorkloads, many(1000))).ok());
  EXPECT_EQ(error_of(suite_with(kModels, kWorkloads, many(1001))),
            "$.arms: 1001 elements; expected an array of 1 to 1000 arms");
  EXPECT_TRUE(parse_suite(suite_with(kModels, kWorkloads, many(1000), R"("protocol": {"trials": 1000})")).ok());
  EXPECT_EQ(error_of(suite_with(kModels, kWorkloads, many(1000), R"("protocol": {"trials": 1001})")),
            "$: 1 models x 1 workloads x 1000 arms x 1001 trials are 1001000 processes; expected at most 1000000; try: "
            "split the suite");
}

TEST(CanonicalJson, HasSortedKeysNoSpacesAndEveryDefault) {
  const auto suite = parse_suite(suite_with(kModels, kWorkloads, kArms));
  ASSERT_TRUE(suite.ok());
  EXPECT_EQ(
      canonical_json(*suite),
      R"({"arms":[{"device":"","env":{},"guest":{},"mode":"stock","name":"stock","set":{},"shim":"","target":"local"}],)"
      R"("capbench":1,"description":"","models":[{"kind":"twin","like":"quickstart","name":"twin","seed":1}],)"
      R"("name":"s","protocol":{"cooldown_s":0.0,"order":"random-blocks","seed":1,"time_limit_s":600.0,"trials":5},)"
      R"("runtime":{"executable":"","kind":"llama-bench"},)"
      R"("workloads":[{"args":[],"d":[0],"n":[32],"name":"w","p":[128],"r":5}]})");
}

TEST(CanonicalJson, IsTheSameForSpacesKeyOrderAndWrittenDefaults) {
  const auto terse = parse_suite(suite_with(kModels, kWorkloads, kArms));
  const auto wordy =
      parse_suite(suite_with(R"("models" : [ {"seed": 1, "kind": "twin", "like": "quickstart", "name": "twin"} ])",
                             R"("workloads": [{"n": 32, "p": [128], "d": 0, "r": 5.0, "name": "w", "args": []}])",
                             kArms, R"("protocol": {"time_limit_s": 600}, "description": "")"));
  ASSERT_TRUE(terse.ok());
  ASSERT_TRUE(wordy.ok()) << to_string(wordy.error());
  EXPECT_EQ(suite_id(*terse), suite_id(*wordy));
  const auto other = parse_suite(with_protocol(R"("seed": 2)"));
  EXPECT_NE(suite_id(*terse), suite_id(*other));
  EXPECT_EQ(suite_id(*terse).size(), 64U);
}

}  // namespace
}  // namespace capbench::suite
