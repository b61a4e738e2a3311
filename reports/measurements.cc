#include "reports/measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <tuple>
#include <unordered_map>

#include "base/digest.h"
#include "harness/stats/summary.h"
#include "reports/device.h"
#include "schema/measurements.h"

namespace capbench::reports {
namespace {

std::size_t mix(std::size_t seed, std::size_t value) {
  return seed ^ (value + 0x9e3779b97f4a7c15ULL + (seed << 6U) + (seed >> 2U));
}

struct HashIds {
  template <std::size_t N>
  std::size_t operator()(const std::array<std::uint32_t, N>& ids) const {
    std::size_t seed = 0;
    for (const std::uint32_t id : ids) seed = mix(seed, id);
    return seed;
  }
};
// A digest is as good as random.
std::size_t hash_of(const Digest& digest) {
  std::size_t value = 0;
  std::memcpy(&value, digest.data(), sizeof value);
  return value;
}

// The positive speeds of a JSON list of times; nothing if any is none.
bool add_speeds(std::string_view list, std::int64_t tokens, std::vector<double>& out) {
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at != end) {
    if (*at == '-' || (*at >= '0' && *at <= '9')) {
      std::int64_t ns = 0;
      const auto [next, error] = std::from_chars(at, end, ns);
      if (error != std::errc()) return false;
      const double speed = stats::tokens_per_second(tokens, ns);
      if (!(speed > 0)) return false;
      out.push_back(speed);
      at = next;
    } else {
      ++at;
    }
  }
  return true;
}

double median_of(std::vector<double>& scratch, std::span<const double> values) {
  scratch.assign(values.begin(), values.end());
  return stats::median(scratch);
}

// A result before it is known which key it belongs to.
struct Read {
  std::uint32_t launch = 0;
  std::int32_t ordinal = 0;
  Texts::Id test = 0;
  Texts::Id build = 0;
  Texts::Id device = 0;
  std::uint32_t first_sample = 0;
  std::uint32_t n_samples = 0;
  double median_ts = 0;
};

// Results in numbers of texts of its own: they are read beside the trials, by another thread, before it is known which
// trials count.
class Results {
 public:
  void add_settings(std::int64_t id, std::string_view fields) { printed_.emplace(id, fields); }

  void add(const schema::ResultRow& row) {
    if (!(row.median_ts > 0)) return;
    const std::optional<Digest> trial = digest_bytes(row.trial_id);
    if (!trial) return;
    Read read;
    read.first_sample = static_cast<std::uint32_t>(samples_.size());
    if (!add_speeds(row.samples_ns, row.tokens, samples_) || samples_.size() == read.first_sample) {
      samples_.resize(read.first_sample);
      return;
    }
    read.n_samples = static_cast<std::uint32_t>(samples_.size()) - read.first_sample;
    read.median_ts = median_of(scratch_, std::span(samples_).subspan(read.first_sample));
    read.ordinal = static_cast<std::int32_t>(row.ordinal);
    read.test = texts_.add(row.test, tests_[static_cast<std::size_t>(row.ordinal) % tests_.size()]);
    read.build = texts_.add(row.build, last_build_);
    read.device = device_of_row(row);
    trials_.push_back(*trial);
    read_.push_back(read);
  }

  // Calls take(read) for those whose launch, by the digest of its trial, `launch_of` names: in numbers of `texts`,
  // their samples behind those in `samples`.
  template <class LaunchOf, class Take>
  void move_to(Texts& texts, std::vector<double>& samples, const LaunchOf& launch_of, const Take& take) {
    constexpr Texts::Id kUnknown = UINT32_MAX;
    std::vector<Texts::Id> numbers(texts_.size(), kUnknown);
    const auto first = static_cast<std::uint32_t>(samples.size());
    for (std::size_t i = 0; i < read_.size(); ++i) {
      const std::optional<std::uint32_t> launch = launch_of(trials_[i]);
      if (!launch) continue;
      Read read = read_[i];
      read.launch = *launch;
      read.first_sample += first;
      for (Texts::Id* const text : {&read.test, &read.build, &read.device}) {
        if (numbers[*text] == kUnknown) numbers[*text] = texts.add(texts_[*text]);
        *text = numbers[*text];
      }
      take(read);
    }
    if (samples.empty()) {
      samples = std::move(samples_);
    } else {
      samples.insert(samples.end(), samples_.begin(), samples_.end());
    }
    *this = Results();
  }

