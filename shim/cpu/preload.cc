// libcapshim_cpu.so: put into a process by LD_PRELOAD, it answers for ggml's CPU libraries what cpu.isa says.
//
// ggml loads each libggml-cpu-VARIANT.so, looks up `ggml_backend_score` in it with dlsym, and keeps the library with
// the highest answer above 0. Here dlsym is interposed. Every lookup but that one is handed on by a jump with the
// caller's return address still on the stack, since the C library finds by it who asks (RTLD_NEXT and RTLD_DEFAULT mean
// something else to each caller). Where the answer does not differ from the library's own, the library's own function
// is what dlsym returns.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "shim/common/banner.h"
#include "shim/common/settings.h"
#include "shim/common/text.h"
#include "shim/cpu/decision.h"
#include "shim/cpu/detect.h"
#include "shim/cpu/execute.h"

namespace capbench::shim::cpu {
namespace {

// Written once by start(), read-only afterwards.
Policy g_policy;
pthread_once_t g_started = PTHREAD_ONCE_INIT;

// The names of the features, separated by spaces.
std::string_view names_of(FeatureSet features, char* buffer, std::size_t capacity) {
  TextBuilder out(buffer, capacity);
  for (const FeatureInfo& feature : kFeatures) {
    if ((features & feature.bit) == 0) continue;
    if (!out.view().empty()) out.append(" ");
    out.append(feature.name);
  }
  return out.view();
}

void announce(const Roles& roles, const Request& request, const CpuFacts& facts, FeatureSet executed) {
  std::array<char, 256> names{};
  CapabilityReport isa;
  isa.name = "cpu.isa";
  isa.device = facts.known ? best_variant(g_policy.device) : "unknown";
  isa.reported = facts.known ? best_variant(g_policy.reported) : "unknown";
  if (facts.known && request.guest.has_value()) isa.guest = best_variant(g_policy.guest);
  if (facts.known && request.set.has_value()) isa.set = kCpuIsaLevels[*request.set];
  isa.executed = names_of(executed, names.data(), names.size());
  BannerReport report;
  report.domain = Domain::kCpu;
  report.pid = getpid();
  report.guest = facts.known && request.guest.has_value();
  report.shim = facts.known && request.set.has_value();
  report.capabilities = &isa;
  report.n_capabilities = 1;
  if (!facts.known) report.note = "no level of cpu.isa is known on this architecture; nothing is changed";
  report.error = roles.error.view();
  std::array<char, kMaxBannerBytes> line{};
  write_line(STDERR_FILENO, {line.data(), format_banner(report, line.data())});
}

void start() {
  const Roles roles = read_roles(std::getenv(kGuestVariable.data()), std::getenv(kSetVariable.data()));
  const Request request = request_of(roles);
  const CpuFacts facts = detect_cpu();
  const FeatureSet executed = execute_features(features_to_try(request, facts.usable(), facts.enabled));
  g_policy = make_policy(request, {facts.usable(), executed});
  if (!facts.known) g_policy.active = false;
  announce(roles, request, facts, executed);
}

// Normally by the constructor; earlier if another library's constructor looks a score up first.
void start_once() {
  pthread_once(&g_started, start);
}

[[gnu::constructor]] void on_load() {
  start_once();
}

#if defined(__x86_64__)

using Score = int (*)();
using Lookup = void* (*)(void*, const char*);

int hidden_score() {
  return 0;
}

// Answers are constants, so nothing that a host keeps can outlive the library it came from.
template <std::size_t kIndex>
int raised_score() {
  return score(kVariants[kIndex].features);
}

template <std::size_t... kIndices>
constexpr std::array<Score, sizeof...(kIndices)> raised_scores(std::index_sequence<kIndices...>) {
  return {raised_score<kIndices>...};
}

constexpr std::array<Score, kVariantCount> kRaisedScores = raised_scores(std::make_index_sequence<kVariantCount>());

// Says, a few times at most, that a library is hidden because the table does not know it.
void note_unknown(std::string_view name) {
  static std::atomic<int> notes_left{8};
  if (notes_left.load(std::memory_order_relaxed) <= 0 || notes_left.fetch_sub(1, std::memory_order_relaxed) <= 0)
    return;
  std::array<char, 512> buffer{};
  TextBuilder out(buffer.data(), buffer.size());
  out.append("capshim note: cpu.isa: the CPU library ");
  out.append_quoted(name);
  out.append(" is not in this shim's table, so it is hidden at every level but best\n");
  write_line(STDERR_FILENO, out.view());
}

void* to_pointer(Score function) {
  return reinterpret_cast<void*>(function);
}

// What dlsym returns instead of `own`, the address of ggml_backend_score in some library.
void* answer_instead_of(void* own) {
  start_once();
  if (!g_policy.active) return own;
  Dl_info info{};
  if (dladdr(own, &info) == 0 || info.dli_fname == nullptr) return own;
  const std::string_view name = variant_in_path(info.dli_fname);
  if (name.empty()) return own;
  const std::size_t variant = find_variant(name);
  switch (answer_for(g_policy, variant)) {
    case Answer::kOwn:
      return own;
    case Answer::kRaised:
      return reinterpret_cast<Score>(own)() != 0 ? own : to_pointer(kRaisedScores[variant]);
    case Answer::kHidden:
      if (variant == kVariantCount) note_unknown(name);
      return to_pointer(hidden_score);
  }
  return own;
}

// The dlsym behind this one: another preload library's, or else the C library's. Every glibc for x86-64 has its own
// under this version (newer ones beside a newer version), so the search leaves no dlerror behind.
Lookup next_dlsym() {
  static std::atomic<Lookup> cached{nullptr};
  Lookup next = cached.load(std::memory_order_relaxed);
  if (next != nullptr) return next;
  const auto library_own = reinterpret_cast<Lookup>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  if (library_own == nullptr) return [](void*, const char*) -> void* { return nullptr; };
  next = reinterpret_cast<Lookup>(library_own(RTLD_NEXT, "dlsym"));
  if (next == nullptr) next = library_own;
  cached.store(next, std::memory_order_relaxed);
  return next;
}

void* lookup_score(void* handle, const char* name) {
  void* own = next_dlsym()(handle, name);
  return own == nullptr ? nullptr : answer_instead_of(own);
}

#endif

}  // namespace

#if defined(__x86_64__)

// Which function handles this dlsym call. Called by the entry below.
extern "C" [[gnu::visibility("hidden"), gnu::used]] Lookup capshim_cpu_route(void* handle, const char* name) {
  const bool of_a_library = handle != RTLD_DEFAULT && handle != RTLD_NEXT;
  const bool is_score = of_a_library && name != nullptr && std::strcmp(name, "ggml_backend_score") == 0;
  return is_score ? lookup_score : next_dlsym();
}

// dlsym itself. In assembly because the last step must be a jump whatever the compiler's options: it keeps both
// arguments, asks capshim_cpu_route, and jumps to its answer with the stack as the caller left it.
asm(R"(
    .pushsection .text
    .globl dlsym
    .type dlsym, @function
    .p2align 4
dlsym:
    .cfi_startproc
    endbr64
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call capshim_cpu_route
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    jmpq *%rax
    .cfi_endproc
    .size dlsym, . - dlsym
    .popsection
)");

#endif

}  // namespace capbench::shim::cpu
