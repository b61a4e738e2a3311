// The scripts of a job directory, and what they leave behind. Pure.
//
//   WORK/jobs/NONCE/launch.sh  becomes the program: `NAME=VALUE ... exec PROGRAM ARGUMENTS`, nothing after it
//                   job.sh     runs launch.sh, keeps its streams, watches the time and the harness, ends all that is
//                   left out, err   the program's streams end        how it went; its last line is the nonce. Without
//                   it the job failed, whatever a tool says maps.*     files mapped as code, looked at now and then
//                   (Linux: /proc; elsewhere: lsof)
//
// What the program inherits: the environment that the tool gives a command there (a container's, a login's), without
// Job::unset_env and without what only tells of the session (`_ PWD OLDPWD SHLVL MAIL TERM COLUMNS LINES SSH_*
// XDG_SESSION_*`), with Job::set_env, and with CAPBENCH_JOB=NONCE, by which every descendant is found again. (Where
// /bin/sh is bash it adds SHLVL=0.) Its stdin is /dev/null, its streams are pipes, its folder is the job's unless said.
// The variables of Job::set_env are on the last exec only: no shell, reaper or sampler sees them.
//
// While the program runs there are only sleeping processes beside it: the shell in wait, one in sleep, one in read, two
// at the pipes, and, where there is perl, one in waitpid, which knows the exact status, times and peak memory. Without
// perl a status over 128 counts as a signal, and the peak memory is what the looks at /proc saw.
#ifndef CAPBENCH_HARNESS_TARGET_JOB_SCRIPT_H_
#define CAPBENCH_HARNESS_TARGET_JOB_SCRIPT_H_

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "harness/target/job.h"

namespace capbench::target {

struct JobPlace {
  std::string folder;  // absolute; ends in the nonce
  std::string nonce;
};

// Refuses what no shell script can do: a program without an absolute path, NUL bytes, a variable whose name is no
// shell name or is the shell's own (UID, PPID, ...).
Result<std::string> launch_script(const Job& job, const JobPlace& place);

// `beats`: lines come on stdin while the harness lives; the job ends at the end of stdin, or after about `lost_after_s`
// without a line. Without beats it ends at its time limit, or when collect_script ends it.
std::string job_script(const Job& job, const JobPlace& place, bool beats, int lost_after_s);

// Makes the job's folder with both scripts in it, and removes what earlier jobs left: to be run in order, each safe to
// repeat, mostly one. Exit status kBusyStatus: another job is still running on the target.
std::vector<std::string> prepare_scripts(const std::string& work_dir, const JobPlace& place, std::string_view launch,
                                         std::string_view job);

// Runs the job; safe to run once only.
std::string start_script(const JobPlace& place);

// Ends the job if it still runs, and prints what it left (read by read_job).
std::string collect_script(const JobPlace& place);

// Ends the job, no more.
std::string end_script(const JobPlace& place);

// The result out of the files that collect_script printed. kLost, with the reason, when the job left no whole end.
JobResult read_job(const std::map<std::string, std::string>& files, const JobPlace& place, const Job& job);

inline constexpr int kBusyStatus = 75;

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_JOB_SCRIPT_H_
