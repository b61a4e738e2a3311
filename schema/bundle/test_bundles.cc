#include "schema/bundle/test_bundles.h"

#include <zstd.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/digest.h"
#include "schema/canonical.h"
#include "schema/identity.h"

namespace capbench::bundle::testing {

using nlohmann::json;
using schema::testing::must;
using schema::testing::Setting;

namespace {

constexpr std::size_t kBlock = 512;

void add_raw(Bundle& bundle, const std::string& bytes) {
  bundle.raw.emplace(sha256(bytes), bytes);
}

}  // namespace

Bundle example() {
  const Setting setting;
  Bundle bundle;
  bundle.created_by = "capbench 0.1.0";
  bundle.suites = {setting.suite};
  bundle.environments = {setting.environment};
  bundle.closures = {setting.closure};
  bundle.runs = {setting.run};
  add_raw(bundle, schema::testing::raw_stderr());
  const std::string probe = "{\"probe\":1}\n";
  add_raw(bundle, probe);
  for (const std::string arm : {"bare-metal", "stock", "unlocked"}) {
    for (std::int64_t block = 0; block < 2; ++block) {
      schema::TrialRecord trial = schema::testing::trial(setting, arm, block, arm == "stock" ? 8 : 1);
      trial.probe_sha256 = block == 0 ? sha256(probe) : "";
      trial.image = block == 0 ? "" : R"({"digest":"sha256:0123","name":"guest"})";
      trial.hygiene = R"({"before":{"load":0.25,"note":"caf\u00e9 \"x\""}})";
      trial.measured = R"({"power_w":[1.5,2.25e1]})";
      bundle.trials.push_back(schema::testing::named(trial));
      add_raw(bundle, schema::testing::raw_stdout(block));
    }
  }
  schema::TrialRecord excluded = schema::testing::trial(setting, "stock", 5);
  excluded.status_before_exclusion = excluded.status;
  excluded.status = "excluded";
  excluded.reason = "was ok: the fan stopped";
  bundle.trials.push_back(excluded);  // the id is of before
  add_raw(bundle, schema::testing::raw_stdout(5));

  schema::TrialRecord absent;
  absent.run_id = setting.run.id;
  absent.suite_id = setting.suite.id;
  absent.arm = "unlocked";
  absent.workload = "default";
  absent.status = "not_run";
  absent.reason = "the run was interrupted\n\ttab, \x01 and \xC3\xA9";
  absent.signal = 9;
  absent.block = 6;
  bundle.trials.push_back(schema::testing::named(absent));

  const std::string file = "| test | t/s |\n| tg128 | 31.25 |\n";
  add_raw(bundle, file);
  bundle.sources = {{sha256(file), "llama-bench-md", "table.md", file.size(), {"a note"}}};
  bundle.quarantine = {{sha256(file), 7, "41 values for 42 columns", "\"x\","}, {sha256(file), 9, "no test", "| | |"}};
  schema::TrialRecord imported = schema::testing::trial(setting, "imported", 0);
  imported.source_sha256 = sha256(file);
  imported.stdout_sha256.clear();
  imported.stderr_sha256.clear();
  imported.environment_id.clear();
  imported.closure_id.clear();
  imported.exit_status.reset();
  schema::StatedResultRecord stated;
  stated.test = "tg128";
  stated.n_gen = 128;
  stated.mean_ts = 31.25;
  stated.stddev_ts = 0.5;
  stated.repetitions = 5;
  stated.fields = R"({"t/s":"31.25 ± 0.50"})";
  imported.stated = {stated, stated};
  imported.stated[1].stddev_ts.reset();
  imported.stated[1].repetitions.reset();
  imported.stated[1].fields.clear();
  bundle.trials.push_back(schema::testing::named(imported));

  add_raw(bundle, "perplexity: 12.3\n");
  bundle.quality = {{setting.run.id,
                     "unlocked",
                     "tiny",
                     "output",
                     1,
                     "passed",
                     "",
                     R"({"mean_kl":0.001,"max_kl":0.5,"tool":"/home/jo/llama-perplexity"})",
                     {"llama-perplexity", "-f", "text"},
                     sha256("perplexity: 12.3\n"),
                     "",
                     "2026-11-30T04:30:00.000Z"}};
  bundle.replaced = {{raw_member(sha256(file)), "home folder", 2}, {trial_member(bundle.trials[0]), "host name", 1}};
  return bundle;
}

