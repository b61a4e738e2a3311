// Out of one store, into another: nothing is lost, nothing comes twice, nothing is overwritten.
#include "schema/bundle/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/digest.h"
#include "schema/bundle/test_bundles.h"
#include "schema/identity.h"
#include "schema/import_writer.h"

namespace capbench::bundle {
namespace {

using schema::OpenMode;
using schema::Store;
using schema::testing::Folder;
using schema::testing::must;
using Kind = IngestOutcome::Kind;

::testing::AssertionResult good(const Status& status) {
  if (status) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << to_string(status.error());
}

class Exchange : public ::testing::Test {
 protected:
  Store open(const std::string& name) { return must(Store::open(folder_ / (name + ".db"), OpenMode::kCreate)); }

  // As if the bundle's content had been measured here, in the order of its lists.
  static void measure(Store& store, const Bundle& bundle) {
    auto writer = must(schema::ImportWriter::begin(store));
    for (const auto& suite : bundle.suites) ASSERT_TRUE(good(writer.put_suite(suite)));
    for (const auto& environment : bundle.environments) ASSERT_TRUE(good(writer.put_environment(environment)));
    for (const auto& closure : bundle.closures) ASSERT_TRUE(good(writer.put_closure(closure)));
    for (const auto& run : bundle.runs) ASSERT_TRUE(good(writer.put_run(run)));
    for (const auto& source : bundle.sources) {
      ASSERT_TRUE(must(writer.put_source(source)));
      const std::string& bytes = bundle.raw.at(source.sha256);
      ASSERT_TRUE(good(writer.put_part(source.sha256, bytes.substr(0, 7))));
      ASSERT_TRUE(good(writer.put_part(source.sha256, bytes.substr(7))));
    }
    for (const auto& row : bundle.quarantine) ASSERT_TRUE(good(writer.put_quarantine(row)));
    const auto raw = [&](const std::string& digest) { return digest.empty() ? "" : bundle.raw.at(digest); };
    for (const auto& trial : bundle.trials) {
      ASSERT_TRUE(
          good(writer.put_trial(trial, raw(trial.stdout_sha256), raw(trial.stderr_sha256), raw(trial.probe_sha256))));
    }
    for (const auto& check : bundle.quality) {
      ASSERT_TRUE(good(writer.put_quality(check, raw(check.stdout_sha256), raw(check.stderr_sha256))));
    }
    ASSERT_TRUE(good(writer.finish()));
  }

  static Sealed all_of(Store& store) {
    Selection selection;
    selection.received = true;
    return must(seal(must(bundle_from(store, selection, "capbench 0.1.0"))));
  }

  static IngestOutcome put(Store& store, const Sealed& sealed, const Provenance& provenance = {}) {
    return must(ingest(store, must(open_bundle(sealed.archive)), sealed.archive, provenance));
  }

  // Every row of the tables that results are in.
  static std::string content(Store& store) {
    std::string text = all_of(store).manifest;
    for (const auto& bundle : must(store.bundles({}))) text += bundle.id + bundle.tier + bundle.withdrawn_at + "\n";
    for (const auto& row : must(store.bundle_trials({}))) text += row.bundle_id + row.trial_id + "\n";
    return text;
  }

