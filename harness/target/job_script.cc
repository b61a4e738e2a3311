#include "harness/target/job_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "harness/target/frame.h"
#include "harness/target/shell.h"

namespace capbench::target {
namespace {

using std::chrono::milliseconds;

bool is_shell_name(std::string_view name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

// Read-only or computed in some shell; an assignment would fail or not arrive.
bool is_shells_own(std::string_view name) {
  constexpr std::array<std::string_view, 21> kOwn{
      "_",       "PWD",    "OLDPWD",   "SHLVL",         "PPID",      "UID",    "EUID",
      "GID",     "EGID",   "IFS",      "PS4",           "OPTIND",    "OPTARG", "RANDOM",
      "SECONDS", "LINENO", "BASHOPTS", "BASH_VERSINFO", "SHELLOPTS", "GROUPS", "DIRSTACK"};
  return std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end();
}

Error cannot(std::string what, std::string cause, std::string remedy) {
  return Error{ErrorKind::kUsage, std::move(what), std::move(cause), std::move(remedy)};
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

// Seconds as sleep(1) takes them.
std::string seconds_text(milliseconds time) {
  return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
}

// When to look while the program loads: close together at first, then rarely. The sum never exceeds `left`, which gets
// smaller.
std::vector<milliseconds> first_naps(milliseconds& left, milliseconds longest) {
  constexpr std::array<int, 8> kNaps{50, 150, 300, 500, 1000, 2000, 4000, 8000};
  std::vector<milliseconds> naps;
  for (const int nap : kNaps) {
    if (milliseconds(nap) > left || milliseconds(nap) > longest) break;
    naps.emplace_back(nap);
    left -= milliseconds(nap);
  }
  return naps;
}

// The program that waits for the program: exact wait status, monotonic time, and getrusage where its number is known.
// It holds no single quote. What it must tell is written before it tries what might not work everywhere.
constexpr std::string_view kReaper = R"pl(
my $start = Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC());
my $pid = fork;
defined $pid or exit 125;
if (!$pid) {
  POSIX::setpgid(0, 0);
  $SIG{$_} = "DEFAULT" for grep { !/^(KILL|STOP|NUM\d+|RT.*|__.*)$/ } keys %SIG;
  exec {"/bin/sh"} "/bin/sh", "./launch.sh" or POSIX::_exit(127);
}
$SIG{$_} = "IGNORE" for qw(TERM INT HUP);
1 while waitpid($pid, 0) < 0 && $!{EINTR};
my $status = $?;
my $wall = Time::HiRes::clock_gettime(Time::HiRes::CLOCK_MONOTONIC()) - $start;
my (undef, undef, $user, $system) = times;
open(my $file, ">", "reaped") or exit 125;
printf $file "%s\nwall_ns=%.0f\nuser_ns=%.0f\nsystem_ns=%.0f\n",
  $status & 127 ? "signal=" . ($status & 127) : "exit=" . ($status >> 8), $wall * 1e9, $user * 1e9, $system * 1e9;
close($file);
my %number = (x86_64 => 98, aarch64 => 165, riscv64 => 165);
my $call = $^O eq "linux" ? $number{(POSIX::uname())[4]} : $^O eq "darwin" ? 117 : undef;
if ($call && length(pack("p", 0)) == 8) {
  my $usage = "\0" x 256;
  if (syscall($call, -1, $usage) == 0) {
    my ($us, $uu, $ss, $su, $rss) = unpack("q l x4 q l x4 q", $usage);
    open($file, ">>", "reaped") or exit 0;
    printf $file "user_ns=%d\nsystem_ns=%d\nrss=%d\n", $us * 1e9 + $uu * 1e3, $ss * 1e9 + $su * 1e3,
      $^O eq "linux" ? $rss * 1024 : $rss;
    close($file);
  }
}
)pl";

// Shell functions that job.sh and the collecting script share. `nonce` is set. Processes are found by the variable
// that all of them inherit, so it does not matter who their parent is by now.
constexpr std::string_view kProcessFunctions = R"sh(
nap() { sleep "$1" 2>/dev/null || sleep 1; }
marked() {
if [ -r /proc/self/environ ]; then
grep -ls "CAPBENCH_JOB=$nonce" /proc/[0-9]*/environ 2>/dev/null | sed 's|^/proc/||; s|/environ$||'
else
ps -A -E -ww -o pid= -o command= 2>/dev/null | grep "CAPBENCH_JO[B]=$nonce" | sed 's/^ *//; s/ .*$//'
fi
}
end_all() {
i=0
while found=$(marked); [ -n "$found" ] && [ $i -lt "$1" ]; do
[ $i -gt 0 ] || kill -TERM $found 2>/dev/null
nap 0.05
i=$((i + 1))
done
i=0
while found=$(marked); [ -n "$found" ] && [ $i -lt 100 ]; do
kill -KILL $found 2>/dev/null
nap 0.05
i=$((i + 1))
done
}
)sh";

// Ends the job in the current folder if it runs; waits until it has written its end.
constexpr std::string_view kEndJob = R"sh(
supervised() {
[ -n "$sup" ] || return 1
{ tr '\0' ' ' <"/proc/$sup/cmdline" || ps -o args= -p "$sup"; } 2>/dev/null | grep -q "$nonce/job\.sh"
}
if [ ! -e end ]; then
sup=
[ ! -r sup ] || read -r sup <sup
[ -e why ] || echo stopped >why
here=$(readlink /proc/self/ns/pid 2>/dev/null)
there=
[ ! -s ns ] || read -r there <ns
if [ -n "$sup" ] && [ "$here" != "$there" ]; then
# The numbers of another container mean nothing here. It ends when its stdin does.
i=0
while [ ! -e end ] && [ $i -lt 100 ]; do
nap 0.05
i=$((i + 1))
done
elif supervised; then
i=0
while supervised && [ ! -e end ] && [ $i -lt 100 ]; do
kill -TERM "$sup" 2>/dev/null
nap 0.05
i=$((i + 1))
done
if supervised && [ ! -e end ]; then kill -KILL "$sup" 2>/dev/null; fi
fi
end_all 0
fi
)sh";

}  // namespace

