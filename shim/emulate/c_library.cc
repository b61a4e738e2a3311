// The C library of a process: what ggml and the shims use of libSystem, against the machine's memory.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "shim/emulate/c_format.h"
#include "shim/emulate/process.h"

namespace capbench::emulate {
namespace {

// Time is what was executed: equal runs read equal clocks. One instruction is one nanosecond.
constexpr std::uint64_t kEpoch = 1'700'000'000;  // seconds
constexpr std::uint64_t kPid = 4242;
constexpr std::uint64_t kMaxSort = 1U << 20U;
constexpr std::uint64_t kPageSize = 16384;
constexpr std::uint64_t kMinusOne = ~std::uint64_t{0};
constexpr std::uint64_t kEnoent = 2;

// A FILE is 16 bytes inside the machine; the first word is its descriptor.
constexpr std::uint64_t kFileBytes = 16;

void add_memory(Process& process) {
  Heap& heap = process.heap();
  process.define("_malloc", [&heap](Call& call) { call.result(heap.allocate(call.integer(0))); });
  process.define("_calloc", [&heap](Call& call) {
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(call.integer(0), call.integer(1), &bytes)) return call.result(0);
    call.result(heap.allocate(bytes));
  });
  process.define("_realloc", [&heap](Call& call) { call.result(heap.reallocate(call.integer(0), call.integer(1))); });
  process.define("_free", [&heap](Call& call) { heap.release(call.integer(0)); });
  process.define("_posix_memalign", [&heap](Call& call) {
    const Address block = heap.allocate(call.integer(2), std::max<std::uint64_t>(call.integer(1), 16));
    call.machine().write(call.integer(0), block);
    call.result(0);
  });
  // kern_return_t vm_allocate(task, address*, size, flags)
  process.define("_vm_allocate", [&heap](Call& call) {
    call.machine().write(call.integer(1), heap.allocate(call.integer(2), kPageSize));
    call.result(0);
  });
  process.define("_vm_deallocate", [&heap](Call& call) {
    heap.release(call.integer(1));
    call.result(0);
  });
  process.define_data("_mach_task_self_", 8);

  process.define("_memset", [](Call& call) {
    std::byte* const to = call.machine().at(call.integer(0), call.integer(2));
    if (to != nullptr) std::memset(to, static_cast<int>(call.integer(1) & 0xffU), call.integer(2));
  });
  process.define("_bzero", [](Call& call) {
    std::byte* const to = call.machine().at(call.integer(0), call.integer(1));
    if (to != nullptr) std::memset(to, 0, call.integer(1));
  });
  const Stub move = [](Call& call) {
    if (call.integer(2) == 0) return;
    std::byte* const to = call.machine().at(call.integer(0), call.integer(2));
    const std::byte* const from = call.machine().at(call.integer(1), call.integer(2));
    if (to != nullptr && from != nullptr) std::memmove(to, from, call.integer(2));
  };
  process.define("_memcpy", move);
  process.define("_memmove", move);
  process.define("_memcmp", [](Call& call) {
    if (call.integer(2) == 0) return call.result(0);
    const std::byte* const a = call.machine().at(call.integer(0), call.integer(2));
    const std::byte* const b = call.machine().at(call.integer(1), call.integer(2));
    if (a == nullptr || b == nullptr) return;
    call.result(static_cast<std::uint64_t>(std::memcmp(a, b, call.integer(2))));
  });
  process.define("_memchr", [](Call& call) {
    const Address start = call.integer(0);
    const std::byte* const bytes = call.machine().at(start, call.integer(2));
    if (bytes == nullptr) return;
    const void* const found = std::memchr(bytes, static_cast<int>(call.integer(1) & 0xffU), call.integer(2));
    const auto offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(found) - bytes);
    call.result(found == nullptr ? 0 : start + offset);
  });
}

std::uint64_t sign(int value) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value < 0 ? -1 : value > 0 ? 1 : 0));
}