  // What replacing personal details may do to a bundle.
  static Bundle redacted(Bundle bundle) {
    const auto replace_raw = [&](std::string& digest) {
      const auto found = bundle.raw.find(digest);
      if (found == bundle.raw.end()) return;
      const std::string bytes = "[redacted] " + found->second;
      digest = sha256(bytes);
      bundle.raw.emplace(digest, bytes);
    };
    const std::map<std::string, std::string> before = bundle.raw;
    for (schema::TrialRecord& trial : bundle.trials) {
      trial.argv = {"llama-bench", "-m", "[home]/tiny.gguf"};
      trial.environment_set.clear();
      trial.reason += " [user]";
      trial.image.clear();
      trial.hygiene = R"({"host":"[host]"})";
      replace_raw(trial.stdout_sha256);
      replace_raw(trial.stderr_sha256);
      replace_raw(trial.probe_sha256);
      for (auto& result : trial.results) result.fields = R"({"model_filename":"[home]/tiny.gguf"})";
    }
    for (schema::QualityRecord& check : bundle.quality) {
      check.argv.clear();
      check.figures = R"({"mean_kl":0.001,"max_kl":0.5,"tool":"[home]/llama-perplexity"})";
      replace_raw(check.stdout_sha256);
    }
    for (schema::ClosureRecord& closure : bundle.closures) {
      for (auto& member : closure.members) member.path = "[home]/" + member.artifact.name;
    }
    for (schema::SourceRecord& source : bundle.sources) {
      const std::string digest = source.sha256;
      replace_raw(source.sha256);
      source.name = "[user].md";
      for (auto& trial : bundle.trials) {
        if (trial.source_sha256 == digest) trial.source_sha256 = source.sha256;
      }
      for (auto& row : bundle.quarantine) row.source_sha256 = source.sha256;
    }
    for (const auto& [digest, bytes] : before) bundle.raw.erase(digest);
    bundle.replaced = {{trial_member(bundle.trials[0]), "home folder", 1}};
    return bundle;
  }