Result<std::string> launch_script(const Job& job, const JobPlace& place) {
  if (job.argv.empty() || !job.argv.front().starts_with('/')) {
    return cannot("the job's program \"" + (job.argv.empty() ? std::string() : job.argv.front()) + "\"",
                  "is no absolute path", "name it as it is on the target, from `/` on");
  }
  std::string unset;
  for (const std::string& name : job.unset_env) {
    if (!is_shell_name(name)) return cannot("variable \"" + name + "\"", "is no name for a shell", "choose another");
    unset += " " + name;
  }
  std::string assignments;
  for (const std::string& entry : job.set_env) {
    const std::size_t at = entry.find('=');
    const std::string name = entry.substr(0, at);
    if (at == std::string::npos || !is_shell_name(name) || is_shells_own(name)) {
      return cannot("variable \"" + name + "\"", "cannot be set by a shell script on the target",
                    "use letters, digits and `_`, and no name that the shell keeps for itself");
    }
    if (has_nul(entry)) return cannot("variable " + name, "holds a NUL byte", "remove it");
    assignments += name + "=" + quote(std::string_view(entry).substr(at + 1)) + " ";
  }
  std::string words;
  for (const std::string& word : job.argv) {
    if (has_nul(word)) return cannot("an argument of the job", "holds a NUL byte", "remove it");
    words += " " + quote(word);
  }
  const std::string program = quote(job.argv.front());
  const std::string folder = quote(job.working_dir.empty() ? place.folder + "/cwd" : job.working_dir);
  return "cd " + folder + " 2>/dev/null || { echo 'its working folder is not there' >" + quote(place.folder) +
         "/not_started; exit 127; }\n" +  //
         "[ -f " + program + " ] || { echo 'No such file or directory' >" + quote(place.folder) +
         "/not_started; exit 127; }\n" +  //
         "[ -x " + program + " ] || { echo 'Permission denied' >" + quote(place.folder) +
         "/not_started; exit 126; }\n" +  //
         "echo $$ >" + quote(place.folder) + "/pid\n" +
         "unset _ PWD OLDPWD SHLVL MAIL TERM COLUMNS LINES SSH_CLIENT SSH_CONNECTION SSH_TTY SSH_AUTH_SOCK "
         "SSH_ORIGINAL_COMMAND SSH_USER_AUTH XDG_SESSION_ID XDG_SESSION_CLASS XDG_SESSION_TYPE" +
         unset + "\n" + "CAPBENCH_JOB=" + place.nonce + " " + assignments + "exec" + words + "\n";
}