void add_strings(Process& process) {
  Heap& heap = process.heap();
  process.define("_strlen", [](Call& call) { call.result(call.machine().c_string(call.integer(0)).size()); });
  process.define("_strnlen", [](Call& call) {
    std::uint64_t size = 0;
    while (size < call.integer(1) && !call.machine().failed() &&
           call.machine().read<char>(call.integer(0) + size) != '\0') {
      ++size;
    }
    call.result(size);
  });
  process.define("_strcmp", [](Call& call) {
    const std::string a = call.machine().c_string(call.integer(0));
    call.result(sign(a.compare(call.machine().c_string(call.integer(1)))));
  });
  process.define("_strncmp", [](Call& call) {
    Machine& machine = call.machine();
    const Address a = call.integer(0);
    const Address b = call.integer(1);
    for (std::uint64_t i = 0; i < call.integer(2) && !machine.failed(); ++i) {
      const auto left = machine.read<std::uint8_t>(a + i);
      const auto right = machine.read<std::uint8_t>(b + i);
      if (left != right) return call.result(sign(left < right ? -1 : 1));
      if (left == 0) break;
    }
    call.result(0);
  });
  process.define("_strcpy", [](Call& call) {
    const std::string text = call.machine().c_string(call.integer(1));
    call.machine().write_bytes(call.integer(0), std::string_view(text.c_str(), text.size() + 1));
  });
  process.define("_strncpy", [](Call& call) {
    const std::uint64_t size = call.integer(2);
    std::string text;
    for (char c = 0; text.size() < size && !call.machine().failed(); text.push_back(c)) {
      c = call.machine().read<char>(call.integer(1) + text.size());
      if (c == '\0') break;
    }
    call.machine().write_bytes(call.integer(0), text);
    std::byte* const rest = call.machine().at(call.integer(0) + text.size(), size - text.size());
    if (rest != nullptr && size > text.size()) std::memset(rest, 0, size - text.size());
  });
  process.define("_strdup", [&heap](Call& call) { call.result(heap.text(call.machine().c_string(call.integer(0)))); });
  process.define("_strchr", [](Call& call) {
    const std::string text = call.machine().c_string(call.integer(0));
    const std::size_t at = std::string_view(text.c_str(), text.size() + 1).find(static_cast<char>(call.integer(1)));
    call.result(at == std::string::npos ? 0 : call.integer(0) + at);
  });
  process.define("_strrchr", [](Call& call) {
    const std::string text = call.machine().c_string(call.integer(0));
    const std::size_t at = std::string_view(text.c_str(), text.size() + 1).rfind(static_cast<char>(call.integer(1)));
    call.result(at == std::string::npos ? 0 : call.integer(0) + at);
  });
  process.define("_strstr", [](Call& call) {
    const std::size_t at = call.machine().c_string(call.integer(0)).find(call.machine().c_string(call.integer(1)));
    call.result(at == std::string::npos ? 0 : call.integer(0) + at);
  });
  process.define("_atoi", [](Call& call) {
    const long value = std::strtol(call.machine().c_string(call.integer(0)).c_str(), nullptr, 10);
    call.result(static_cast<std::uint32_t>(value));
  });
  const Stub parse_integer = [](Call& call) {
    const std::string text = call.machine().c_string(call.integer(0));
    const int base = call.integer32(2);
    if (base < 0 || base == 1 || base > 36) return call.result(0);
    char* end = nullptr;
    const std::uint64_t value = call.name().find("strtou") != std::string_view::npos
                                    ? std::strtoull(text.c_str(), &end, base)
                                    : static_cast<std::uint64_t>(std::strtoll(text.c_str(), &end, base));
    if (call.integer(1) != 0) {
      call.machine().write(call.integer(1), call.integer(0) + static_cast<std::uint64_t>(end - text.c_str()));
    }
    call.result(value);
  };
  for (const char* const name : {"_strtol", "_strtoll", "_strtoul", "_strtoull"}) process.define(name, parse_integer);
  process.define("_strerror",
                 [&heap](Call& call) { call.result(heap.text(fmt::format("error {}", call.integer32(0)))); });

  // int ___maskrune(rune, mask), and the table that <ctype.h>'s inline functions read: _RuneLocale, whose 256 masks are
  // at offset 60.
  const Address locale = process.define_data("__DefaultRuneLocale", 4096);
  const auto mask_of = [](int c) {
    std::uint32_t mask = 0;
    if (c >= 128) return mask;
    if (std::isalpha(c) != 0) mask |= 0x100U;
    if (std::iscntrl(c) != 0) mask |= 0x200U;
    if (std::isdigit(c) != 0) mask |= 0x400U;
    if (std::isgraph(c) != 0) mask |= 0x800U;
    if (std::islower(c) != 0) mask |= 0x1000U;
    if (std::ispunct(c) != 0) mask |= 0x2000U;
    if (std::isspace(c) != 0) mask |= 0x4000U;
    if (std::isupper(c) != 0) mask |= 0x8000U;
    if (std::isxdigit(c) != 0) mask |= 0x10000U;
    if (c == ' ' || c == '\t') mask |= 0x20000U;
    if (std::isprint(c) != 0) mask |= 0x40000U;
    return mask;
  };
  for (int c = 0; c < 256; ++c) {
    process.machine().write(locale + 60 + 4 * static_cast<std::uint64_t>(c), mask_of(c));
  }
  process.define("___maskrune", [mask_of](Call& call) {
    const std::int32_t rune = call.integer32(0);
    call.result(rune < 0 || rune > 127 ? 0 : mask_of(rune) & static_cast<std::uint32_t>(call.integer(1)));
  });
}

