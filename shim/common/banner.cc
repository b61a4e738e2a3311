#include "shim/common/banner.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "shim/common/text.h"

namespace capbench::shim {
namespace {

void append_field(TextBuilder& out, std::string_view key, std::string_view value, bool& first) {
  if (value.empty()) return;
  if (!first) out.append(",");
  first = false;
  out.append_json(key);
  out.append(":");
  out.append_json(value);
}

void append_executed(TextBuilder& out, std::string_view names) {
  out.append(",\"executed\":[");
  bool first = true;
  while (!names.empty()) {
    const std::size_t space = names.find(' ');
    const std::size_t length = space == std::string_view::npos ? names.size() : space;
    if (!first) out.append(",");
    first = false;
    out.append_json({names.data(), length});
    names.remove_prefix(length == names.size() ? length : length + 1);
  }
  out.append("]");
}

void append_capability(TextBuilder& out, const CapabilityReport& capability) {
  out.append_json(capability.name);
  out.append(":{");
  bool first = true;
  append_field(out, "device", capability.device, first);
  append_field(out, "guest", capability.guest, first);
  append_field(out, "set", capability.set, first);
  append_field(out, "reported", capability.reported, first);
  if (!capability.executed.empty()) append_executed(out, capability.executed);
  out.append("}");
}

void append_banner(TextBuilder& out, const BannerReport& report) {
  out.append(kBannerPrefix);
  out.append("{");
  bool first = true;
  append_field(out, "domain", domain_info(report.domain).name, first);
  append_field(out, "version", kShimVersion, first);
  out.append(",\"pid\":");
  out.append_number(report.pid);
  out.append(",\"roles\":[");
  if (report.guest) out.append("\"guest\"");
  if (report.guest && report.shim) out.append(",");
  if (report.shim) out.append("\"shim\"");
  out.append("],\"capabilities\":{");
  for (std::size_t i = 0; i < report.n_capabilities; ++i) {
    if (i != 0) out.append(",");
    append_capability(out, report.capabilities[i]);
  }
  out.append("}");
  append_field(out, "note", report.note, first);
  append_field(out, "error", report.error, first);
  out.append("}\n");
}

// Takes back a signal that this write raised; one that was pending before belongs to the host.
void take_back(int signal, const sigset_t& pending_before) {
  sigset_t pending;
  sigemptyset(&pending);
  sigpending(&pending);
  if (sigismember(&pending, signal) != 1 || sigismember(&pending_before, signal) == 1) return;
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  int taken = 0;
  sigwait(&one, &taken);
}

// Writes with the signals that a write can raise held back in this thread: a reader that has gone away, a limit on the
// size of files or a terminal that belongs to somebody else must neither end nor stop the host process.
void write_quietly(int fd, std::string_view line) {
  sigset_t raised;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&raised);
  sigaddset(&raised, SIGPIPE);
  sigaddset(&raised, SIGXFSZ);
  sigaddset(&raised, SIGTTOU);
  sigemptyset(&pending);
  sigpending(&pending);
  if (pthread_sigmask(SIG_BLOCK, &raised, &before) != 0) return;
  const ssize_t written = write(fd, line.data(), line.size());
  if (written < 0 && errno == EPIPE) take_back(SIGPIPE, pending);
  if (written < 0 && errno == EFBIG) take_back(SIGXFSZ, pending);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

std::size_t format_banner(const BannerReport& report, char* out) {
  TextBuilder builder(out, kMaxBannerBytes);
  append_banner(builder, report);
  if (!builder.overflowed()) return builder.view().size();
  BannerReport short_report;
  short_report.domain = report.domain;
  short_report.pid = report.pid;
  short_report.guest = report.guest;
  short_report.shim = report.shim;
  short_report.error = "the report is longer than 4096 bytes";
  TextBuilder shorter(out, kMaxBannerBytes);
  append_banner(shorter, short_report);
  return shorter.view().size();
}

void write_line(int fd, std::string_view line) {
  const int errno_before = errno;
  pollfd ready{fd, POLLOUT, 0};
  if (poll(&ready, 1, 0) == 1 && (ready.revents & POLLOUT) != 0 && (ready.revents & POLLERR) == 0)
    write_quietly(fd, line);
  errno = errno_before;
}

}  // namespace capbench::shim
