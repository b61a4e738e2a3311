// Archives that mean harm. Each is refused with a reason that can be shown, and costs no more than its limits.
#include <gtest/gtest.h>
#include <zstd.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/utf8.h"
#include "schema/bundle/bundle.h"
#include "schema/bundle/json_text.h"
#include "schema/bundle/test_bundles.h"
#include "schema/canonical.h"
#include "schema/identity.h"

namespace capbench::bundle {
namespace {

using schema::testing::must;
using testing::Entry;

constexpr std::string_view kNotRefused = "not refused";

// The reason, after what every reason must be.
std::string why(std::string_view archive, const Limits& limits = {}) {
  const Result<Opened> opened = open_bundle(archive, limits);
  if (opened) return std::string(kNotRefused);
  const Error& error = opened.error();
  EXPECT_EQ(error.kind, ErrorKind::kFinding);
  EXPECT_FALSE(error.what.empty());
  EXPECT_FALSE(error.cause.empty());
  EXPECT_FALSE(error.remedy.empty()) << error.cause;
  EXPECT_TRUE(is_printable(to_string(error))) << to_string(error);
  EXPECT_LE(to_string(error).size(), 600U);
  return to_string(error);
}

::testing::AssertionResult refused(const std::string& archive, std::string_view part, const Limits& limits = {}) {
  const std::string text = why(archive, limits);
  if (text != kNotRefused && text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "expected \"" << part << "\", got: " << text;
}

// With one entry more, or another instead of the first that begins so; sorted, and with a manifest that fits.
std::string with(Entry extra, bool listed = true) {
  std::vector<Entry> all = testing::entries(testing::sealed(testing::small()));
  const auto at = std::find_if(all.begin(), all.end(), [&](const Entry& e) { return e.name > extra.name; });
  all.insert(at, std::move(extra));
  return testing::archive(listed ? testing::with_manifest(std::move(all)) : std::move(all));
}

// The small bundle's tar with `change` done to the header of its first entry.
template <class Change>
std::string with_header(const Change& change) {
  std::string tar = testing::unzstd(testing::sealed(testing::small()).archive);
  std::string header = tar.substr(0, 512);
  change(header);
  testing::put_checksum(header);
  return testing::zstd(tar.replace(0, 512, header));
}

// The text of a trial's member, changed and given a manifest that fits.
std::string trial(std::string_view from, std::string_view to) {
  return testing::altered(testing::small(), "trials/", from, to);
}

TEST(Hostile, TheTestsOwnArchivesAreFineUnchanged) {
  const Sealed sealed = testing::sealed(testing::example());
  EXPECT_TRUE(open_bundle(testing::archive(testing::entries(sealed))).ok());
  const Opened again =
      must(open_bundle(testing::archive(testing::with_manifest(testing::entries(testing::sealed(testing::small()))))));
  EXPECT_EQ(again.id, testing::sealed(testing::small()).id);
  EXPECT_TRUE(open_bundle(with_header([](std::string&) {})).ok());
}

TEST(Hostile, NoBundleAtAll) {
  EXPECT_TRUE(refused("", "empty"));
  EXPECT_TRUE(refused("a", "not a capbench bundle"));
  EXPECT_TRUE(refused("\x1F\x8B\x08 gzip", "not a capbench bundle"));
  EXPECT_TRUE(refused(std::string(4096, '\0'), "not a capbench bundle"));
  EXPECT_TRUE(refused("\x28\xB5\x2F\xFD", "damaged"));
  EXPECT_TRUE(refused(testing::zstd(""), "no tar archive"));
  EXPECT_TRUE(refused(testing::zstd("hello"), "no tar archive"));
  EXPECT_TRUE(refused(testing::zstd(std::string(1024, '\0')), "no manifest.json"));
  EXPECT_TRUE(refused(testing::zstd(std::string(512, '\0')), "no tar archive"));
}

TEST(Hostile, Bombs) {
  // 8 MiB of zeros in a few hundred bytes.
  const std::string zeros = testing::zstd(std::string(8U << 20U, '\0'));
  ASSERT_LT(zeros.size(), 2000U);
  EXPECT_TRUE(refused(zeros, "unpacks to too many times its size"));
  // A frame that only says that it is large: nothing may be allocated for it.
  std::string claim("\x28\xB5\x2F\xFD\xE0", 5);  // one segment, eight bytes of size
  for (const unsigned shift : {0U, 8U, 16U, 24U, 32U, 40U, 48U, 56U}) {
    claim += static_cast<char>((std::uint64_t{1} << 40U) >> shift & 0xFFU);
  }
  claim += std::string("\x01\x00\x00", 3);
  EXPECT_TRUE(refused(claim, "too many bytes when unpacked: 1099511627776, at most 268435456 are taken"));
  // What it unpacks to must be what it says, neither more nor less.
  std::string frame = testing::sealed(testing::small()).archive;
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  ASSERT_GT(size, 256U);
  for (const int change : {-1, 1}) {
    std::string lies = frame;
    lies[6] = static_cast<char>(lies[6] + change);  // the size's second byte, or its first
    EXPECT_TRUE(refused(lies, "")) << change;
  }
  // A bomb as raw output stays packed: nobody unpacks raw bytes.
  Bundle nested = testing::small();
  nested.raw.clear();
  nested.raw[sha256(zeros)] = zeros;
  nested.trials[0].stdout_sha256 = sha256(zeros);
  EXPECT_EQ(must(open_bundle(testing::sealed(nested).archive)).bundle.raw.begin()->second, zeros);
  // The same zeros as raw output.
  const std::string some(3U << 20U, '\0');
  EXPECT_TRUE(refused(with({"raw/" + sha256(some), some}), "unpacks to too many times its size"));
}

TEST(Hostile, OneFrameThatStatesItsSize) {
  const std::string good = testing::sealed(testing::small()).archive;
  EXPECT_TRUE(refused(good + "x", "1 bytes follow its end"));
  EXPECT_TRUE(refused(good + good, "bytes follow its end"));
  EXPECT_TRUE(refused(good + testing::zstd(""), "bytes follow its end"));
  const std::string skippable("\x50\x2A\x4D\x18\x04\x00\x00\x00helo", 12);
  EXPECT_TRUE(refused(skippable + good, "not a capbench bundle"));
  EXPECT_TRUE(refused(good + skippable, "12 bytes follow its end"));
  // Streamed: the size is unknown.
  const std::string tar = testing::unzstd(good);
  std::string frame(ZSTD_compressBound(tar.size()), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_contentSizeFlag, 0);
  frame.resize(ZSTD_compress2(context, frame.data(), frame.size(), tar.data(), tar.size()));
  ZSTD_freeCCtx(context);
  EXPECT_TRUE(refused(frame, "does not say how much it unpacks to"));
}

TEST(Hostile, OnlyRegularFiles) {
  const std::vector<std::pair<char, const char*>> types = {{'1', "a hard link"},
                                                           {'2', "a symbolic link"},
                                                           {'3', "a character device"},
                                                           {'4', "a block device"},
                                                           {'5', "a folder"},
                                                           {'6', "a named pipe"},
                                                           {'x', "a pax record"},
                                                           {'g', "a pax record"},
                                                           {'L', "a long name"},
                                                           {'K', "a long name"},
                                                           {'S', "a sparse file"},
                                                           {'7', "an entry of unknown kind"},
                                                           {'\0', "an entry of unknown kind"},
                                                           {'V', "an entry of unknown kind"}};
  for (const auto& [type, name] : types) {
    EXPECT_TRUE(refused(with({"raw/" + sha256("x"), "x", type}), std::string("it is ") + name));
    EXPECT_TRUE(refused(with({"zlink", "", type}), std::string("it is ") + name));
  }
  EXPECT_TRUE(refused(with_header([](std::string& h) { h.replace(157, 11, "/etc/passwd"); }), "its header is not"));
}

TEST(Hostile, OnlyMembersNames) {
  const std::string digest = sha256("x");
  EXPECT_TRUE(refused(with({"/etc/passwd", "x"}), "has an absolute name"));
  EXPECT_TRUE(refused(with({"../" + digest, "x"}), "leads out of its folder"));
  EXPECT_TRUE(refused(with({"raw/../../" + digest, "x"}), "leads out of its folder"));
  EXPECT_TRUE(refused(with({"raw/..", "x"}), "leads out of its folder"));
  EXPECT_TRUE(refused(with({"..", "x"}), "leads out of its folder"));
  for (const std::string& name :
       {std::string("README"), "raw/" + digest + "0", "raw/" + digest.substr(1), "raw/" + digest + "/x",
        "raw/" + digest + ".json", "raw//" + digest, "./raw/" + digest, "Raw/" + digest, "suites/" + digest,
        "suites/" + digest + ".JSON", "trials/" + digest + ".json ", std::string("manifest.json.gz"),
        "raw/" + std::string(64, 'A'), "raw\\" + digest, std::string("raw/\xFF\x1B[2J"), std::string(100, 'a')}) {
    EXPECT_TRUE(refused(with({name, "x"}, false), "has a name that no member has")) << name;
  }
  EXPECT_TRUE(refused(with({std::string("raw/x\0", 6) + digest, "x"}, false), "its name goes on behind a NUL"));
  EXPECT_TRUE(refused(with_header([](std::string& h) { h.replace(0, 100, 100, '\0'); }), "has no name"));
  EXPECT_TRUE(refused(with_header([](std::string& h) { h.replace(345, 4, "/etc"); }), "its header is not"));
}

TEST(Hostile, EachOnceInOrderAndListed) {
  std::vector<Entry> all = testing::entries(testing::sealed(testing::small()));
  std::vector<Entry> twice = all;
  twice.insert(twice.begin() + 1, twice[1]);
  EXPECT_TRUE(refused(testing::archive(twice), "it is there twice"));
  EXPECT_TRUE(refused(testing::archive(testing::with_manifest(twice)), "it is there twice"));
  std::vector<Entry> swapped = all;
  std::swap(swapped[1], swapped[2]);
  EXPECT_TRUE(refused(testing::archive(swapped), "it is out of order"));
  EXPECT_TRUE(refused(with({"raw/" + sha256("x"), "x"}, false), "the manifest does not list it"));
  EXPECT_TRUE(refused(with({"raw/" + sha256("x"), "x"}), "nothing in the bundle refers to it"));
  EXPECT_TRUE(refused(with({"raw/" + sha256("y"), "x"}), "another digest than its name"));
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<Entry> fewer = all;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_TRUE(refused(testing::archive(fewer), all[i].name == "manifest.json" ? "no manifest.json" : "it lists"));
  }
  std::vector<Entry> other_bytes = all;
  testing::find(other_bytes, "raw/").bytes = "OUT";
  EXPECT_TRUE(refused(testing::archive(other_bytes), "do not have the digest"));
  testing::find(other_bytes, "raw/").bytes = "outs";
  EXPECT_TRUE(refused(testing::archive(other_bytes), "it has 4 bytes, the manifest says 3"));
  testing::find(other_bytes, "raw/").bytes = "OUT";
  EXPECT_TRUE(refused(testing::archive(testing::with_manifest(other_bytes)), "another digest than its name"));
}

TEST(Hostile, HeadersAreAsWritten) {
  const auto field = [](std::size_t at, std::string bytes) {
    return with_header([=](std::string& header) { header.replace(at, bytes.size(), bytes); });
  };
  EXPECT_TRUE(refused(field(100, "0000755"), "its header is not as capbench writes it"));
  EXPECT_TRUE(refused(field(108, "0001750"), "its header is not as capbench writes it"));
  EXPECT_TRUE(refused(field(136, "14712345670"), "its header is not as capbench writes it"));
  EXPECT_TRUE(refused(field(257, "ustar  "), "its header is not as capbench writes it"));
  EXPECT_TRUE(refused(field(265, "root"), "its header is not as capbench writes it"));
  EXPECT_TRUE(refused(field(500, "tail"), "its header is not as capbench writes it"));
  EXPECT_TRUE(refused(field(124, "\x80\x00\x00\x00\x00"), "its size is not a number"));
  EXPECT_TRUE(refused(field(124, "-0000000001"), "its size is not a number"));
  EXPECT_TRUE(refused(field(124, "        123"), "its size is not a number"));
  EXPECT_TRUE(refused(field(124, "77777777777"), "too many bytes: 8589934591"));
  EXPECT_TRUE(refused(field(124, "00000177777"), "it is cut short"));
  EXPECT_TRUE(refused(field(124, "00000000000"), ""));
  std::string tar = testing::unzstd(testing::sealed(testing::small()).archive);
  std::string sum = tar;
  sum[150] = static_cast<char>(sum[150] ^ 1);
  EXPECT_TRUE(refused(testing::zstd(sum), "the checksum of its header is wrong"));
  EXPECT_TRUE(refused(testing::zstd(tar + std::string(512, '\0')), "something follows the end"));
  EXPECT_TRUE(refused(testing::zstd(tar + std::string(512, 'x')), "something follows the end"));
  EXPECT_TRUE(refused(testing::zstd(tar.substr(0, tar.size() - 512)), "no end"));
  EXPECT_TRUE(refused(testing::zstd(tar.substr(0, tar.size() - 1024)), "no end"));
  EXPECT_TRUE(refused(testing::zstd(tar.substr(0, tar.size() - 1)), "no tar archive"));
  std::string padding = tar;
  const std::size_t size = std::stoul(tar.substr(124, 11), nullptr, 8);
  ASSERT_NE(size % 512, 0U);
  padding[512 + size] = 'x';
  EXPECT_TRUE(refused(testing::zstd(padding), "its header is not as capbench writes it"));
}

TEST(Hostile, Manifests) {
  const auto manifest = [](const std::function<std::string(const std::string&)>& change) {
    std::vector<Entry> all = testing::entries(testing::sealed(testing::small()));
    Entry& entry = testing::find(all, "manifest.json");
    entry.bytes = change(entry.bytes);
    return testing::archive(all);
  };
  const auto replaced = [&](const std::string& from, const std::string& to) {
    return manifest([&](std::string text) {
      const std::size_t at = text.find(from);
      EXPECT_NE(at, std::string::npos) << from;
      return text.replace(at, from.size(), to);
    });
  };
  EXPECT_TRUE(refused(manifest([](const std::string&) { return ""; }), "expected {"));
  EXPECT_TRUE(refused(manifest([](const std::string&) { return "{}"; }), "expected the key \"bundle\""));
  EXPECT_TRUE(refused(manifest([](const std::string& t) { return t + "\n"; }), "something follows its end"));
  EXPECT_TRUE(refused(manifest([](const std::string& t) { return " " + t; }), "expected {"));
  EXPECT_TRUE(refused(replaced("{\"bundle\":1", "{\"bundle\":2"), "format 2; this program reads format 1"));
  EXPECT_TRUE(refused(replaced("\"created_by\":", "\"created_by\" :"), "expected the key"));
  EXPECT_TRUE(refused(replaced("\"created_by\":", "\"a\":1,\"created_by\":"), "expected the key"));
  EXPECT_TRUE(refused(replaced("\"members\":[", "\"members\":[{\"path\":\"x\"},"), "expected the key \"sha256\""));
  EXPECT_TRUE(refused(replaced("\"size\":3}", "\"size\":3.0}"), "expected an integer"));
  EXPECT_TRUE(refused(replaced("\"size\":3}", "\"size\":-3}"), "expected an integer"));
  EXPECT_TRUE(refused(replaced("\"size\":3}", "\"size\":18446744073709551615}"), "out of range"));
  EXPECT_TRUE(refused(replaced("\"size\":3}", "\"size\":99999999999999999999999}"), "out of range"));
  EXPECT_TRUE(refused(replaced("\"replaced\":[]", "\"replaced\":[{\"count\":1,\"kind\":\"x\",\"member\":\"raw/x\"}]"),
                      "which is no member"));
  EXPECT_TRUE(refused(manifest([](const std::string&) { return std::string(1'000'000, '['); }), "expected {"));
  const std::string brackets(1'000'000, '[');
  EXPECT_TRUE(refused(replaced("\"members\":[", "\"members\":" + brackets), "expected {"));
  EXPECT_TRUE(refused(with({"manifest.json.sig", std::string((64U << 10U) + 1, 'x')}), "too many bytes: 65537"));
}

TEST(Hostile, Records) {
  EXPECT_TRUE(refused(trial("\"attempt\":1", "\"attempt\":1.0"), "expected an integer"));
  EXPECT_TRUE(refused(trial("\"attempt\":1", "\"attempt\":01"), "expected an integer"));
  EXPECT_TRUE(refused(trial("\"attempt\":1", "\"attempt\":-0"), "expected an integer"));
  EXPECT_TRUE(refused(trial("\"attempt\":1", "\"attempt\":+1"), "expected an integer"));
  EXPECT_TRUE(refused(trial("\"attempt\":1", "\"attempt\":1e0"), "expected an integer"));
  EXPECT_TRUE(refused(trial("\"attempt\":1", "\"attempt\":9223372036854775808"), "out of range"));
  EXPECT_TRUE(refused(trial("\"attempt\":1", "\"attempt\":true"), "expected an integer"));
  EXPECT_TRUE(refused(trial("\"attempt\":1", "\"attempt\":null"), "expected an integer"));
  EXPECT_TRUE(refused(trial("\"exit_status\":null", "\"exit_status\":4294967296"), "out of range"));
  EXPECT_TRUE(refused(trial("\"attempt\":1,", "\"attempt\":1,\"attempt\":1,"), "expected the key \"block\""));
  EXPECT_TRUE(refused(trial("\"attempt\":1,", ""), "expected the key \"attempt\""));
  EXPECT_TRUE(refused(trial("\"attempt\":1,", "\"attempt\":1,\"b\":{},"), "expected the key \"block\""));
  const std::string median = "\"median_ts\":";
  for (const char* number : {"NaN", "Infinity", "nan", "inf", "\"1\"", "null", "true", "{}"}) {
    EXPECT_TRUE(refused(trial(median, median + number + ",\"x\":"), "expected a number")) << number;
  }
  for (const char* number : {"-Infinity", "-NaN", "1e999", "-1e999", "1e-999", "1..2", "1e", "--1"}) {
    EXPECT_TRUE(refused(trial(median, median + number + ",\"x\":"), "expected a finite number")) << number;
  }
  for (const char* number : {"1.50", "1.", "01", "-0", "1E3", "1e+03", "0.1e1", "1000000000000000000000001"}) {
    EXPECT_TRUE(refused(trial(median, median + number + ",\"x\":"), "shortest form")) << number;
  }
  EXPECT_TRUE(refused(trial("\"argv\":[]", "\"argv\":" + std::string(1'000'000, '[')), "expected a text"));
  EXPECT_TRUE(refused(trial("\"argv\":[]", "\"argv\":{}"), "expected ["));
  EXPECT_TRUE(refused(trial("\"argv\":[]", "\"argv\":[,]"), "expected a text"));
  EXPECT_TRUE(refused(trial("\"argv\":[]", "\"argv\":[\"a\",]"), "expected a text"));
  std::string many = "\"argv\":[\"\"";
  for (int i = 0; i < 100'000; ++i) many += ",\"\"";
  EXPECT_TRUE(refused(trial("\"argv\":[]", many + "]"), "a list of more than 100000 entries"));
}

TEST(Hostile, Texts) {
  const std::string reason = "\"reason\":\"\"";
  const auto with_reason = [&](const std::string& text) { return trial(reason, "\"reason\":\"" + text + "\""); };
  for (const std::string& bytes :
       {std::string("\xFF"), std::string("\xC0\x80"), std::string("\xED\xA0\x80"), std::string("\xF4\x90\x80\x80"),
        std::string("\xE2\x82"), std::string("\x80"), std::string("caf\xE9")}) {
    EXPECT_TRUE(refused(with_reason(bytes), "not UTF-8"));
  }
  EXPECT_TRUE(refused(with_reason(std::string(1, '\0')), "a control character"));
  EXPECT_TRUE(refused(with_reason("\n"), "a control character"));
  for (const char* escape : {"\\u0000", "\\u0041", "\\u00e9", "\\ud800", "\\/", "\\x41", "\\u001F", "\\u000a", "\\"}) {
    EXPECT_TRUE(refused(with_reason(escape), "")) << escape;
  }
  EXPECT_TRUE(refused(with_reason("\\u0000"), "an escape that canonical JSON does not have"));
  EXPECT_TRUE(open_bundle(with_reason("\\u001f\\n\\\"\\\\ caf\xC3\xA9")).ok());
  // Text that is meant for somebody else stays text.
  const std::string evil = "'; DROP TABLE trial; -- <script>alert(1)</script> =cmd|' /C calc'!A0 \\u001b[2J ${jndi}";
  const Opened opened = must(open_bundle(with_reason(evil)));
  EXPECT_EQ(opened.bundle.trials[0].reason.find("'; DROP TABLE trial;"), 0U);
}

TEST(Hostile, JsonWithinRecords) {
  const auto fields = [](const std::string& json) {
    Bundle bundle = testing::small();
    bundle.trials[0].results[0].fields = "{}";
    return testing::altered(bundle, "trials/", "\"fields\":\"{}\"", "\"fields\":" + nlohmann::json(json).dump());
  };
  const std::string deep(1'000'000, '[');
  EXPECT_TRUE(refused(fields(deep), "not a JSON object"));
  EXPECT_TRUE(refused(fields("{\"a\":" + deep), "nested deeper than 32"));
  EXPECT_TRUE(
      refused(fields("{\"a\":" + deep.substr(500'000) + std::string(500'000, ']') + "}"), "nested deeper than 32"));
  const auto nested = [](std::size_t depth) {
    return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
  };
  EXPECT_TRUE(open_bundle(fields(nested(32))).ok());
  EXPECT_TRUE(refused(fields(nested(33)), "nested deeper than 32"));
  for (const char* text : {"1",
                           "[]",
                           "\"x\"",
                           "null",
                           "{",
                           "{}}",
                           "{} {}",
                           "{\"a\"}",
                           "{\"a\":}",
                           "{\"a\":1,}",
                           "{,}",
                           "{1:2}",
                           "{\"a\":NaN}",
                           "{\"a\":1e999}",
                           "{\"a\":-1e999}",
                           "{\"a\":01}",
                           "{\"a\":.5}",
                           "{\"a\":1.}",
                           "{\"a\":+1}",
                           "{\"a\":Infinity}",
                           "{\"a\":\"\\ud800\"}",
                           "{\"a\":\"\\udc00\"}",
                           "{\"a\":\"\\x\"}",
                           "{\"a\":\"\n\"}",
                           "{\"a\":tru}",
                           "{\"a\":[1,]}",
                           "{\"a\":[1}",
                           "{'a':1}",
                           "{\"a\":\"",
                           "{\"a\":\"\\",
                           "{\"a\":\"\\u00",
                           "{\"a\" 1}",
                           "x"}) {
    EXPECT_FALSE(why_no_object(text, 32).empty()) << text;
    EXPECT_FALSE(nlohmann::json::accept(text) && text[0] == '{') << text;  // another parser agrees
    EXPECT_TRUE(refused(fields(text), "its fields: ")) << text;
  }
  for (const char* text :
       {"{}", " {\"a\" : [ 1 , -0.5e-3 , true, false, null, {} ] }\n", "{\"a\":\"\\ud83d\\ude00\"}", "{\"a\":1e-999}",
        "{\"a\":123456789012345678901234567890}", "{\"a\":{\"b\":{\"c\":[[]]}}}"}) {
    EXPECT_EQ(why_no_object(text, 32), "") << text;
    EXPECT_TRUE(nlohmann::json::accept(text)) << text;
  }
  EXPECT_TRUE(refused(fields("{\"a\":1" + std::string(400, '0') + "}"), "beyond the largest double"));
}

TEST(Hostile, IdsAndReferences) {
  const std::string other = sha256("other");
  EXPECT_TRUE(refused(trial("610000457", "610000458"), "something in it was changed"));
  EXPECT_TRUE(refused(trial("\"arm\":\"stock\"", "\"arm\":\"unlocked\""), "something in it was changed"));
  EXPECT_TRUE(refused(trial("\"status\":\"ok\"", "\"status\":\"failed\""), "something in it was changed"));
  EXPECT_TRUE(refused(trial("\"status\":\"ok\"", "\"status\":\"splendid\""), "which is no such word"));
  EXPECT_TRUE(refused(trial("\"status_before_exclusion\":\"\"", "\"status_before_exclusion\":\"ok\""), "not excluded"));
  EXPECT_TRUE(refused(trial("\"treatment\":\"\"", "\"treatment\":\"no\""), "which is no such word"));
  EXPECT_TRUE(refused(trial("\"id\":\"", "\"id\":\"0"), "has another name"));
  EXPECT_TRUE(refused(trial("\"stdout_sha256\":\"" + sha256("out"), "\"stdout_sha256\":\"" + other),
                      "nothing in the bundle refers to it"));
  EXPECT_TRUE(refused(trial("\"stderr_sha256\":\"\"", "\"stderr_sha256\":\"../x\""), "is not a SHA-256"));
  EXPECT_TRUE(
      refused(trial("\"environment_id\":\"\"", "\"environment_id\":\"" + other + "\""), "is not in the bundle"));
  EXPECT_TRUE(refused(trial("\"source_sha256\":\"\"", "\"source_sha256\":\"" + other + "\""), "is not in the bundle"));
  EXPECT_TRUE(refused(trial("\"n_prompt\":512,\"samples", "\"n_prompt\":-512,\"samples"), "its n_prompt is negative"));
  const Bundle all = testing::example();
  EXPECT_TRUE(refused(testing::altered(all, "suites/", "quick", "slow"), "something in it was changed"));
  Bundle facts = all;
  facts.environments[0].json = R"({"machine_id":"machine-a"})";
  facts.environments[0].id = schema::environment_id(facts.environments[0]);
  for (schema::TrialRecord& t : facts.trials) {
    if (!t.environment_id.empty()) t.environment_id = facts.environments[0].id;
  }
  EXPECT_TRUE(refused(testing::altered(facts, "environments/", "\"machine_id\":\"machine-a\"", "\"machine_id\":\"b\""),
                      "its machine_id is not the one in its json"));
  EXPECT_TRUE(refused(testing::altered(all, "closures/", "executable", "library"), "something in it was changed"));
  EXPECT_TRUE(refused(testing::altered(all, "runs/", "04:25", "04:26"), "something in it was changed"));
  EXPECT_TRUE(refused(testing::altered(all, "runs/", "running", "dancing"), "which is no such word"));
  EXPECT_TRUE(refused(testing::altered(all, "runs/", "\"planned_trials\":15", "\"planned_trials\":9223372036854775808"),
                      "out of range"));
  EXPECT_TRUE(refused(testing::altered(all, "quality/", "\"attempt\":1", "\"attempt\":2"), "has another name"));
  EXPECT_TRUE(refused(testing::altered(all, "quality/", "passed", "fine!!"), "which is no such word"));
  EXPECT_TRUE(refused(testing::altered(all, "sources/", "\"sha256\":\"", "\"sha256\":\"0"), "has another name"));
}

TEST(Hostile, Limits) {
  const Sealed sealed = testing::sealed(testing::example());
  const auto limited = [&](auto Limits::*member, auto value) {
    Limits limits;
    limits.*member = value;
    return why(sealed.archive, limits);
  };
  const auto has = [](const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; };
  const std::string bytes = std::to_string(sealed.archive.size());
  EXPECT_TRUE(has(limited(&Limits::archive_bytes, sealed.archive.size() - 1), "too many bytes: " + bytes));
  EXPECT_EQ(limited(&Limits::archive_bytes, sealed.archive.size()), kNotRefused);
  EXPECT_TRUE(has(limited(&Limits::unpacked_bytes, std::uint64_t{2048}), "too many bytes when unpacked"));
  EXPECT_TRUE(has(limited(&Limits::members, std::size_t{5}), "too many members: 6, at most 5 are taken"));
  EXPECT_TRUE(has(limited(&Limits::json_bytes, std::uint64_t{100}), "too many bytes"));
  EXPECT_TRUE(has(limited(&Limits::raw_bytes, std::uint64_t{10}), "withhold the raw output"));
  EXPECT_TRUE(has(limited(&Limits::json_depth, std::size_t{1}), "nested deeper than 1"));
  EXPECT_TRUE(has(limited(&Limits::list_items, std::size_t{2}), "a list of more than 2 entries"));
}

TEST(Hostile, CutShortAnywhere) {
  const std::string archive = testing::sealed(testing::small()).archive;
  for (std::size_t size = 0; size < archive.size(); ++size) {
    ASSERT_NE(why(archive.substr(0, size)), kNotRefused) << size;
  }
  // The same inside an intact frame.
  const std::string tar = testing::unzstd(archive);
  for (std::size_t size = 0; size < tar.size(); size += size % 64 == 0 ? 63 : 1) {
    ASSERT_NE(why(testing::zstd(tar.substr(0, size))), kNotRefused) << size;
  }
}

TEST(Hostile, AnyBitTurned) {
  const Sealed sealed = testing::sealed(testing::small());
  for (std::size_t i = 0; i < sealed.archive.size() * 8; ++i) {
    std::string turned = sealed.archive;
    turned[i / 8] = static_cast<char>(turned[i / 8] ^ (1 << (i % 8)));
    const Result<Opened> opened = open_bundle(turned);
    // Zstandard has bits that mean nothing; all that matters is what came out.
    ASSERT_TRUE(!opened || opened->manifest == sealed.manifest) << i;
  }
  const std::string tar = testing::unzstd(sealed.archive);
  for (std::size_t i = 0; i < tar.size() * 8; i += 7) {
    std::string turned = tar;
    turned[i / 8] = static_cast<char>(turned[i / 8] ^ (1 << (i % 8)));
    const Result<Opened> opened = open_bundle(testing::zstd(turned));
    // A manifest is named by its bytes, so another one may only be another bundle.
    ASSERT_TRUE(!opened || opened->id != sealed.id) << i;
  }
}

}  // namespace
}  // namespace capbench::bundle