// Gives what was written as the call's result, which is a number of bytes for all of them.
void put(Process& process, Call& call, std::int32_t descriptor, std::string_view text) {
  process.print(descriptor, text);
  call.result(text.size());
}

std::int32_t descriptor_of(Call& call, unsigned argument) {
  return call.machine().read<std::int32_t>(call.integer(argument));
}

// snprintf and its kin: as much as fits, and the length of all.
void store_text(Call& call, Address to, std::uint64_t room, const std::string& text) {
  if (room > 0 && !call.machine().failed()) {
    const std::size_t kept = std::min<std::uint64_t>(text.size(), room - 1);
    call.machine().write_bytes(to, text.substr(0, kept));
    call.machine().write(to + kept, '\0');
  }
  call.result(text.size());
}

void add_stdio(Process& process) {
  Machine& machine = process.machine();
  for (const auto& [name, descriptor] : {std::pair{"___stdinp", 0}, {"___stdoutp", 1}, {"___stderrp", 2}}) {
    const Address file = process.heap().allocate(kFileBytes);
    machine.write<std::int32_t>(file, descriptor);
    machine.write(process.define_data(name, 8), file);
  }
  constexpr std::int32_t kStdout = 1;
  const auto text_of = [](Call& call, unsigned format, Address arguments) {
    return format_c(call.machine(), call.machine().c_string(call.integer(format)), arguments);
  };
  process.define("_printf",
                 [&process, text_of](Call& call) { put(process, call, kStdout, text_of(call, 0, call.variadic())); });
  process.define("_fprintf", [&process, text_of](Call& call) {
    put(process, call, descriptor_of(call, 0), text_of(call, 1, call.variadic()));
  });
  process.define("_vfprintf", [&process, text_of](Call& call) {
    put(process, call, descriptor_of(call, 0), text_of(call, 1, call.integer(2)));
  });
  process.define("_dprintf", [&process, text_of](Call& call) {
    put(process, call, call.integer32(0), text_of(call, 1, call.variadic()));
  });
  process.define("_snprintf", [](Call& call) {
    store_text(call, call.integer(0), call.integer(1),
               format_c(call.machine(), call.machine().c_string(call.integer(2)), call.variadic()));
  });
  process.define("_vsnprintf", [](Call& call) {
    store_text(call, call.integer(0), call.integer(1),
               format_c(call.machine(), call.machine().c_string(call.integer(2)), call.integer(3)));
  });
  process.define("_fputs", [&process](Call& call) {
    put(process, call, descriptor_of(call, 1), call.machine().c_string(call.integer(0)));
  });
  process.define("_puts", [&process](Call& call) {
    put(process, call, kStdout, call.machine().c_string(call.integer(0)) + "\n");
  });
  // These two give the character back.
  process.define("_fputc", [&process](Call& call) {
    process.print(descriptor_of(call, 1), std::string(1, static_cast<char>(call.integer(0))));
  });
  process.define("_putchar", [&process](Call& call) {
    process.print(kStdout, std::string(1, static_cast<char>(call.integer(0))));
  });
  process.define("_fwrite", [&process](Call& call) {
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(call.integer(1), call.integer(2), &bytes)) return call.result(0);
    process.print(descriptor_of(call, 3), call.machine().read_bytes(call.integer(0), bytes));
    call.result(call.integer(2));
  });
  process.define("_write", [&process](Call& call) {
    put(process, call, call.integer32(0), call.machine().read_bytes(call.integer(1), call.integer(2)));
  });
  process.define_harmless("_fflush", "nothing is buffered");
  // Both outputs take whatever is written. struct pollfd { int fd; short events; short revents; }
  process.define("_poll", [](Call& call) {
    const std::uint64_t count = call.integer(1) & 0xffffU;
    for (std::uint64_t i = 0; i < count; ++i) {
      const Address entry = call.integer(0) + 8 * i;
      call.machine().write(entry + 6, call.machine().read<std::uint16_t>(entry + 4));
    }
    call.result(count);
  });
  process.define_harmless("_pthread_sigmask", "no signal ever comes");
  process.define("_sigpending", [](Call& call) {
    call.machine().write<std::uint32_t>(call.integer(0), 0);
    call.result(0);
  });

  // The process sees no files: opening one fails as on a machine that does not have it.
  const Address error = process.define_data("_errno", 8);
  process.define("___error", [error](Call& call) { call.result(error); });
  const Stub absent = [error](Call& call) {
    call.machine().write<std::int32_t>(error, static_cast<std::int32_t>(kEnoent));
    call.result(0);
  };
  process.define("_fopen", absent);
  process.define("_fopen$DARWIN_EXTSN", absent);
}