  Folder folder_;
  const Bundle example_ = testing::example();
};

TEST_F(Exchange, AStoreGoesThroughABundleUnchanged) {
  Store origin = open("origin");
  measure(origin, example_);
  const Bundle bundle = must(bundle_from(origin, {}, "capbench 0.1.0"));
  const Sealed sealed = must(seal(bundle));
  Bundle plain = example_;
  plain.replaced.clear();
  EXPECT_EQ(sealed.archive, testing::sealed(plain).archive);  // all that was put in

  Store other = open("other");
  const IngestOutcome outcome = put(other, sealed, {"SHA256:key", "consistent", R"({"checks":[]})", "", "abc"});
  EXPECT_EQ(outcome.kind, Kind::kAdded);
  EXPECT_EQ(outcome.added, static_cast<std::int64_t>(example_.trials.size()));
  EXPECT_EQ(outcome.known, 0);
  EXPECT_EQ(all_of(other).archive, sealed.archive);
  std::map<std::string, std::string> there;
  for (const auto& view : must(other.trials({}))) there[view.trial.id] = schema::testing::describe(view.trial);
  for (const auto& view : must(origin.trials({}))) {
    EXPECT_EQ(there[view.trial.id], schema::testing::describe(view.trial));
  }
  for (const auto& [digest, bytes] : example_.raw) {
    if (digest == example_.sources[0].sha256) continue;
    EXPECT_EQ(must(other.blob(digest)), bytes);
  }
  EXPECT_EQ(must(other.quarantine("")).size(), 2U);
  EXPECT_TRUE(good(other.check_integrity()));

  const auto record = must(other.bundle(sealed.id));
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->archive_sha256, sha256(sealed.archive));
  EXPECT_EQ(record->size, sealed.archive.size());
  EXPECT_EQ(record->signer, "SHA256:key");
  EXPECT_EQ(record->tier, "consistent");
  EXPECT_EQ(record->verdict, R"({"checks":[]})");
  EXPECT_EQ(record->receipt_sha256, "abc");
  EXPECT_EQ(record->received_at.size(), std::string("2026-11-30T04:25:07.123Z").size());
  EXPECT_EQ(record->withdrawn_at, "");
  EXPECT_EQ(must(other.bundle_archive(sealed.id)), sealed.archive);
  EXPECT_EQ(must(other.bundle_trials({sealed.id, {}, {}})).size(), example_.trials.size());
}

TEST_F(Exchange, TwiceChangesNothing) {
  Store store = open("store");
  const Sealed sealed = testing::sealed(example_);
  EXPECT_EQ(put(store, sealed).kind, Kind::kAdded);
  const std::string before = content(store);
  const IngestOutcome again = put(store, sealed);
  EXPECT_EQ(again.kind, Kind::kKnown);
  EXPECT_EQ(again.added, 0);
  EXPECT_EQ(again.known, static_cast<std::int64_t>(example_.trials.size()));
  EXPECT_EQ(content(store), before);
}

TEST_F(Exchange, TheOrderOfMeasuringDoesNotMatter) {
  Store one = open("one");
  measure(one, example_);
  Bundle reversed = example_;
  std::reverse(reversed.trials.begin(), reversed.trials.end());
  Store two = open("two");
  measure(two, reversed);
  EXPECT_EQ(all_of(one).archive, all_of(two).archive);
}

TEST_F(Exchange, OnesOwnRedactedBundleAddsNothing) {
  Store store = open("store");
  measure(store, example_);
  const std::string before = content(store);
  const Sealed sealed = testing::sealed(redacted(example_));
  EXPECT_NE(sealed.id, testing::sealed(example_).id);
  const IngestOutcome outcome = put(store, sealed);
  EXPECT_EQ(outcome.kind, Kind::kOwn);
  EXPECT_EQ(outcome.known, static_cast<std::int64_t>(example_.trials.size()));
  EXPECT_EQ(content(store), before);
  // A server keeps it on record, and still nothing of it is in the results.
  Provenance recorded;
  recorded.record_own = true;
  EXPECT_EQ(put(store, sealed, recorded).kind, Kind::kOwn);
  EXPECT_EQ(must(store.bundles({})).size(), 1U);
  EXPECT_TRUE(must(store.bundle_trials({})).empty());
  EXPECT_EQ(all_of(store).id, must(seal(must(bundle_from(store, {}, "capbench 0.1.0")))).id);
  EXPECT_EQ(must(store.withdraw_bundle(sealed.id, "no longer")), 0);  // what was measured here stays
  EXPECT_EQ(before.find(all_of(store).manifest), 0U);
}

TEST_F(Exchange, ARedactedCopyIsTheSameTrialsElsewhereToo) {
  Store store = open("store");
  put(store, testing::sealed(redacted(example_)));
  const auto trials = must(store.trials({})).size();
  EXPECT_EQ(trials, example_.trials.size());
  const IngestOutcome outcome = put(store, testing::sealed(example_));
  EXPECT_EQ(outcome.kind, Kind::kAdded);
  EXPECT_EQ(outcome.added, 0);
  EXPECT_EQ(must(store.trials({})).size(), trials);
  EXPECT_EQ(must(store.sources()).size(), 1U);
}

TEST_F(Exchange, OtherContentUnderOneIdentityIsRefused) {
  Store store = open("store");
  measure(store, example_);
  const std::string before = content(store);
  const auto conflict = [&](const auto& change) {
    Bundle bundle = example_;
    bundle.replaced.clear();
    change(bundle);
    const IngestOutcome outcome = put(store, testing::sealed(bundle), {"", "consistent", "{}", "", ""});
    EXPECT_EQ(outcome.kind, Kind::kConflict);
    EXPECT_EQ(content(store), before);
    return to_string(outcome.conflict);
  };
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos ? ::testing::AssertionSuccess() : ::testing::AssertionFailure() << text;
  };
  EXPECT_TRUE(has(conflict([](Bundle& b) { b.trials[0].treatment = "unproven"; }), "treatment is \"unproven\""));
  EXPECT_TRUE(has(conflict([](Bundle& b) { b.trials[0].mode = "unlocked"; }), "mode is \"unlocked\""));
  EXPECT_TRUE(has(conflict([](Bundle& b) { b.trials[0].guest = "vm"; }), "guest is \"vm\""));
  EXPECT_TRUE(has(conflict([](Bundle& b) { b.trials[0].model_kind = "real"; }), "model_kind is \"real\""));
  EXPECT_TRUE(has(conflict([](Bundle& b) { b.trials[0].results[1].build = "f (2)"; }), "result 2: build is"));
  EXPECT_TRUE(has(conflict([](Bundle& b) { b.trials[0].capabilities[0].observed = "x"; }), "observed is \"x\""));
  EXPECT_TRUE(has(conflict([](Bundle& b) { b.trials[0].capabilities[0].agrees = false; }), "agrees is \"0\""));
  EXPECT_TRUE(
      has(conflict([](Bundle& b) { b.trials[0].capabilities.pop_back(); }), "1 capability rows, in the store 2"));
  EXPECT_TRUE(has(conflict([](Bundle& b) {
                    for (auto& t : b.trials) {
                      if (!t.stated.empty()) t.stated[0].mean_ts = 99;
                    }
                  }),
                  "mean_ts is \"99\""));
  EXPECT_TRUE(has(conflict([](Bundle& b) {
                    b.trials[0].results[0].samples_ns[0] += 1;
                    b.trials[0].id = schema::trial_id(b.trials[0]);
                  }),
                  "holds another trial"));
  EXPECT_TRUE(has(conflict([](Bundle& b) { b.closures[0].members[1].artifact.size = 99; }), "has 99 bytes"));
  EXPECT_TRUE(has(conflict([](Bundle& b) { b.environments[0].machine_id = "b"; }), "machine is \"b\""));
  EXPECT_TRUE(has(conflict([](Bundle& b) { b.quality[0].status = "wrong"; }), "status is \"wrong\""));
  EXPECT_TRUE(has(conflict([](Bundle& b) { b.quality[0].figures = "{}"; }), "figures is"));
}