std::string job_script(const Job& job, const JobPlace& place, bool beats, int lost_after_s) {
  const auto limit = std::max(std::chrono::ceil<milliseconds>(job.time_limit), milliseconds(1));
  // Two silent rounds in a row mean that the harness is lost.
  const milliseconds round = std::max(milliseconds(lost_after_s * 1000) / 2, milliseconds(500));
  milliseconds left = limit;
  std::string naps;
  for (const milliseconds nap : first_naps(left, round)) naps += " " + seconds_text(nap);
  const auto rounds = left / round;
  const milliseconds rest = left % round;

  std::string s =
      "cd " + quote(place.folder) + " || exit 125\nnonce=" + place.nonce + "\n" + "mask=$(umask)\numask 077\n";
  s += kProcessFunctions;
  s += R"sh(
trap '' HUP INT PIPE
# Again and again: a signal that comes just before `wait` would be forgotten.
why() { [ -e why ] || echo "$1" >why; while kill -TERM $$ 2>/dev/null; do sleep 1; done; }
# Files mapped as code. One look is one grep.
look() {
read -r pid <pid || return 0
if [ -r /proc/self/maps ]; then
grep '^[^ ]* ..x. .* /' "/proc/$pid/maps" >"maps.$1"
[ -n "$perl" ] || grep VmHWM "/proc/$pid/status" >>peaks
else
lsof -p "$pid" -a -d txt -Fn >"maps.$1"
fi
} 2>/dev/null
rest() {
sleep "$1" 2>/dev/null &
nap=$!
wait "$nap" || { sleep 1 & nap=$!; wait "$nap"; }
}
timed_look() {
looks=$((looks + 1))
[ -r /proc/self/maps ] || [ $looks -eq 5 ] || return 0
if [ -e maps.first ]; then look "after.$looks"; else look "before.$looks"; fi
}
)sh";
  s += "watch() {\ntrap 'kill \"$nap\" 2>/dev/null; exit 0' TERM\nnap=\nlooks=0\n";
  if (!naps.empty()) s += "for time in" + naps + "; do rest $time; timed_look; done\n";
  s += fmt::format("round=0\nsilent=0\nwhile [ $round -lt {} ]; do\nrest {}\nround=$((round + 1))\n", rounds,
                   seconds_text(round));
  s += "[ $round -gt 6 ] || timed_look\n";
  // Whoever cannot signal us (another container) leaves a word; a folder that is gone has no use for results.
  s += "[ -e sup ] || why gone\nif [ -e why ]; then why again; fi\n";
  if (beats) {
    s += R"sh(beat=1
read -r beat <beat
if [ "$beat" = 0 ]; then silent=$((silent + 1)); else silent=0; fi
echo 0 >beat
[ $silent -lt 2 ] || why silence
)sh";
  }
  s += "done\n";
  if (rest.count() > 0) s += "rest " + seconds_text(rest) + "\n";
  s += "why timeout\n}\n";

  s += R"sh(
perl=
if perl -MPOSIX -MTime::HiRes -e 1 >/dev/null 2>&1; then perl=yes; fi
if [ -n "$perl" ]; then
reap() { exec perl -MPOSIX -MTime::HiRes -MErrno -e ')sh";
  s += kReaper;
  s += R"sh('; }
else
reap() { exec /bin/sh ./launch.sh; }
fi
now() { if read -r up rest </proc/uptime; then echo "$up"; else date +%s; fi; } 2>/dev/null
mkdir -p cwd && mkfifo out.pipe err.pipe || exit 125
echo 1 >beat
)sh";
  if (beats) s += "exec 3<&0 </dev/null\n";
  s += R"sh(
ended=
trap 'ended=1' TERM
readlink /proc/self/ns/pid >ns 2>/dev/null
echo $$ >sup
)sh";
  // Of one more byte than it may print, so that a flood is told from a full measure.
  s += fmt::format(R"sh(
{{
dd bs=1 count=1 2>/dev/null
look first
head -c {0}
[ $(($(wc -c <out))) -le {0} ] || why flood &
}} <out.pipe >out 2>/dev/null 3<&- &
out_reader=$!
{{
head -c {1}
[ $(($(wc -c <err))) -le {0} ] || why flood &
}} <err.pipe >err 2>/dev/null 3<&- &
err_reader=$!
)sh",
                   job.max_output_bytes, job.max_output_bytes + 1);
  s += R"sh(