void add_environment(Process& process) {
  process.define("_getenv", [&process](Call& call) {
    const std::string name = call.machine().c_string(call.integer(0));
    const auto& environment = process.options().environment;
    const auto value = environment.find(name);
    if (value == environment.end()) return call.result(0);
    call.result(process.environment_text(name, value->second));
  });
  process.define("_setenv", [&process](Call& call) {
    const std::string name = call.machine().c_string(call.integer(0));
    const std::string value = call.machine().c_string(call.integer(1));
    auto& environment = process.options().environment;
    if (call.integer32(2) != 0 || !environment.contains(name)) environment[name] = value;
    call.result(0);
  });
  process.define("_unsetenv", [&process](Call& call) {
    process.options().environment.erase(call.machine().c_string(call.integer(0)));
    call.result(0);
  });
  process.define("_getprogname",
                 [name = process.heap().text(process.options().program)](Call& call) { call.result(name); });
  process.define("_getpid", [](Call& call) { call.result(kPid); });
  process.define("_sysconf", [](Call& call) {
    constexpr std::int32_t kScPageSize = 29;
    constexpr std::int32_t kScProcessors = 57;
    constexpr std::int32_t kScProcessorsOnline = 58;
    constexpr std::int32_t kScPhysicalPages = 200;
    switch (call.integer32(0)) {
      case kScPageSize:
        return call.result(kPageSize);
      case kScProcessors:
      case kScProcessorsOnline:
        return call.result(8);
      case kScPhysicalPages:
        return call.result((std::uint64_t{16} << 30U) / kPageSize);
      default:
        return call.result(kMinusOne);
    }
  });
  // bool _availability_version_check(count, pairs of platform and version)
  process.define("__availability_version_check", [&process](Call& call) {
    constexpr std::uint32_t kMacOs = 1;
    bool available = true;
    for (std::uint64_t i = 0; i < call.integer(0) && !call.machine().failed(); ++i) {
      const auto platform = call.machine().read<std::uint32_t>(call.integer(1) + 8 * i);
      const auto version = call.machine().read<std::uint32_t>(call.integer(1) + 8 * i + 4);
      if (platform == kMacOs) available = process.options().os_version >= version;
    }
    call.result(available ? 1 : 0);
  });
  process.define("_dlsym", [&process](Call& call) {
    call.result(process.lookup("_" + call.machine().c_string(call.integer(1))));
  });
}