TEST_F(Exchange, AFailureLeavesNothing) {
  Store store = open("store");
  const Sealed sealed = testing::sealed(example_);
  const auto refused = ingest(store, must(open_bundle(sealed.archive)), sealed.archive, {"", "splendid", "{}", "", ""});
  ASSERT_FALSE(refused.ok());  // the last thing that is written
  EXPECT_TRUE(must(store.trials({})).empty());
  EXPECT_TRUE(must(store.runs("")).empty());
  EXPECT_TRUE(must(store.sources()).empty());
  EXPECT_TRUE(must(store.bundles({})).empty());
}

TEST_F(Exchange, RawBytesMayBeWithheld) {
  Store origin = open("origin");
  measure(origin, example_);
  Selection selection;
  selection.raw = false;
  const Bundle bundle = must(bundle_from(origin, selection, "capbench 0.1.0"));
  EXPECT_TRUE(bundle.raw.empty());
  EXPECT_EQ(bundle.trials[0].stderr_sha256, sha256(schema::testing::raw_stderr()));
  Store other = open("other");
  EXPECT_EQ(put(other, testing::sealed(bundle)).kind, Kind::kAdded);
  for (const auto& view : must(other.trials({}))) {
    EXPECT_EQ(view.trial.stdout_sha256 + view.trial.stderr_sha256 + view.trial.probe_sha256, "");
  }
  EXPECT_TRUE(good(other.check_integrity()));
}

TEST_F(Exchange, OnlyWhatWasMeasuredHereGoesOutUnlessAsked) {
  Store store = open("store");
  put(store, testing::sealed(example_));
  const auto none = bundle_from(store, {}, "x");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(to_string(none.error()).find("came in bundles of others"), std::string::npos);
  EXPECT_NE(to_string(bundle_from(store, {"no such suite", {}, true, true}, "x").error()).find("no such trial"),
            std::string::npos);
  schema::TrialRecord mine = schema::testing::trial({}, "mine", 0);
  ASSERT_TRUE(good(store.put_trial(mine, schema::testing::raw_stdout(0), schema::testing::raw_stderr())));
  const Bundle bundle = must(bundle_from(store, {"quickstart", {mine.run_id}, false, true}, "x"));
  ASSERT_EQ(bundle.trials.size(), 1U);
  EXPECT_EQ(bundle.trials[0].id, mine.id);
  EXPECT_TRUE(must(open_bundle(testing::sealed(bundle).archive)).bundle.sources.empty());
}