 private:
  // It follows from what the application printed before it measured, which many rows share.
  Texts::Id device_of_row(const schema::ResultRow& row) {
    const std::array<std::uint32_t, 4> name{texts_.add(row.backends, last_backends_),
                                            texts_.add(row.cpu_info, last_cpu_), texts_.add(row.gpu_info, last_gpu_),
                                            static_cast<std::uint32_t>(row.settings)};
    const bool shared = row.settings != 0;
    if (shared) {
      if (name == last_name_) return last_device_;
      last_name_ = name;
      if (const auto known = devices_.find(name); known != devices_.end()) return last_device_ = known->second;
    }
    schema::ResultRecord result;
    result.backends = row.backends;
    result.cpu_info = row.cpu_info;
    result.gpu_info = row.gpu_info;
    result.fields = row.fields;
    if (const auto printed = printed_.find(row.settings); printed != printed_.end() && printed->second.size() > 2) {
      result.fields = printed->second.substr(0, printed->second.size() - 1) + "," + std::string(row.fields.substr(1));
    }
    const Texts::Id device = texts_.add(device_of(result));
    if (shared) devices_.emplace(name, last_device_ = device);
    return device;
  }

  Texts texts_;
  std::vector<Read> read_;  // without a launch
  std::vector<Digest> trials_;
  std::vector<double> samples_;
  std::vector<double> scratch_;
  std::unordered_map<std::int64_t, std::string> printed_;
  std::unordered_map<std::array<std::uint32_t, 4>, Texts::Id, HashIds> devices_;
  std::array<std::uint32_t, 4> last_name_{};  // of settings that are none at first
  Texts::Id last_device_ = 0;
  std::array<Texts::Id, 4> tests_{};  // by order of printing
  Texts::Id last_build_ = 0;
  Texts::Id last_backends_ = 0;
  Texts::Id last_cpu_ = 0;
  Texts::Id last_gpu_ = 0;
};

// What decides a setting, as read: numbers of texts. The build as the application printed it is of account only where
// the files that it brought are unknown, as of everything that was measured without capbench.
using Origin = std::array<std::uint32_t, 7>;
enum { kClosure, kEnvironment, kArguments, kVariables, kImage, kGuest, kPrintedBuild };

// The files of closures, most of which are of no trial that counts.
class Members {
 public:
  void add(const schema::MemberRow& row) {
    MemberFile member;
    member.closure = texts_.add(row.closure_id, last_closure_);
    member.ordinal = static_cast<std::int32_t>(row.ordinal);
    // The closure before loaded most of the same files in the same order.
    constexpr std::int64_t kMost = 4096;
    const auto place = static_cast<std::size_t>(std::clamp<std::int64_t>(row.ordinal, 0, kMost));
    if (place >= before_.size()) before_.resize(place + 1);
    auto& [name, digest] = before_[place];
    member.role = texts_.add(row.role, last_role_);
    member.name = texts_.add(row.name, name);
    member.sha256 = texts_.add(row.sha256, digest);
    member.folder = texts_.add(folder_of(row.path), last_folder_);
    files_.push_back(member);
  }
  // Those of closures that are `wanted` (by number in `texts`), in numbers of `texts`.
  std::vector<MemberFile> move_to(Texts& texts, const std::vector<char>& wanted) {
    constexpr Texts::Id kUnknown = UINT32_MAX;
    std::vector<Texts::Id> numbers(texts_.size(), kUnknown);
    const auto number = [&](Texts::Id& id) {
      if (numbers[id] == kUnknown) numbers[id] = texts.add(texts_[id]);
      id = numbers[id];
    };
    std::vector<MemberFile> files = std::move(files_);
    std::erase_if(files, [&](MemberFile& file) {
      number(file.closure);
      if (file.closure >= wanted.size() || wanted[file.closure] == 0) return true;
      for (Texts::Id* const text : {&file.role, &file.name, &file.sha256, &file.folder}) number(*text);
      return false;
    });
    return files;
  }