void add_time(Process& process) {
  process.define("_clock_gettime", [](Call& call) {
    const std::uint64_t now = call.machine().instructions();
    const bool wall = call.integer32(0) == 0;
    call.machine().write(call.integer(1), (wall ? kEpoch : 0) + now / 1'000'000'000);
    call.machine().write(call.integer(1) + 8, now % 1'000'000'000);
    call.result(0);
  });
  process.define("_clock", [](Call& call) { call.result(call.machine().instructions() / 1000); });
  process.define("_mach_absolute_time", [](Call& call) { call.result(call.machine().instructions()); });
  process.define("_time", [](Call& call) {
    const std::uint64_t now = kEpoch + call.machine().instructions() / 1'000'000'000;
    if (call.integer(0) != 0) call.machine().write(call.integer(0), now);
    call.result(now);
  });
  process.define_harmless("_usleep", "nothing else runs meanwhile");
  process.define_harmless("_sched_yield", "nothing else runs meanwhile");
}

template <float (*function)(float)>
void unary32(Call& call) {
  call.result32(function(call.real32(0)));
}

template <double (*function)(double)>
void unary64(Call& call) {
  call.result64(function(call.real64(0)));
}

void add_numbers(Process& process) {
  process.define("_expf", unary32<&expf>);
  process.define("_exp2f", unary32<&exp2f>);
  process.define("_logf", unary32<&logf>);
  process.define("_log2f", unary32<&log2f>);
  process.define("_tanhf", unary32<&tanhf>);
  process.define("_sinf", unary32<&sinf>);
  process.define("_cosf", unary32<&cosf>);
  process.define("_erff", unary32<&erff>);
  process.define("_exp", unary64<&exp>);
  process.define("_log", unary64<&log>);
  process.define("_log2", unary64<&log2>);
  process.define("_powf", [](Call& call) { call.result32(powf(call.real32(0), call.real32(1))); });
  process.define("_pow", [](Call& call) { call.result64(pow(call.real64(0), call.real64(1))); });
  process.define("_ldexpf", [](Call& call) { call.result32(ldexpf(call.real32(0), call.integer32(0))); });
}

// One thread: a lock is always free, and a once-block that has not run, runs.
void add_threads(Process& process) {
  for (const char* const name :
       {"_pthread_mutex_init", "_pthread_mutex_lock", "_pthread_mutex_unlock", "_pthread_mutex_destroy",
        "_pthread_mutex_trylock", "_os_unfair_lock_lock", "_os_unfair_lock_unlock"}) {
    process.define_harmless(name, "one thread: every lock is free");
  }
  process.define("_pthread_once", [](Call& call) {
    constexpr std::uint64_t kInitialised = 0x4f4e4345;  // any value but the one of PTHREAD_ONCE_INIT
    const Address control = call.integer(0);
    const Address function = call.integer(1);
    if (call.machine().read<std::uint64_t>(control) != kInitialised) {
      call.machine().write(control, kInitialised);
      (void)call.machine().call(function, {});
    }
    call.result(0);
  });
  process.define("_pthread_main_np", [](Call& call) { call.result(1); });
  process.define("_pthread_self", [](Call& call) { call.result(1); });
}

void add_ends(Process& process) {
  const auto ends = [&process](std::string name, std::string words) {
    process.define(name, [&process, words](Call& call) {
      const std::size_t last = process.err.empty() ? 0 : process.err.rfind('\n', process.err.size() - 2) + 1;
      const std::string printed = process.err.substr(last, process.err.find('\n', last) - last);
      call.machine().fail({ErrorKind::kUsage, "the library",
                           printed.empty() ? words : fmt::format("{}; its last line: {}", words, printed),
                           "other settings, or a release that is known to run"});
    });
  };
  ends("_abort", "it aborted");
  ends("__Exit", "it ended the process");
  ends("_exit", "it ended the process");
  ends("___stack_chk_fail", "it overran its stack");
  process.define("___assert_rtn", [](Call& call) {
    Machine& machine = call.machine();
    machine.fail({ErrorKind::kUsage, "the library",
                  fmt::format("its assertion failed: {} ({}:{})", machine.c_string(call.integer(3)),
                              machine.c_string(call.integer(1)), call.integer32(2)),
                  "other settings, or a release that is known to run"});
  });
  // A guard that is the same everywhere, as addresses are; the code compares it with itself.
  process.machine().write<std::uint64_t>(process.define_data("___stack_chk_guard", 8), 0x00c0ffee5afe6a5d);
  process.define_harmless("___cxa_atexit", "the process never exits, so nothing is destroyed");
  process.define_harmless("_atexit", "the process never exits");
  // void __chkstk_darwin: touches the stack pages that a large frame will need. They are all there; every register
  // stays as it is.
  process.define("___chkstk_darwin", [](Call&) {});
}

void add_sorting(Process& process) {
  // Insertion by binary search: few elements here, and equal ones keep their order everywhere.
  process.define("_qsort", [](Call& call) {
    Machine& machine = call.machine();
    const Address base = call.integer(0);
    const std::uint64_t count = call.integer(1);
    const std::uint64_t width = call.integer(2);
    const Address compare = call.integer(3);
    if (count > kMaxSort || width > kMaxSort || (count > 1 && machine.at(base, count * width) == nullptr)) {
      machine.fail({ErrorKind::kUsage, "the emulated program", fmt::format("sorts {} x {} bytes", count, width),
                    "a library as published"});
      return;
    }
    const std::uint64_t bytes = width;
    for (std::uint64_t i = 1; i < count && !machine.failed(); ++i) {
      std::uint64_t low = 0;
      std::uint64_t high = i;
      while (low < high && !machine.failed()) {
        const std::uint64_t middle = (low + high) / 2;
        const auto order = machine.call(compare, {word(base + i * bytes), word(base + middle * bytes)});
        if (!order.ok()) return;
        if (static_cast<std::int32_t>(*order) < 0) {
          high = middle;
        } else {
          low = middle + 1;
        }
      }
      if (low == i) continue;
      const std::string moved = machine.read_bytes(base + i * bytes, bytes);
      std::byte* const from = machine.at(base + low * bytes, (i - low + 1) * bytes);
      if (from == nullptr) return;
      std::memmove(from + bytes, from, (i - low) * bytes);
      machine.write_bytes(base + low * bytes, moved);
    }
  });
}

}  // namespace

void add_c_library(Process& process) {
  add_memory(process);
  add_strings(process);
  add_stdio(process);
  add_environment(process);
  add_time(process);
  add_numbers(process);
  add_threads(process);
  add_ends(process);
  add_sorting(process);
}

}  // namespace capbench::emulate
