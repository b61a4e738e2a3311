// A macOS process in a machine: Mach-O images bound to each other and to stubs, with interposing as dyld does it.
#ifndef CAPBENCH_SHIM_EMULATE_PROCESS_H_
#define CAPBENCH_SHIM_EMULATE_PROCESS_H_

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shim/emulate/heap.h"
#include "shim/emulate/machine.h"
#include "shim/emulate/objc_runtime.h"
#include "shim/macho/exports.h"
#include "shim/macho/fixups.h"
#include "shim/macho/image.h"

namespace capbench::emulate {

// A library's bytes. Inserted ones (DYLD_INSERT_LIBRARIES) come first and may interpose.
struct Library {
  std::string name;   // for people: its file name
  std::string bytes;  // of the file, thin or fat
  bool inserted = false;
};

// Reads at most 256 MiB.
Result<Library> read_library(const std::filesystem::path& path, bool inserted = false);

struct ProcessOptions {
  std::map<std::string, std::string> environment;
  std::string program = "llama-bench";    // what getprogname() and NSProcessInfo answer
  std::uint32_t os_version = 26U << 16U;  // of macOS: xxxx.yy.zz, asked by @available
  Limits limits;
};

class Process {
 public:
  // With the C library, C++, dispatch, Objective-C and Foundation; Metal is added by whoever has a device.
  static Result<std::unique_ptr<Process>> create(ProcessOptions options);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  Machine& machine() { return *machine_; }
  Heap& heap() { return heap_; }
  ObjcRuntime& objc() { return objc_; }
  ProcessOptions& options() { return options_; }

  // What a system library gives: a function, or data. A name includes the leading underscore.
  void define(std::string name, Stub stub);
  Address define_data(std::string name, std::uint64_t size);
  void define_at(std::string name, Address address);
  // A function whose effect nobody here can miss: it does nothing and returns `result`.
  void define_harmless(std::string name, std::string reason, std::uint64_t result = 0);
  const std::map<std::string, std::string>& harmless() const { return harmless_; }
  std::optional<Address> system_symbol(std::string_view name) const;

  // Maps all images, applies their fix-ups, then runs their initialisers in the order given.
  Status load(std::vector<Library> libraries);

  // What an image exports, searched in load order.
  std::optional<Address> find(std::string_view name) const;
  // As dlsym(RTLD_DEFAULT, ...): images, then the system; interposed as for everybody.
  Address lookup(std::string_view name) const;
  // An error that names the function if no image exports it.
  Result<std::uint64_t> call(std::string_view name, std::initializer_list<Argument> arguments);

  // Where getenv() finds a setting: the same place for the same text, as callers keep it.
  Address environment_text(const std::string& name, const std::string& value);
  // The name of the library that holds the address; empty for none.
  std::string_view library_of(Address address) const;

  // Everything but stubs and loaded images. Going back to it is much faster than starting again.
  struct Snapshot {
    Machine::Snapshot machine;
    Heap::State heap;
    ObjcRuntime::State objc;
    std::map<std::string, std::string> environment;
    std::map<std::string, Address> environment_texts;
    std::string out, err;
  };
  Snapshot save() const;
  void restore(const Snapshot& snapshot);

  // What the process wrote so far.
  std::string out;
  std::string err;
  // To 1 or 2; at most 16 MiB each, as what prints without end ends otherwise.
  void print(int descriptor, std::string_view text);

  // --- dispatch: blocks wait here until somebody waits for them
  struct Work {
    Address group = 0;
    Address block = 0;     // a block, or
    Address function = 0;  // a function with
    Address context = 0;
  };
  void enqueue(Work work) { pending_.push_back(work); }
  // Runs what waits in that group (0: everything).
  void run_pending(Address group);

 private:
  struct Loaded;

  explicit Process(ProcessOptions options, std::unique_ptr<Machine> machine);
  Status map_image(Loaded& loaded);
  Status bind_image(Loaded& loaded);
  Status adopt_objc(Loaded& loaded);
  Status read_interposing(Loaded& loaded);
  std::optional<Address> export_of(const Loaded& loaded, std::string_view name) const;
  Address resolve(const Loaded& loaded, const macho::Fixup& fixup);
  Address interposed(Address address, const Loaded* by) const;
  std::string describe(Address address) const;

  ProcessOptions options_;
  std::unique_ptr<Machine> machine_;
  Heap heap_;
  ObjcRuntime objc_;
  std::map<std::string, Address, std::less<>> system_;
  std::map<std::string, std::string> harmless_;
  std::map<std::string, Address, std::less<>> missing_;
  std::vector<std::unique_ptr<Loaded>> images_;
  struct Interposing {
    Address replacee = 0;
    Address replacement = 0;
    const Loaded* owner = nullptr;
  };
  std::vector<Interposing> interposing_;
  std::vector<Work> pending_;
  std::map<std::string, Address> environment_texts_;  // by "NAME=VALUE"
};

// The system libraries, one function each.
void add_c_library(Process& process);
void add_cxx_library(Process& process);
void add_dispatch(Process& process);
void add_objc(Process& process);
void add_foundation(Process& process);

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_PROCESS_H_