 private:
  Texts texts_;
  std::vector<MemberFile> files_;
  std::vector<std::pair<Texts::Id, Texts::Id>> before_;  // name and digest, by ordinal
  Texts::Id last_closure_ = 0;
  Texts::Id last_role_ = 0;
  Texts::Id last_folder_ = 0;
};

// Sorts by a small number and within it by `before`, stably: what mostly comes in order is not compared all over.
template <class T, class GroupOf, class Before>
void sort_by_groups(std::vector<T>& things, std::size_t groups, const GroupOf& group_of, const Before& before) {
  std::vector<std::uint32_t> next(groups + 1);
  for (const T& thing : things) ++next[group_of(thing) + 1];
  for (std::size_t i = 0; i < groups; ++i) next[i + 1] += next[i];
  std::vector<T> sorted(things.size());
  for (const T& thing : things) sorted[next[group_of(thing)]++] = thing;
  things = std::move(sorted);
  for (std::size_t i = 0; i < things.size();) {
    std::size_t end = i + 1;
    while (end < things.size() && group_of(things[end]) == group_of(things[i])) ++end;
    const auto first = things.begin() + static_cast<std::ptrdiff_t>(i);
    const auto last = things.begin() + static_cast<std::ptrdiff_t>(end);
    if (!std::is_sorted(first, last, before)) std::stable_sort(first, last, before);
    i = end;
  }
}

class Reading {
 public:
  explicit Reading(const MeasurementFilter& filter) : filter_(filter) {}

  Status add(schema::Store& store, std::uint16_t number) {
    store_ = number;
    schema::TrialFilter only;
    only.suite = filter_.suite;
    schema::MeasurementSink sink;
    sink.trial = [this](const schema::TrialRow& row) -> Status {
      add_trial(row);
      return {};
    };
    Results results;
    sink.settings = [&results](std::int64_t id, std::string_view fields) -> Status {
      results.add_settings(id, fields);
      return {};
    };
    sink.result = [&results](const schema::ResultRow& row) -> Status {
      results.add(row);
      return {};
    };
    sink.results_beside = true;
    std::array<Members, 2> members;  // each filled by one thread
    sink.member = [&members](const schema::MemberRow& row) -> Status {
      members[0].add(row);
      return {};
    };
    sink.member_beside = [&members](const schema::MemberRow& row) -> Status {
      members[1].add(row);
      return {};
    };
    if (Status status = store.scan(only, sink); !status) return status;
    // Which trials count is known when all have been seen.
    find_latest();
    take_results(std::move(results));
    const std::vector<char> wanted = find_wanted();
    std::vector<MemberFile> files = members[0].move_to(m_.texts, wanted);
    const std::vector<MemberFile> others = members[1].move_to(m_.texts, wanted);
    files.insert(files.end(), others.begin(), others.end());
    resolve_closures(std::move(files));
    return resolve_environments(store);
  }

  Measurements finish() {
    const auto launch_of = [](const Read& read) { return read.launch; };
    const auto before = [](const Read& a, const Read& b) { return a.ordinal < b.ordinal; };
    sort_by_groups(read_, m_.launches.size(), launch_of, before);
    order_starts();
    tell_builds();
    make_settings();
    make_keys();
    sort_keys();
    sort_measurements();
    drop_samples();
    index_launches();
    return std::move(m_);
  }

 private:
  bool passes(const schema::TrialRow& row) const {
    const auto fits = [](const std::string& wanted, std::string_view is) { return wanted.empty() || wanted == is; };
    return fits(filter_.machine_id, row.machine_id) && fits(filter_.model, row.model) && fits(filter_.arm, row.arm);
  }