Bundle small() {
  const Setting setting;
  Bundle bundle;
  bundle.created_by = "capbench 0.1.0";
  bundle.suites = {setting.suite};
  bundle.runs = {setting.run};
  schema::TrialRecord trial;
  trial.run_id = setting.run.id;
  trial.suite_id = setting.suite.id;
  trial.arm = "stock";
  trial.workload = "default";
  trial.model = "tiny";
  trial.status = "ok";
  trial.stdout_sha256 = sha256("out");
  trial.results = {schema::testing::result("pp512", 512, 0, {600'000'123, 610'000'457})};
  bundle.trials = {schema::testing::named(trial)};
  add_raw(bundle, "out");
  return bundle;
}

Sealed sealed(const Bundle& bundle) {
  return must(seal(bundle));
}

void put_checksum(std::string& header) {
  header.replace(148, 8, 8, ' ');
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  char digits[8];
  std::snprintf(digits, sizeof digits, "%06o", sum);
  header.replace(148, 7, std::string(digits, 7));
}

std::string header(const Entry& entry) {
  std::string block(kBlock, '\0');
  block.replace(0, entry.name.size(), entry.name);
  const auto octal = [&](std::size_t at, int width, std::size_t value) {
    char digits[16];
    const int length = std::snprintf(digits, sizeof digits, "%0*zo", width, value);
    block.replace(at, static_cast<std::size_t>(length), digits);
  };
  octal(100, 7, 0644);
  octal(108, 7, 0);
  octal(116, 7, 0);
  octal(124, 11, entry.bytes.size());
  octal(136, 11, 0);
  block[156] = entry.type;
  block.replace(257, 5, "ustar");
  block.replace(263, 2, "00");
  octal(329, 7, 0);
  octal(337, 7, 0);
  put_checksum(block);
  return block;
}

std::string tar(const std::vector<Entry>& entries, bool end) {
  std::string bytes;
  for (const Entry& entry : entries) {
    bytes += header(entry) + entry.bytes;
    bytes.resize((bytes.size() + kBlock - 1) / kBlock * kBlock, '\0');
  }
  if (end) bytes.append(2 * kBlock, '\0');
  return bytes;
}

std::string zstd(std::string_view bytes) {
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), 1));
  return frame;
}

std::string unzstd(std::string_view archive) {
  std::string bytes(static_cast<std::size_t>(ZSTD_getFrameContentSize(archive.data(), archive.size())), '\0');
  if (ZSTD_decompress(bytes.data(), bytes.size(), archive.data(), archive.size()) != bytes.size()) {
    throw std::runtime_error("not one frame");
  }
  return bytes;
}

std::string archive(const std::vector<Entry>& entries) {
  return zstd(tar(entries));
}

std::vector<Entry> entries(const Sealed& sealed) {
  const std::string bytes = unzstd(sealed.archive);
  std::vector<Entry> found;
  for (std::size_t at = 0; bytes[at] != '\0';) {
    const std::size_t size = std::stoul(bytes.substr(at + 124, 11), nullptr, 8);
    found.push_back({bytes.c_str() + at, bytes.substr(at + kBlock, size), bytes[at + 156]});
    at += kBlock + (size + kBlock - 1) / kBlock * kBlock;
  }
  return found;
}

Entry& find(std::vector<Entry>& entries, std::string_view begin) {
  for (Entry& entry : entries) {
    if (entry.name.starts_with(begin)) return entry;
  }
  throw std::runtime_error("no such entry");
}

std::vector<Entry> with_manifest(std::vector<Entry> entries) {
  json members = json::array();
  for (const Entry& entry : entries) {
    if (entry.name.starts_with("manifest.json")) continue;
    members.push_back({{"path", entry.name}, {"sha256", sha256(entry.bytes)}, {"size", entry.bytes.size()}});
  }
  Entry& manifest = find(entries, "manifest.json");
  manifest.bytes = schema::canonical(
      {{"bundle", 1}, {"created_by", "capbench 0.1.0"}, {"members", members}, {"replaced", json::array()}});
  return entries;
}

std::string altered(const Bundle& bundle, std::string_view begin, std::string_view from, std::string_view to) {
  std::vector<Entry> all = entries(sealed(bundle));
  Entry& entry = find(all, begin);
  const std::size_t at = entry.bytes.find(from);
  if (at == std::string::npos) throw std::runtime_error("nothing to alter: " + std::string(from));
  entry.bytes.replace(at, from.size(), to);
  return archive(with_manifest(std::move(all)));
}

}  // namespace capbench::bundle::testing
