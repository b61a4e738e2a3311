#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>

#include "harness/target/frame.h"
#include "harness/target/job_script.h"
#include "harness/target/mapped_files.h"

namespace capbench::target {
namespace {

struct End {
  std::map<std::string, std::string> values;  // the last of each name
  std::int64_t peak_kib = 0;                  // of the "VmHWM: N kB" lines
  bool is_whole = false;
};

std::int64_t number_in(std::string_view text) {
  const std::size_t from = text.find_first_of("0123456789");
  if (from == std::string_view::npos) return 0;
  std::int64_t value = 0;
  std::from_chars(text.data() + from, text.data() + text.size(), value);
  return value;
}

End read_end(std::string_view text, std::string_view nonce) {
  End end;
  std::string_view last;
  while (!text.empty()) {
    const std::size_t at = text.find('\n');
    if (at == std::string_view::npos) return end;  // cut in the middle of a line
    const std::string_view line = text.substr(0, at);
    text.remove_prefix(at + 1);
    last = line;
    if (line.starts_with("VmHWM:")) end.peak_kib = std::max(end.peak_kib, number_in(line));
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos) end.values[std::string(line.substr(0, equals))] = line.substr(equals + 1);
  }
  end.is_whole = last == nonce;
  return end;
}

std::int64_t value_of(const End& end, const char* name) {
  const auto found = end.values.find(name);
  return found == end.values.end() ? 0 : number_in(found->second);
}

// "12056.71" as nanoseconds.
std::int64_t uptime_ns(const End& end, const char* name) {
  const auto found = end.values.find(name);
  if (found == end.values.end()) return 0;
  double seconds = 0;
  const std::string& text = found->second;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return seconds >= 0 && seconds < 1e9 ? static_cast<std::int64_t>(seconds * 1e9) : 0;
}

void add_maps(std::string_view text, std::set<std::string>& files) {
  collect_mapped_files(text, files);
  // lsof's lines: one field each, `n` before a name.
  while (!text.empty()) {
    const std::size_t at = text.find('\n');
    const std::string_view line = text.substr(0, at);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
    if (line.starts_with("n/")) files.emplace(line.substr(1));
  }
}

// The look at the first result counts, and what came after it. Before it, things may be mapped and gone again (see
// local jobs); without it (a program that was gone too soon) the last look before counts.
std::vector<std::string> mapped_files(const std::map<std::string, std::string>& files) {
  constexpr std::string_view kBefore = "maps.before.";
  std::set<std::string> mapped;
  std::set<std::string> before;
  std::int64_t last_before = -1;
  for (const auto& [name, text] : files) {
    if (name == "maps.first" || name.starts_with("maps.after.")) add_maps(text, mapped);
    if (!name.starts_with(kBefore)) continue;
    std::set<std::string> now;
    add_maps(text, now);
    const std::int64_t number = number_in(std::string_view(name).substr(kBefore.size()));
    if (now.empty() || number < last_before) continue;
    last_before = number;
    before = std::move(now);
  }
  if (mapped.empty()) mapped = std::move(before);
  return {mapped.begin(), mapped.end()};
}

}  // namespace

JobResult read_job(const std::map<std::string, std::string>& files, const JobPlace& place, const Job& job) {
  JobResult result;
  const auto text = [&](const char* name) {
    const auto found = files.find(name);
    return found == files.end() ? std::string() : found->second;
  };
  result.out = text("out").substr(0, job.max_output_bytes);
  result.err = text("err").substr(0, job.max_output_bytes);
  result.mapped_files = mapped_files(files);
  const End end = read_end(text("end"), place.nonce);
  if (!end.is_whole) {
    result.ending = Ending::kLost;
    result.reason = "the job left no end that is whole";
    return result;
  }
  result.user_ns = value_of(end, "user_ns");
  result.system_ns = value_of(end, "system_ns");
  result.wall_ns = value_of(end, "wall_ns");
  if (result.wall_ns == 0) {
    result.wall_ns = std::max(uptime_ns(end, "finish") - uptime_ns(end, "begin"), std::int64_t{0});
  }
  result.max_rss_bytes = std::max(value_of(end, "rss"), end.peak_kib * 1024);
  const auto status = static_cast<int>(value_of(end, "status"));
  if (end.values.contains("signal")) {
    result.ending = Ending::kSignaled;
    result.signal = static_cast<int>(value_of(end, "signal"));
  } else if (!end.values.contains("exit") && status > 128) {
    result.ending = Ending::kSignaled;
    result.signal = status - 128;
  } else {
    result.ending = Ending::kExited;
    result.exit_status = end.values.contains("exit") ? static_cast<int>(value_of(end, "exit")) : status;
  }
  if (const std::string why = text("not_started"); !why.empty() && result.ending == Ending::kExited) {
    result.ending = Ending::kNotStarted;
    result.reason = last_line(why);
    return result;
  }
  const auto why = end.values.find("why");
  if (why == end.values.end()) return result;
  if (why->second == "timeout") {
    // One that ended by itself in time is in time, though the clock struck while it did.
    const bool in_time =
        result.ending == Ending::kExited && result.wall_ns > 0 && result.wall_ns <= job.time_limit.count();
    if (!in_time) result.ending = Ending::kTimedOut;
  } else if (why->second == "flood") {
    result.ending = Ending::kFlooded;
  } else if (why->second == "stopped") {
    result.ending = Ending::kInterrupted;
  } else {
    result.ending = Ending::kLost;
    result.reason = why->second == "silence"
                        ? "the target heard nothing from the harness for too long and ended the job"
                        : "the connection closed while the job ran";
  }
  return result;
}

}  // namespace capbench::target