  void add_trial(const schema::TrialRow& row) {
    if (!passes(row)) return;
    const std::optional<Digest> digest = digest_bytes(row.id);
    if (!digest) return;
    const auto is = [&](std::uint32_t place) { return m_.launches[place].id == *digest; };
    if (!launch_of_.add(hash_of(*digest), static_cast<std::uint32_t>(m_.launches.size()), is).second) return;
    Launch launch;
    launch.id = *digest;
    launch.store = store_;
    const std::array<std::pair<Texts::Id*, std::string_view>, 17> columns{{{&launch.run, row.run_id},
                                                                           {&launch.suite, row.suite},
                                                                           {&launch.suite_id, row.suite_id},
                                                                           {&launch.machine, row.machine_label},
                                                                           {&launch.machine_id, row.machine_id},
                                                                           {&launch.environment, row.environment_id},
                                                                           {&launch.arm, row.arm},
                                                                           {&launch.mode, row.mode},
                                                                           {&launch.guest, row.guest},
                                                                           {&launch.workload, row.workload},
                                                                           {&launch.model, row.model},
                                                                           {&launch.model_kind, row.model_kind},
                                                                           {&launch.status, row.status},
                                                                           {&launch.reason, row.reason},
                                                                           {&launch.treatment, row.treatment},
                                                                           {&launch.quality, row.quality},
                                                                           {&launch.started, row.started_at}}};
    for (std::size_t i = 0; i < columns.size(); ++i) *columns[i].first = m_.texts.add(columns[i].second, last_[i]);
    launch.block = static_cast<std::int32_t>(row.block);
    launch.attempt = static_cast<std::int32_t>(row.attempt);
    const Origin origin{m_.texts.add(row.closure_id, last_[17]),
                        launch.environment,
                        m_.texts.add(row.argv, last_[18]),
                        m_.texts.add(row.environment_set, last_[19]),
                        m_.texts.add(row.image, last_[20]),
                        launch.guest,
                        0};
    launch.origin = number_of(origin);
    m_.launches.push_back(launch);
  }

  std::uint32_t number_of(const Origin& origin) {
    const auto is = [&](std::uint32_t place) { return origins_[place] == origin; };
    const auto place = origin_of_.add(HashIds{}(origin), static_cast<std::uint32_t>(origins_.size()), is).first;
    if (place == origins_.size()) origins_.push_back(origin);
    return place;
  }

  // Where a launch stands in its plan.
  static std::array<std::uint32_t, 5> place_of(const Launch& launch) {
    return {launch.run, launch.arm, launch.workload, launch.model, static_cast<std::uint32_t>(launch.block)};
  }

  // Of each place in a plan the last attempt, whatever became of it.
  void find_latest() {
    for (std::uint32_t i = latest_done_; i < m_.launches.size(); ++i) {
      Launch& launch = m_.launches[i];
      const std::array<std::uint32_t, 5> place = place_of(launch);
      const auto is = [&](std::uint32_t group) { return place_of(m_.launches[latest_of_[group]]) == place; };
      const auto [group, is_new] = latest_.add(HashIds{}(place), static_cast<std::uint32_t>(latest_of_.size()), is);
      if (is_new) {
        latest_of_.push_back(i);
      } else {
        Launch& other = m_.launches[latest_of_[group]];
        if (launch.attempt <= other.attempt) continue;
        other.latest = false;
        latest_of_[group] = i;
      }
      launch.latest = true;
    }
    latest_done_ = static_cast<std::uint32_t>(m_.launches.size());
  }

  bool may_count(const Launch& launch) const {
    return launch.latest && launch.block >= 0 && m_.texts[launch.status] == "ok" &&
           m_.texts[launch.treatment] != "invalid";
  }

  void take_results(Results results) {
    const auto launch_of = [&](const Digest& trial) -> std::optional<std::uint32_t> {
      const std::optional<std::uint32_t> place = launch_named(trial);
      if (!place) return std::nullopt;
      const Launch& launch = m_.launches[*place];
      if (launch.store != store_ || !may_count(launch)) return std::nullopt;
      return place;
    };
    results.move_to(m_.texts, m_.samples, launch_of, [&](const Read& read) { read_.push_back(read); });
  }

  // Results mostly come as their trials did, those of one after another.
  std::optional<std::uint32_t> launch_named(const Digest& digest) {
    for (const std::uint32_t guess : {last_launch_, last_launch_ + 1}) {
      if (guess < m_.launches.size() && m_.launches[guess].id == digest) return last_launch_ = guess;
    }
    const auto is = [&](std::uint32_t place) { return m_.launches[place].id == digest; };
    const std::uint32_t found = launch_of_.find(hash_of(digest), is);
    if (found == PlaceIndex::kNone) return std::nullopt;
    return last_launch_ = found;
  }