TEST_F(Exchange, TextsThatJsonCannotHoldAreCleaned) {
  Store store = open("store");
  Bundle bundle = testing::small();
  bundle.trials[0].reason = std::string("a\0b\xFF", 4);
  measure(store, bundle);
  EXPECT_EQ(must(bundle_from(store, {}, "x")).trials[0].reason,
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
  EXPECT_EQ(put(store, all_of(store)).kind, Kind::kOwn);
}

TEST_F(Exchange, AnExclusionTravels) {
  Store store = open("store");
  Bundle bundle = example_;
  for (auto& trial : bundle.trials) {
    if (trial.status == "excluded") trial.status_before_exclusion.clear();  // as an old merge would have left it
  }
  measure(store, bundle);
  Store other = open("other");
  put(other, all_of(store));
  const auto views = must(other.trials({}));
  const auto excluded =
      std::find_if(views.begin(), views.end(), [](const auto& view) { return view.trial.status == "excluded"; });
  ASSERT_NE(excluded, views.end());
  EXPECT_EQ(excluded->trial.status_before_exclusion, "ok");
  EXPECT_EQ(excluded->trial.reason, "was ok: the fan stopped");
  // Excluding it later, here or there, makes no conflict.
  ASSERT_TRUE(good(store.exclude_trial(example_.trials[0].id, "noise")));
  EXPECT_EQ(put(other, all_of(store)).added, 0);
}

TEST_F(Exchange, WithdrawingExcludesWhatNobodyElseHolds) {
  Store store = open("store");
  const auto part = [&](std::initializer_list<std::size_t> which) {
    Bundle bundle = example_;
    bundle.replaced.clear();
    bundle.sources.clear();
    bundle.quarantine.clear();
    bundle.quality.clear();
    bundle.trials.clear();
    bundle.raw.clear();
    for (const std::size_t i : which) {
      bundle.trials.push_back(example_.trials[i]);
      for (const std::string& digest : {example_.trials[i].stdout_sha256, example_.trials[i].stderr_sha256}) {
        bundle.raw[digest] = example_.raw.at(digest);
      }
    }
    return testing::sealed(bundle);
  };
  const Sealed first = part({0, 1});
  const Sealed second = part({1, 2});
  // Trial 3 was measured here, and is in the first bundle's run.
  put(store, first);
  const schema::TrialRecord& mine = example_.trials[3];
  ASSERT_TRUE(good(store.put_trial(mine, example_.raw.at(mine.stdout_sha256), example_.raw.at(mine.stderr_sha256),
                                   mine.probe_sha256.empty() ? "" : example_.raw.at(mine.probe_sha256))));
  put(store, second);
  put(store, part({0, 3}));
  const auto status = [&](std::size_t i) {
    for (const auto& view : must(store.trials({}))) {
      if (view.trial.id == example_.trials[i].id) return view.trial.status + "/" + view.trial.reason;
    }
    return std::string("absent");
  };
  EXPECT_EQ(must(store.withdraw_bundle(part({0, 3}).id, "a mistake")), 0);  // 0 is in the first, 3 is ours
  EXPECT_EQ(must(store.withdraw_bundle(first.id, "by its signer")), 1);
  EXPECT_EQ(status(0), "excluded/was ok: withdrawn (bundle " + first.id.substr(0, 12) + "): by its signer");
  EXPECT_EQ(status(1), "ok/");
  EXPECT_EQ(must(store.withdraw_bundle(first.id, "again")), 0);
  EXPECT_EQ(must(store.bundle(first.id))->why, "by its signer");
  EXPECT_NE(must(store.bundle(first.id))->withdrawn_at, "");
  EXPECT_EQ(must(store.withdraw_bundle(second.id, "too")), 2);
  EXPECT_EQ(status(3), "ok/");
  EXPECT_EQ(put(store, first).kind, Kind::kWithdrawn);
  EXPECT_EQ(status(0).substr(0, 8), "excluded");
  EXPECT_FALSE(store.withdraw_bundle("absent", "x").ok());
  schema::BundleFilter standing;
  standing.standing = true;
  EXPECT_TRUE(must(store.bundles(standing)).empty());
  EXPECT_EQ(must(store.bundle_trials({{}, example_.trials[0].id, {}})).size(), 2U);
  EXPECT_EQ(must(store.bundle_trials({{}, {}, mine.run_id})).size(), 5U);
  EXPECT_TRUE(must(store.bundle_trials({first.id, {}, {}})).at(0).withdrawn);
}

TEST_F(Exchange, BundlesAreListedPageByPage) {
  Store store = open("store");
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    Bundle bundle = testing::small();
    bundle.trials[0].block = i;
    bundle.trials[0] = schema::testing::named(bundle.trials[0]);
    const Sealed sealed = testing::sealed(bundle);
    // Two at the same moment.
    put(store, sealed,
        {i % 2 == 0 ? "even" : "odd", "self-reported", "{}", i < 2 ? "2026-01-01" : "2026-01-0" + std::to_string(i),
         ""});
    ids.push_back(sealed.id);
  }
  const auto all = must(store.bundles({}));
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(all[0].id, ids[4]);
  EXPECT_EQ(all[1].id, ids[3]);
  std::vector<std::string> paged;
  schema::BundleFilter page;
  page.limit = 2;
  for (;;) {
    const auto some = must(store.bundles(page));
    if (some.empty()) break;
    for (const auto& bundle : some) paged.push_back(bundle.id);
    page.older_than = some.back().received_at;
    page.older_id = some.back().id;
  }
  std::vector<std::string> want;
  for (const auto& bundle : all) want.push_back(bundle.id);
  EXPECT_EQ(paged, want);
  schema::BundleFilter odd;
  odd.signer = "odd";
  EXPECT_EQ(must(store.bundles(odd)).size(), 2U);
  ASSERT_TRUE(good(store.set_tier(ids[0], "reproduced", R"({"by":"x"})")));
  schema::BundleFilter reproduced;
  reproduced.tier = "reproduced";
  ASSERT_EQ(must(store.bundles(reproduced)).size(), 1U);
  EXPECT_EQ(must(store.bundles(reproduced))[0].verdict, R"({"by":"x"})");
  EXPECT_FALSE(store.set_tier(ids[0], "splendid", "{}").ok());
  EXPECT_FALSE(store.set_tier(ids[0], "consistent", "{").ok());
  EXPECT_FALSE(store.set_tier("absent", "consistent", "{}").ok());
  EXPECT_EQ(must(store.bundle("absent")), std::nullopt);
  EXPECT_EQ(must(store.bundle_archive("absent")), std::nullopt);
}

TEST_F(Exchange, ManyMayIngestAtOnce) {
  { open("store"); }
  const Sealed same = testing::sealed(example_);
  const Opened opened = must(open_bundle(same.archive));
  std::vector<int> added(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < added.size(); ++t) {
    threads.emplace_back([&, t] {
      Store store = open("store");
      for (int i = 0; i < 5; ++i) {
        Bundle bundle = testing::small();
        bundle.trials[0].block = static_cast<std::int64_t>(t + 1) * 100 + i;  // not in the place of another
        bundle.trials[0] = schema::testing::named(bundle.trials[0]);
        added[t] += static_cast<int>(put(store, testing::sealed(bundle)).added);
        added[t] += static_cast<int>(must(ingest(store, opened, same.archive, {})).added);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  int sum = 0;
  for (const int n : added) sum += n;
  EXPECT_EQ(sum, 20 + static_cast<int>(example_.trials.size()));
  Store store = open("store");
  EXPECT_EQ(must(store.bundles({})).size(), 21U);
  EXPECT_TRUE(good(store.check_integrity()));
}

}  // namespace
}  // namespace capbench::bundle
