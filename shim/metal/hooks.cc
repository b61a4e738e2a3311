#include "shim/metal/hooks.h"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <cstdlib>

#include "shim/common/banner.h"
#include "shim/common/settings.h"
#include "shim/common/text.h"
#include "shim/metal/adjust.h"
#include "shim/metal/lume.h"
#include "shim/metal/report.h"

namespace capbench::shim::metal {
namespace {

constexpr std::uint64_t kMaxDevices = 64;  // of one array; a Mac has a handful

// Written under the lock; policy, error and from_lume are final once started.
struct State {
  bool started = false;
  bool announced = false;
  bool from_lume = false;
  Policy policy;
  ErrorText error;
};

State g_state;
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;

class Locked {
 public:
  Locked() { pthread_mutex_lock(&g_lock); }
  ~Locked() { pthread_mutex_unlock(&g_lock); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

// Two profiles at once would be neither of them.
void refuse_both(ErrorText& error) {
  TextBuilder out(error.bytes.data(), error.bytes.size());
  out.append(kSetVariable);
  out.append(": names metal capabilities while LUME_METAL_ variables are set; nothing is changed; try: unsetting one");
  error.size = out.view().size();
}

void read_settings(State& state) {
  const Roles roles = read_roles(std::getenv(kGuestVariable.data()), std::getenv(kSetVariable.data()));
  const LumeRequest lume = read_lume({std::getenv(kLumeFamily.data()), std::getenv(kLumeThreadgroupMemory.data()),
                                      std::getenv(kLumeWorkingSet.data())});
  state.error = roles.error.empty() ? lume.error : roles.error;
  if (state.error.empty() && lume.given && roles.set.touches(Domain::kMetal)) refuse_both(state.error);
  if (!state.error.empty()) return;
  state.policy.guest = layer_of(roles.guest);
  state.policy.set = lume.given ? lume.layer : layer_of(roles.set);
  state.from_lume = lume.given;
}

void write_report(const State& state, const Facts* device, const Facts* reported) {
  Report report;
  report.pid = getpid();
  report.policy = &state.policy;
  report.device = device;
  report.reported = reported;
  report.from_lume = state.from_lume;
  report.error = state.error.view();
  std::array<char, kMaxBannerBytes> line{};
  write_line(STDERR_FILENO, {line.data(), format_report(report, line.data())});
}

void start_locked(State& state) {
  if (state.started) return;
  state.started = true;
  read_settings(state);
  if (!state.error.empty()) write_report(state, nullptr, nullptr);
}

// Beside the line, which tells of the first device only.
void write_class_note(id device, Adjustment adjustment) {
  std::array<char, 256> buffer{};
  TextBuilder out(buffer.data(), buffer.size());
  out.append("capshim note: metal: another class of devices, ");
  out.append_quoted(class_getName(object_getClass(device)));
  out.append(adjustment == Adjustment::kNew ? ", answers by the same settings\n"
                                            : ", is left as it is, since there are too many\n");
  write_line(STDERR_FILENO, out.view());
}

// What is to be said about a device, which is done after the lock is given back.
struct Answered {
  Adjustment adjustment = Adjustment::kKnown;
  bool first = false;
};

Answered answer(State& state, id device) {
  const Locked locked;
  start_locked(state);  // a library that was loaded before this one may ask first
  Answered answered;
  answered.adjustment = adjust_class_of(device, state.policy);
  answered.first = !state.announced;
  state.announced = true;
  return answered;
}

}  // namespace

void start() {
  const Locked locked;
  start_locked(g_state);
}

id answer_device(id device) {
  if (device == nullptr) return device;
  const Answered answered = answer(g_state, device);
  // The policy and the error are final by now. The device is asked without the lock: it may create devices itself.
  if (answered.first) {
    const Facts own = read_device(device);
    const Facts reported = read_reported(device);
    write_report(g_state, &own, &reported);
  } else if (answered.adjustment != Adjustment::kKnown &&
             (names_any(g_state.policy.guest) || names_any(g_state.policy.set))) {
    write_class_note(device, answered.adjustment);
  }
  return device;
}

id answer_devices(id devices) {
  if (devices == nullptr) return devices;
  const auto count = send<std::uint64_t>(devices, sel_registerName("count"));
  for (std::uint64_t i = 0; i < count && i < kMaxDevices; ++i) {
    answer_device(send<id>(devices, sel_registerName("objectAtIndex:"), i));
  }
  return devices;
}

}  // namespace capbench::shim::metal