  // Closures of what counts, by number.
  std::vector<char> find_wanted() const {
    std::vector<char> wanted(m_.texts.size(), 0);
    for (const Read& read : read_) wanted[origins_[m_.launches[read.launch].origin][kClosure]] = 1;
    return wanted;
  }

  void resolve_closures(std::vector<MemberFile> members) {
    const auto closure_of = [](const MemberFile& file) { return file.closure; };
    const auto before = [](const MemberFile& a, const MemberFile& b) { return a.ordinal < b.ordinal; };
    sort_by_groups(members, m_.texts.size(), closure_of, before);
    for (std::size_t i = 0; i < members.size();) {
      std::size_t end = i;
      while (end < members.size() && members[end].closure == members[i].closure) ++end;
      const auto [place, is_new] = files_.try_emplace(members[i].closure);
      if (is_new) {
        SettingParts parts;
        add_files(std::span(members).subspan(i, end - i), m_.texts, parts);
        place->second = put(std::move(parts), m_.parts);
      }
      i = end;
    }
  }

  Status resolve_environments(schema::Store& store) {
    for (const Read& read : read_) {
      const Launch& launch = m_.launches[read.launch];
      if (launch.store != store_ || launch.environment == 0) continue;
      const bool is_guest = launch.guest != 0;
      const auto [place, is_new] = facts_.try_emplace({launch.environment, is_guest});
      if (!is_new) continue;
      auto found = store.environment(m_.texts[launch.environment]);
      if (!found) return std::move(found).error();
      if (!*found) continue;
      SettingParts parts;
      add_facts((*found)->json, is_guest, m_.texts, parts);
      place->second = put(std::move(parts), m_.parts);
      m_.systems[launch.environment] = system_of(m_.parts[place->second.system]);
    }
    return {};
  }

  std::string system_of(const Parts& parts) const {
    const auto fact = [&](std::string_view name) {
      const auto found =
          std::find_if(parts.begin(), parts.end(), [&](const auto& part) { return m_.texts[part.first] == name; });
      return found == parts.end() ? std::string() : m_.texts[found->second];
    };
    std::string system = fact("os_release").empty() ? fact("os") : fact("os_release");
    const std::string version = fact("os_build").empty() ? fact("kernel") : fact("os_build");
    if (!version.empty()) system = system.empty() ? version : system + " (" + version + ")";
    return system;
  }

  // Numbers are compared faster than texts.
  void order_starts() {
    std::vector<Texts::Id> starts;
    for (const Launch& launch : m_.launches) starts.push_back(launch.started);
    std::sort(starts.begin(), starts.end());
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    std::sort(starts.begin(), starts.end(), [&](Texts::Id a, Texts::Id b) { return m_.texts[a] < m_.texts[b]; });
    std::vector<std::uint32_t> order(m_.texts.size());
    for (std::uint32_t i = 0; i < starts.size(); ++i) order[starts[i]] = i;
    for (Launch& launch : m_.launches) launch.order = order[launch.started];
  }

  // Of what brought no files that are known, the build is what its results say. A launch's results are of one build.
  void tell_builds() {
    std::vector<char> has_files;
    for (const Origin& origin : origins_) {
      const auto files = files_.find(origin[kClosure]);
      has_files.push_back(files != files_.end() && files->second.build != 0 ? 1 : 0);
    }
    for (const Read& read : read_) {
      Launch& launch = m_.launches[read.launch];
      const bool is_told = launch.origin >= has_files.size();  // by an earlier result of the launch
      if (is_told || has_files[launch.origin] != 0 || read.build == 0) continue;
      Origin origin = origins_[launch.origin];
      origin[kPrintedBuild] = read.build;
      launch.origin = number_of(origin);
    }
  }