begin=$(now)
# What a shell ignores on behalf of its background, and what we ignore, the program must not.
{
umask "$mask"
trap - HUP INT QUIT PIPE
reap
} >out.pipe 2>err.pipe </dev/null 3<&- &
child=$!
watch >/dev/null 2>&1 </dev/null 3<&- &
watch=$!
)sh";
  if (beats) {
    s += R"sh(
{
while read -r beat <&3; do echo 1 >beat; done
[ -e done ] || why disconnected
} >/dev/null 2>&1 &
listen=$!
exec 3<&-
)sh";
  }
  s += R"sh(
while :; do
if [ -z "$ended" ]; then
wait "$child"
result=$?
kill -0 "$child" 2>/dev/null || break
else
end_all 20
nap 0.05
if ! kill -0 "$child" 2>/dev/null; then wait "$child"; result=$?; break; fi
fi
done
finish=$(now)
: >done
trap '' TERM
kill "$watch" 2>/dev/null
)sh";
  if (beats) s += "kill \"$listen\" 2>/dev/null\n";
  s += R"sh(
end_all 0
wait "$out_reader" "$err_reader"
{
if [ -e why ]; then read -r why <why; echo "why=$why"; fi
echo "status=$result"
echo "begin=$begin"
echo "finish=$finish"
[ ! -e reaped ] || cat reaped
[ ! -e peaks ] || cat peaks
echo "$nonce"
} >end.part
mv end.part end
echo "capbench:job:$nonce"
exit 0
)sh";
  return s;
}

std::vector<std::string> prepare_scripts(const std::string& work_dir, const JobPlace& place, std::string_view launch,
                                         std::string_view job) {
  const std::string jobs = quote(work_dir + "/jobs");
  std::string s = "umask 077\nmkdir -p " + jobs + " || exit 73\ncd " + jobs + " || exit 73\n";
  s += R"sh(for job in *; do
[ -d "$job" ] || continue
sup=
if [ -r "$job/sup" ]; then read -r sup <"$job/sup"; fi
if [ -n "$sup" ] && { tr '\0' ' ' <"/proc/$sup/cmdline" || ps -o args= -p "$sup"; } 2>/dev/null |
grep -q "$job/job\.sh"; then
)sh";
  s += fmt::format("exit {}\nfi\nrm -rf \"./$job\"\ndone\n", kBusyStatus);
  s += "mkdir -p " + quote(place.folder) + " && cd " + quote(place.folder) + " || exit 73\n";
  s += "printf '" + printf_format(job) + "' >job.sh || exit 73\n";
  // A command line holds so much; a longer script is written in pieces, each under its own name so that writing one
  // twice does no harm.
  constexpr std::size_t kPiece = 12'000;
  std::vector<std::string> scripts;
  std::string pieces;
  for (std::size_t number = 0; number == 0 || !launch.empty(); ++number) {
    const std::string name = fmt::format("launch.{}", number);
    s += "printf '" + printf_format(launch.substr(0, kPiece)) + "' >" + name + " || exit 73\n";
    launch.remove_prefix(std::min(kPiece, launch.size()));
    pieces += " " + name;
    if (launch.empty()) s += "cat" + pieces + " >launch.sh || exit 73\n";
    scripts.push_back(std::move(s));
    s = "umask 077\ncd " + quote(place.folder) + " || exit 73\n";
  }
  return scripts;
}

std::string start_script(const JobPlace& place) {
  return "exec /bin/sh " + quote_all(std::vector<std::string>{place.folder + "/job.sh"});
}

std::string end_script(const JobPlace& place) {
  return "cd " + quote(place.folder) + " || exit 0\nnonce=" + place.nonce + "\n" + std::string(kProcessFunctions) +
         std::string(kEndJob);
}

std::string collect_script(const JobPlace& place) {
  return end_script(place) + std::string(send_file_function()) +
         "for name in out err not_started maps.* end; do send_file \"$name\"; done\n";
}

}  // namespace capbench::target
