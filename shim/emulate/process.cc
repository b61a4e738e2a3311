#include "shim/emulate/process.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/file.h"
#include "base/path.h"
#include "shim/macho/symbols.h"

namespace capbench::emulate {
namespace {

constexpr std::uint64_t kMaxLibraryBytes = 256U << 20U;
constexpr std::size_t kMaxOutput = 16U << 20U;
constexpr std::uint64_t kMaxImageBytes = 512U << 20U;

}  // namespace

struct Process::Loaded {
  Library library;
  macho::Image image;
  std::vector<macho::Fixup> fixups;
  std::vector<macho::Export> exports;
  std::vector<std::pair<Address, std::string_view>> names;  // of functions, by address as linked
  Address low = 0;                                          // as linked
  std::uint64_t size = 0;
  std::uint64_t slide = 0;
};

Result<Library> read_library(const std::filesystem::path& path, bool inserted) {
  Result<std::string> bytes = read_file(path, kMaxLibraryBytes);
  if (!bytes.ok()) return bytes.error();
  return Library{path.filename().string(), std::move(bytes).value(), inserted};
}

Process::Process(ProcessOptions options, std::unique_ptr<Machine> machine)
    : options_(std::move(options)), machine_(std::move(machine)), heap_(*machine_), objc_(*machine_, heap_) {}

Process::~Process() = default;

Result<std::unique_ptr<Process>> Process::create(ProcessOptions options) {
  Result<std::unique_ptr<Machine>> machine = Machine::create(options.limits);
  if (!machine.ok()) return machine.error();
  std::unique_ptr<Process> process(new Process(std::move(options), std::move(machine).value()));
  process->machine_->set_describe([raw = process.get()](Address address) { return raw->describe(address); });
  add_c_library(*process);
  add_cxx_library(*process);
  add_dispatch(*process);
  add_objc(*process);
  add_foundation(*process);
  if (process->machine_->failed()) return *process->machine_->error();
  return process;
}

void Process::define(std::string name, Stub stub) {
  const Address address = machine_->add_stub(name, std::move(stub));
  system_[std::move(name)] = address;
}

Address Process::define_data(std::string name, std::uint64_t size) {
  const Address address = heap_.allocate(size);
  system_[std::move(name)] = address;
  return address;
}

void Process::define_at(std::string name, Address address) {
  system_[std::move(name)] = address;
}

void Process::define_harmless(std::string name, std::string reason, std::uint64_t result) {
  define(name, [result](Call& call) { call.result(result); });
  harmless_[std::move(name)] = std::move(reason);
}

std::optional<Address> Process::system_symbol(std::string_view name) const {
  const auto found = system_.find(name);
  if (found == system_.end()) return std::nullopt;
  return found->second;
}

Status Process::load(std::vector<Library> libraries) {
  std::stable_partition(libraries.begin(), libraries.end(), [](const Library& library) { return library.inserted; });
  const std::size_t first = images_.size();
  for (Library& library : libraries) {
    images_.push_back(std::make_unique<Loaded>());
    images_.back()->library = std::move(library);
    if (Status mapped = map_image(*images_.back()); !mapped.ok()) {
      Error error = mapped.error();
      error.what = images_.back()->library.name + ": " + error.what;
      return error;
    }
  }
  for (std::size_t i = first; i < images_.size(); ++i) {
    if (!images_[i]->library.inserted) continue;
    if (Status read = read_interposing(*images_[i]); !read.ok()) return read;
  }
  for (std::size_t i = first; i < images_.size(); ++i) {
    if (Status bound = bind_image(*images_[i]); !bound.ok()) return bound;
  }
  for (std::size_t i = first; i < images_.size(); ++i) {
    if (Status adopted = adopt_objc(*images_[i]); !adopted.ok()) return adopted;
  }
  for (std::size_t i = first; i < images_.size(); ++i) {
    Loaded& loaded = *images_[i];
    const auto initialisers = macho::read_initialisers(loaded.image, loaded.fixups);
    if (!initialisers.ok()) return initialisers.error();
    for (const std::uint64_t function : *initialisers) {
      // argc, argv, envp, apple, program variables: none of ours reads them.
      const Result<std::uint64_t> done =
          machine_->call(function + loaded.slide, {word(0), word(0), word(0), word(0), word(0)});
      if (!done.ok()) return done.error();
    }
  }
  return {};
}

Status Process::map_image(Loaded& loaded) {
  const macho::Bytes bytes = macho::as_bytes(loaded.library.bytes);
  const auto slices = macho::read_slices(bytes);
  if (!slices.ok()) return slices.error();
  const auto slice = std::find_if(slices->begin(), slices->end(), [](const macho::Slice& candidate) {
    return candidate.architecture.arm64() && !candidate.architecture.arm64e();
  });
  if (slice == slices->end()) {
    return Error{ErrorKind::kUsage, loaded.library.name, "it has no arm64 part", "the library for Apple silicon"};
  }
  auto image = macho::read_image(slice->bytes);
  if (!image.ok()) return image.error();
  loaded.image = std::move(image).value();
  if (loaded.image.encrypted) {
    return Error{ErrorKind::kUsage, loaded.library.name, "its code is encrypted", "the library as built"};
  }

  std::uint64_t low = UINT64_MAX;
  std::uint64_t high = 0;
  for (const macho::Segment& segment : loaded.image.segments) {
    if (segment.vm_size == 0) continue;
    low = std::min(low, segment.address);
    if (segment.vm_size > kMaxImageBytes || segment.address > UINT64_MAX - segment.vm_size) {
      return macho::malformed(std::string(segment.name), "a segment larger than any library");
    }
    high = std::max(high, segment.address + segment.vm_size);
  }
  if (low >= high || high - low > kMaxImageBytes) return macho::malformed("its segments", "they span too much");
  loaded.low = low;
  loaded.size = high - low;
  const Address at = machine_->map(loaded.size, Protection::kReadWrite, loaded.library.name);
  if (machine_->failed()) return *machine_->error();
  loaded.slide = at - low;
  for (const macho::Segment& segment : loaded.image.segments) {
    const auto* const data = reinterpret_cast<const char*>(segment.bytes.data());
    if (!segment.bytes.empty()) machine_->write_bytes(segment.address + loaded.slide, {data, segment.bytes.size()});
  }

  auto fixups = macho::read_fixups(loaded.image);
  if (!fixups.ok()) return fixups.error();
  loaded.fixups = std::move(fixups).value();
  auto exports = macho::read_exports(loaded.image);
  if (!exports.ok()) return exports.error();
  loaded.exports = std::move(exports).value();
  const auto symbols = macho::read_symbols(loaded.image);
  if (!symbols.ok()) return symbols.error();
  for (const macho::Symbol& symbol : *symbols) {
    if (symbol.defined() && symbol.section != 0) loaded.names.emplace_back(symbol.value, symbol.name);
  }
  std::sort(loaded.names.begin(), loaded.names.end());
  return {};
}

// Pairs of (replacement, replacee); the replacee is what the image imports, so it must be resolved first.
Status Process::read_interposing(Loaded& loaded) {
  for (const macho::Segment& segment : loaded.image.segments) {
    for (const macho::Section& section : segment.sections) {
      if (section.type() != macho::kSectionInterposing && section.name != "__interpose") continue;
      const auto word_at = [&](std::uint64_t address) -> Address {
        for (const macho::Fixup& fixup : loaded.fixups) {
          if (fixup.address != address) continue;
          if (fixup.kind == macho::FixupKind::kRebase) return fixup.target + loaded.slide;
          return resolve(loaded, fixup);
        }
        return machine_->read<Address>(address + loaded.slide);
      };
      for (std::uint64_t offset = 0; section.size >= 16 && offset <= section.size - 16; offset += 16) {
        interposing_.push_back({word_at(section.address + offset + 8), word_at(section.address + offset), &loaded});
      }
    }
  }
  if (machine_->failed()) return *machine_->error();
  return {};
}

Status Process::bind_image(Loaded& loaded) {
  for (const macho::Fixup& fixup : loaded.fixups) {
    const Address at = fixup.address + loaded.slide;
    if (fixup.kind == macho::FixupKind::kRebase) {
      machine_->write(at, fixup.target + loaded.slide);
      continue;
    }
    const Address target = interposed(resolve(loaded, fixup), &loaded);
    machine_->write(at, target == 0 ? 0 : target + static_cast<std::uint64_t>(fixup.addend));
  }
  for (const macho::Segment& segment : loaded.image.segments) {
    if (segment.vm_size == 0) continue;
    const bool execute = (segment.init_prot & macho::kProtExecute) != 0;
    const bool write = (segment.init_prot & macho::kProtWrite) != 0;
    const Protection protection = execute ? Protection::kReadExecute
                                  : write ? Protection::kReadWrite
                                          : Protection::kRead;
    // Segments that do not start on a page of 16 KiB keep what their neighbours need.
    if ((segment.address + loaded.slide) % 16384 == 0) {
      machine_->protect(segment.address + loaded.slide, segment.vm_size, protection);
    }
  }
  if (machine_->failed()) return *machine_->error();
  return {};
}

Status Process::adopt_objc(Loaded& loaded) {
  for (const macho::Segment& segment : loaded.image.segments) {
    for (const macho::Section& section : segment.sections) {
      const bool selectors = section.name == "__objc_selrefs";
      const bool classes = section.name == "__objc_classlist";
      if (!selectors && !classes) continue;
      for (std::uint64_t offset = 0; section.size >= 8 && offset <= section.size - 8; offset += 8) {
        const Address at = section.address + loaded.slide + offset;
        const auto value = machine_->read<Address>(at);
        if (machine_->failed()) return *machine_->error();
        if (selectors) {
          machine_->write(at, objc_.selector(machine_->c_string(value)));
        } else {
          // class_t: data at 32 (two flag bits low); class_ro_t: name at 24, methods at 32.
          const Address data = machine_->read<Address>(value + 32) & ~std::uint64_t{7};
          const auto name = machine_->read<Address>(data + 24);
          const auto methods = machine_->read<Address>(data + 32);
          if (methods != 0) {
            return Error{ErrorKind::kUsage, loaded.library.name,
                         fmt::format("its class {} has methods of its own", machine_->c_string(name)),
                         "a release that is known to run"};
          }
          objc_.adopt_class(machine_->c_string(name), value);
        }
      }
    }
  }
  if (machine_->failed()) return *machine_->error();
  return {};
}

std::optional<Address> Process::export_of(const Loaded& loaded, std::string_view name) const {
  const macho::Export* const found = macho::find_export(loaded.exports, name);
  if (found == nullptr || found->kind == macho::ExportKind::kReexport ||
      found->kind == macho::ExportKind::kThreadLocal || found->resolver != 0) {
    return std::nullopt;
  }
  return found->kind == macho::ExportKind::kAbsolute ? found->address : found->address + loaded.slide;
}

Address Process::resolve(const Loaded& loaded, const macho::Fixup& fixup) {
  const auto& libraries = loaded.image.libraries;
  const bool flat = fixup.library == macho::kOrdinalFlat || fixup.library == macho::kOrdinalWeak;
  std::string_view library;
  if (fixup.library > 0 && static_cast<std::size_t>(fixup.library) <= libraries.size()) {
    library = libraries[static_cast<std::size_t>(fixup.library) - 1].path;
  }
  bool ours = false;
  for (const auto& candidate : images_) {
    const bool self = fixup.library == macho::kOrdinalSelf && candidate.get() == &loaded;
    const bool named = !library.empty() && (base_name(candidate->image.install_name) == base_name(library) ||
                                            candidate->library.name == base_name(library));
    if (!flat && !self && !named) continue;
    ours = ours || named;
    if (const auto address = export_of(*candidate, fixup.symbol)) return *address;
  }
  if (!ours) {
    if (const auto address = system_symbol(fixup.symbol)) return *address;
  }
  if (fixup.weak_import) return 0;
  const auto known = missing_.find(fixup.symbol);
  if (known != missing_.end()) return known->second;
  const std::string from = library.empty() ? std::string() : fmt::format(" from {}", base_name(library));
  const Address address = machine_->add_missing(
      std::string(fixup.symbol), {ErrorKind::kUsage, loaded.library.name,
                                  fmt::format("it needs {}{}, which the emulator does not have", fixup.symbol, from),
                                  "a release that is known to run"});
  missing_.emplace(fixup.symbol, address);
  return address;
}

// dyld replaces in every image but the one that interposes.
Address Process::interposed(Address address, const Loaded* by) const {
  for (const Interposing& pair : interposing_) {
    if (pair.replacee == address && pair.owner != by) address = pair.replacement;
  }
  return address;
}

std::optional<Address> Process::find(std::string_view name) const {
  for (const auto& loaded : images_) {
    if (const auto address = export_of(*loaded, name)) return address;
  }
  return std::nullopt;
}

Address Process::lookup(std::string_view name) const {
  Address address = find(name).value_or(0);
  if (address == 0) address = system_symbol(name).value_or(0);
  return interposed(address, nullptr);
}

Result<std::uint64_t> Process::call(std::string_view name, std::initializer_list<Argument> arguments) {
  const auto address = find(name);
  if (!address) {
    const std::string_view where = images_.empty() ? "the process" : std::string_view(images_.back()->library.name);
    return Error{ErrorKind::kUsage, std::string(where), fmt::format("it has no function {}", name),
                 "a release that is known to run"};
  }
  return machine_->call(*address, arguments);
}

void Process::run_pending(Address group) {
  // A block may add others.
  for (std::size_t i = 0; i < pending_.size() && !machine_->failed();) {
    const Work work = pending_[i];
    if (group != 0 && work.group != group) {
      ++i;
      continue;
    }
    pending_.erase(pending_.begin() + static_cast<std::ptrdiff_t>(i));
    if (work.block != 0) {
      (void)machine_->call(machine_->read<Address>(work.block + 16), {word(work.block)});
    } else {
      (void)machine_->call(work.function, {word(work.context)});
    }
    i = 0;
  }
}

void Process::print(int descriptor, std::string_view text) {
  std::string& stream = descriptor == 1 ? out : err;
  if (text.size() > kMaxOutput - stream.size()) {
    machine_->fail({ErrorKind::kUsage, "the emulated program", fmt::format("prints more than {} bytes", kMaxOutput),
                    "a library as published"});
    return;
  }
  stream += text;
}

Address Process::environment_text(const std::string& name, const std::string& value) {
  Address& text = environment_texts_[name + "=" + value];
  if (text == 0) text = heap_.text(value);
  return text;
}

Process::Snapshot Process::save() const {
  return {machine_->save(), heap_.state(), objc_.state(), options_.environment, environment_texts_, out, err};
}

void Process::restore(const Snapshot& snapshot) {
  machine_->restore(snapshot.machine);
  heap_.restore(snapshot.heap);
  objc_.restore(snapshot.objc);
  options_.environment = snapshot.environment;
  environment_texts_ = snapshot.environment_texts;
  out = snapshot.out;
  err = snapshot.err;
  pending_.clear();
}

std::string_view Process::library_of(Address address) const {
  for (const auto& loaded : images_) {
    const Address linked = address - loaded->slide;
    if (linked >= loaded->low && linked - loaded->low < loaded->size) return loaded->library.name;
  }
  return {};
}

std::string Process::describe(Address address) const {
  for (const auto& loaded : images_) {
    const Address linked = address - loaded->slide;
    if (linked < loaded->low || linked - loaded->low >= loaded->size) continue;
    const auto after = std::upper_bound(
        loaded->names.begin(), loaded->names.end(), linked,
        [](Address value, const std::pair<Address, std::string_view>& entry) { return value < entry.first; });
    if (after == loaded->names.begin()) return fmt::format("{} at {:#x}", loaded->library.name, linked);
    const auto& [start, name] = *(after - 1);
    return fmt::format("{}: {} + {}", loaded->library.name, name, linked - start);
  }
  return {};
}

}  // namespace capbench::emulate