  void make_settings() {
    const Texts::Id build = m_.texts.add("build");
    const Texts::Id arguments = m_.texts.add("arguments");
    const Texts::Id variables = m_.texts.add("variables set");
    const Texts::Id image = m_.texts.add("guest image");
    std::unordered_map<Texts::Id, Texts::Id> words;  // argv, as a part
    std::unordered_map<Texts::Id, Texts::Id> assignments;
    const auto part = [&](std::unordered_map<Texts::Id, Texts::Id>& known, Texts::Id list, bool skip_first) {
      const auto [place, is_new] = known.try_emplace(list);
      if (is_new) place->second = m_.texts.add(without_folders(m_.texts[list], skip_first));
      return place->second;
    };
    std::map<std::array<std::uint32_t, 4>, std::uint32_t> treatments;
    for (const Origin& origin : origins_) {
      Setting setting;
      const auto files = files_.find(origin[kClosure]);
      const Setting loaded = files == files_.end() ? Setting{} : files->second;
      const auto facts = facts_.find({origin[kEnvironment], origin[kGuest] != 0});
      const Setting known = facts == facts_.end() ? Setting{} : facts->second;
      setting.build = origin[kPrintedBuild] == 0 ? loaded.build : m_.parts.add(Parts{{build, origin[kPrintedBuild]}});
      setting.machine = known.machine;
      setting.system = both(loaded.system, known.system);
      const Texts::Id argv = part(words, origin[kArguments], true);
      const Texts::Id set = part(assignments, origin[kVariables], false);
      const auto [place, is_new] = treatments.try_emplace({loaded.treatment, argv, set, origin[kImage]});
      if (is_new) {
        Parts all = m_.parts[loaded.treatment];
        all.emplace_back(arguments, argv);
        all.emplace_back(variables, set);
        all.emplace_back(image, origin[kImage]);
        place->second = m_.parts.add(std::move(all));
      }
      setting.treatment = place->second;
      m_.settings.push_back(setting);
      m_.closures.push_back(origin[kClosure]);
    }
    fill_unseen();
  }

  // The parts of two, which have no name in common.
  std::uint32_t both(std::uint32_t a, std::uint32_t b) {
    if (a == 0) return b;
    if (b == 0) return a;
    const auto [place, is_new] = unions_.try_emplace({a, b});
    if (is_new) place->second = m_.parts.add(merged(m_.parts[a], m_.parts[b]));
    return place->second;
  }

  // What some of these settings show and none contradicts holds for all.
  void share(const std::vector<std::uint32_t>& origins, std::uint32_t Setting::*part) {
    std::vector<std::uint32_t> distinct;
    for (const std::uint32_t origin : origins) distinct.push_back(m_.settings[origin].*part);
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    if (distinct.size() < 2) return;
    std::unordered_map<Texts::Id, std::pair<Texts::Id, bool>> seen;  // name -> value, and whether it is the only one
    for (const std::uint32_t number : distinct) {
      for (const auto& [name, value] : m_.parts[number]) {
        const auto [place, is_new] = seen.try_emplace(name, value, true);
        if (!is_new && place->second.first != value) place->second.second = false;
      }
    }
    Parts agreed;
    for (const auto& [name, value] : seen) {
      if (value.second) agreed.emplace_back(name, value.first);
    }
    std::unordered_map<std::uint32_t, std::uint32_t> filled;
    for (const std::uint32_t number : distinct) filled[number] = m_.parts.add(merged(m_.parts[number], agreed));
    for (const std::uint32_t origin : origins) m_.settings[origin].*part = filled[m_.settings[origin].*part];
  }

  // A process that ends soon may be gone before the libraries it mapped were seen, so trials of one executable in one
  // environment with the same arguments tell of each other. Whether a build needs a library of the system is a matter
  // of the build: builds in one environment differ in their system only if they loaded different files of one name.
  void fill_unseen() {
    std::vector<char> counts(origins_.size());
    for (const Read& read : read_) counts[m_.launches[read.launch].origin] = 1;
    std::unordered_map<std::uint32_t, Texts::Id> executables;  // by build
    const auto executable_of = [&](std::uint32_t build) {
      const auto [place, is_new] = executables.try_emplace(build);
      if (is_new) {
        for (const auto& [name, digest] : m_.parts[build]) {
          if (m_.texts[name].starts_with("executable ")) place->second = digest;
        }
      }
      return place->second;
    };
    std::map<std::array<std::uint32_t, 4>, std::vector<std::uint32_t>> by_executable;
    std::map<std::array<std::uint32_t, 3>, std::vector<std::uint32_t>> by_environment;
    for (std::uint32_t i = 0; i < origins_.size(); ++i) {
      if (counts[i] == 0) continue;
      const Texts::Id executable = executable_of(m_.settings[i].build);
      if (executable == 0) continue;
      const Origin& origin = origins_[i];
      const std::uint32_t treatment = m_.settings[i].treatment;
      by_executable[{origin[kEnvironment], origin[kGuest], treatment, executable}].push_back(i);
      by_environment[{origin[kEnvironment], origin[kGuest], treatment}].push_back(i);
    }
    for (const auto& [same, origins] : by_executable) {
      share(origins, &Setting::build);
      share(origins, &Setting::system);
    }
    for (const auto& [same, origins] : by_environment) share(origins, &Setting::system);
  }

  void make_keys() {
    std::unordered_map<std::array<std::uint32_t, 11>, std::uint32_t, HashIds> numbers;
    std::vector<std::uint32_t> lone_names;
    m_.all.reserve(read_.size());
    for (std::size_t i = 0; i < read_.size(); ++i) {
      const Read& read = read_[i];
      const Texts::Id test = name_of_test(i);
      if (!filter_.test.empty() && m_.texts[read.test] != filter_.test) continue;
      Launch& launch = m_.launches[read.launch];
      if (!may_count(launch)) continue;  // another store has a later attempt
      const std::array<std::uint32_t, 11> name{
          launch.suite,    launch.machine, launch.machine_id, read.device,  launch.model, launch.model_kind,
          launch.workload, launch.arm,     launch.mode,       launch.guest, test};
      const auto [place, is_new] = numbers.try_emplace(name, static_cast<std::uint32_t>(m_.keys.size()));
      if (is_new) {
        SeriesKey key;
        const std::array<std::string*, 11> texts{&key.suite, &key.machine,    &key.machine_id, &key.device,
                                                 &key.model, &key.model_kind, &key.workload,   &key.arm,
                                                 &key.mode,  &key.guest,      &key.test};
        for (std::size_t t = 0; t < texts.size(); ++t) *texts[t] = m_.texts[name[t]];
        m_.keys.push_back(std::move(key));
      }
      launch.counts = true;
      m_.all.push_back(
          {place->second, read.launch, read.build, read.first_sample, read.n_samples, true, read.median_ts});
    }
  }

  // "pp512"; where the process printed it before, "pp512 #2".
  Texts::Id name_of_test(std::size_t i) {
    std::size_t repeat = 1;
    for (std::size_t j = i; j > 0 && read_[j - 1].launch == read_[i].launch; --j) {
      if (read_[j - 1].test == read_[i].test) ++repeat;
    }
    return repeat == 1 ? read_[i].test : m_.texts.add(fmt::format("{} #{}", m_.texts[read_[i].test], repeat));
  }

  void sort_keys() {
    std::vector<std::uint32_t> order(m_.keys.size());
    for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return m_.keys[a] < m_.keys[b]; });
    std::vector<std::uint32_t> place(order.size());
    std::vector<SeriesKey> sorted;
    sorted.reserve(order.size());
    for (const std::uint32_t old : order) {
      place[old] = static_cast<std::uint32_t>(sorted.size());
      sorted.push_back(std::move(m_.keys[old]));
    }
    m_.keys = std::move(sorted);
    for (Measurement& one : m_.all) one.key = place[one.key];
  }

  void sort_measurements() {
    m_.first_of_key.assign(m_.keys.size() + 1, 0);
    for (const Measurement& one : m_.all) ++m_.first_of_key[one.key + 1];
    for (std::size_t k = 0; k < m_.keys.size(); ++k) m_.first_of_key[k + 1] += m_.first_of_key[k];
    std::vector<Measurement> sorted(m_.all.size());
    std::vector<std::uint32_t> next(m_.first_of_key.begin(), m_.first_of_key.end());
    for (const Measurement& one : m_.all) sorted[next[one.key]++] = one;
    m_.all = std::move(sorted);
    const auto before = [&](const Measurement& a, const Measurement& b) {
      const Launch& x = m_.launches[a.launch];
      const Launch& y = m_.launches[b.launch];
      if (x.environment != y.environment) return x.environment < y.environment;
      if (a.build != b.build) return a.build < b.build;
      if (x.order != y.order) return x.order < y.order;
      return x.id < y.id;
    };
    for (std::size_t k = 0; k < m_.keys.size(); ++k) {
      std::sort(m_.all.begin() + m_.first_of_key[k], m_.all.begin() + m_.first_of_key[k + 1], before);
    }
  }

  // The samples of a process say something of their own only where it is the only one of a point. Another of the same
  // run and origin is in the same point on every axis.
  void drop_samples() {
    std::vector<double> kept;
    std::unordered_map<std::array<std::uint32_t, 2>, std::uint32_t, HashIds> beside;
    for (std::size_t k = 0; k < m_.keys.size(); ++k) {
      beside.clear();
      const auto place = [&](const Measurement& one) {
        const Launch& launch = m_.launches[one.launch];
        return std::array<std::uint32_t, 2>{launch.run, launch.origin};
      };
      for (std::uint32_t i = m_.first_of_key[k]; i < m_.first_of_key[k + 1]; ++i) ++beside[place(m_.all[i])];
      for (std::uint32_t i = m_.first_of_key[k]; i < m_.first_of_key[k + 1]; ++i) {
        Measurement& one = m_.all[i];
        one.has_samples = beside[place(one)] == 1;
        if (!one.has_samples) continue;
        const auto first = m_.samples.begin() + one.first_sample;
        one.first_sample = static_cast<std::uint32_t>(kept.size());
        kept.insert(kept.end(), first, first + one.n_samples);
      }
    }
    m_.samples = std::move(kept);
    m_.samples.shrink_to_fit();
  }

  void index_launches() {
    m_.first_of_launch.assign(m_.launches.size() + 1, 0);
    for (const Measurement& one : m_.all) ++m_.first_of_launch[one.launch + 1];
    for (std::size_t i = 0; i < m_.launches.size(); ++i) m_.first_of_launch[i + 1] += m_.first_of_launch[i];
    m_.of_launch.resize(m_.all.size());
    std::vector<std::uint32_t> next(m_.first_of_launch.begin(), m_.first_of_launch.end());
    for (std::uint32_t i = 0; i < m_.all.size(); ++i) m_.of_launch[next[m_.all[i].launch]++] = i;
    m_.launch_by_id.resize(m_.launches.size());
    for (std::uint32_t i = 0; i < m_.launch_by_id.size(); ++i) m_.launch_by_id[i] = i;
    std::sort(m_.launch_by_id.begin(), m_.launch_by_id.end(),
              [&](std::uint32_t a, std::uint32_t b) { return m_.launches[a].id < m_.launches[b].id; });
  }

  const MeasurementFilter& filter_;
  Measurements m_;
  std::uint16_t store_ = 0;
  std::array<Texts::Id, 21> last_{};  // of each column
  std::vector<Read> read_;
  PlaceIndex launch_of_;                  // places in m_.launches, by id
  PlaceIndex latest_;                     // places in latest_of_, by place in the plan
  std::vector<std::uint32_t> latest_of_;  // the launch that is its last attempt so far
  std::uint32_t latest_done_ = 0;
  PlaceIndex origin_of_;  // places in origins_
  std::vector<Origin> origins_;
  std::uint32_t last_launch_ = 0;
  std::unordered_map<Texts::Id, Setting> files_;         // by closure
  std::map<std::pair<Texts::Id, bool>, Setting> facts_;  // by environment and whether a guest ran there
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> unions_;
};

}  // namespace

std::optional<Digest> digest_bytes(std::string_view hex) {
  if (!is_sha256(hex)) return std::nullopt;
  const auto value = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(value(hex[2 * i]) << 4U | value(hex[2 * i + 1]));
  }
  return digest;
}

std::string digest_hex(const Digest& digest) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

const Launch* Measurements::find(const Digest& id) const {
  const auto found = std::lower_bound(launch_by_id.begin(), launch_by_id.end(), id,
                                      [&](std::uint32_t place, const Digest& d) { return launches[place].id < d; });
  return found == launch_by_id.end() || launches[*found].id != id ? nullptr : &launches[*found];
}

Result<Measurements> read_measurements(std::span<schema::Store* const> stores, const MeasurementFilter& filter) {
  Reading reading(filter);
  for (std::size_t i = 0; i < stores.size(); ++i) {
    if (Status status = reading.add(*stores[i], static_cast<std::uint16_t>(i)); !status) {
      return std::move(status).error();
    }
  }
  return reading.finish();
}

}  // namespace capbench::reports
