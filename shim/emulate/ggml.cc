#include "shim/emulate/ggml.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

namespace capbench::emulate {
namespace {

constexpr std::string_view kBaseName = "libggml-base.dylib";

// The line after "FUNCTION: ", if the log line is ggml's.
std::optional<std::string_view> message_of(std::string_view line) {
  constexpr std::string_view kPrefix = "ggml_metal_";
  const std::size_t colon = line.find(": ");
  if (!line.starts_with(kPrefix) || colon == std::string_view::npos) return std::nullopt;
  return line.substr(colon + 2);
}

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// Releases before the device was a thing of its own had other words for two of them.
std::string modern_name(std::string_view name) {
  if (name == "hasUnifiedMemory") return "has unified memory";
  if (name == "has residency sets") return "use residency sets";
  return std::string(name);
}

// In the order of ggml_metal_device_props, all releases that have it; later ones put more behind.
constexpr std::array<std::string_view, 7> kFlags = {
    "simdgroup reduction", "simdgroup matrix mul.", "has unified memory", "has bfloat",
    "has tensor",          "use residency sets",    "use shared buffers",
};
constexpr std::uint64_t kMaxProps = 1024;

}  // namespace

Result<GgmlLibraries> read_ggml(const std::string& metal, const std::string& shim) {
  const std::filesystem::path path(metal);
  auto library = read_library(path);
  if (!library.ok()) return library.error();
  if (!macho::looks_like_macho(macho::as_bytes(library->bytes))) {
    return Error{ErrorKind::kUsage, metal, "not a library for macOS",
                 "the libggml-metal.so of a release for Apple silicon"};
  }
  auto base = read_library(path.parent_path() / kBaseName);
  if (!base.ok()) {
    Error error = base.error();
    error.remedy = fmt::format("the folder of the release: {} belongs beside {}", kBaseName, library->name);
    return error;
  }
  GgmlLibraries libraries{std::move(library).value(), std::move(base).value(), std::nullopt};
  if (!shim.empty()) {
    auto inserted = read_library(shim, true);
    if (!inserted.ok()) return inserted.error();
    libraries.shim = std::move(inserted).value();
  }
  return libraries;
}

Result<std::unique_ptr<Ggml>> Ggml::load(const GgmlLibraries& libraries, const DeviceProfile& profile,
                                         const std::map<std::string, std::string>& environment, const Limits& limits) {
  ProcessOptions options;
  options.environment = environment;
  options.limits = limits;
  auto process = Process::create(std::move(options));
  if (!process.ok()) return process.error();
  std::unique_ptr<Ggml> ggml(new Ggml);
  ggml->library_ = libraries.metal.name;
  ggml->process_ = std::move(process).value();
  ggml->device_ = std::make_unique<MetalDevice>(*ggml->process_, profile);
  std::vector<Library> loaded;
  if (libraries.shim) loaded.push_back(*libraries.shim);
  loaded.push_back(libraries.base);
  loaded.push_back(libraries.metal);
  if (Status status = ggml->process_->load(std::move(loaded)); !status.ok()) return status.error();
  return ggml;
}

Status Ggml::initialise() {
  const Machine& machine = process_->machine();
  const Address reg = call("ggml_backend_metal_reg", {});
  const Address count = call("ggml_backend_reg_dev_count", {word(reg)});
  dev_ = count == 0 ? 0 : call("ggml_backend_reg_dev_get", {word(reg), word(0)});
  if (machine.failed()) return *machine.error();
  if (dev_ == 0) {
    return Error{ErrorKind::kUsage, library_, "it registers no Metal device",
                 "a profile that it accepts, as --guest m1"};
  }
  // Old releases say nothing until a backend is made of the device.
  if (log().find("simdgroup reduction") == std::string_view::npos) {
    call("ggml_backend_dev_init", {word(dev_), word(0)});
    if (machine.failed()) return *machine.error();
  }
  return {};
}

Result<std::unique_ptr<Ggml>> Ggml::start(const GgmlLibraries& libraries, const DeviceProfile& profile,
                                          const std::map<std::string, std::string>& environment, const Limits& limits) {
  auto ggml = load(libraries, profile, environment, limits);
  if (!ggml.ok()) return ggml;
  if (Status status = (*ggml)->initialise(); !status.ok()) return status.error();
  return ggml;
}

void Ggml::restore(const Process::Snapshot& snapshot, const DeviceProfile& profile) {
  process_->restore(snapshot);
  device_->reset(profile);
  dev_ = 0;
}

Address Ggml::call(std::string_view name, std::initializer_list<Argument> arguments) {
  const Result<std::uint64_t> result = process_->call("_" + std::string(name), arguments);
  if (result.ok()) return *result;
  process_->machine().fail(result.error());
  return 0;
}

std::string Ggml::text(std::string_view name, std::initializer_list<Argument> arguments) {
  const Address text = call(name, arguments);
  return text == 0 ? std::string() : process_->machine().c_string(text);
}

std::string Ggml::version() {
  if (!has("ggml_version") || !has("ggml_commit")) return {};
  return fmt::format("ggml {} ({})", text("ggml_version", {}), text("ggml_commit", {}));
}

std::string Ggml::description() {
  return text("ggml_backend_dev_description", {word(dev_)});
}

std::uint64_t Ggml::total_memory() {
  const Address numbers = process_->heap().allocate(16);
  call("ggml_backend_dev_memory", {word(dev_), word(numbers), word(numbers + 8)});
  return process_->machine().read<std::uint64_t>(numbers + 8);
}

bool Ggml::supports(Address tensor) {
  return (call("ggml_backend_dev_supports_op", {word(dev_), word(tensor)}) & 0xffU) != 0;
}

DerivedProperties Ggml::properties() {
  DerivedProperties properties = logged_properties();
  read_props(properties);
  return properties;
}

DerivedProperties Ggml::logged_properties() const {
  DerivedProperties properties;
  std::string_view rest = log();
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const auto message = message_of(line);
    if (!message) continue;
    constexpr std::string_view kFamily = "GPU family: MTLGPUFamily";
    if (message->starts_with(kFamily)) {
      // "MTLGPUFamilyApple5  (1005)"
      const std::string_view family = message->substr(kFamily.size());
      const std::size_t digit = family.find_first_of("0123456789");
      const std::size_t space = std::min(family.find(' '), family.size());
      if (digit == std::string_view::npos || digit > space) continue;
      properties["GPU family " + std::string(family.substr(0, digit))] = family.substr(digit, space - digit);
      continue;
    }
    const std::size_t equals = message->find(" = ");
    if (equals == std::string_view::npos) continue;
    const std::string_view name = trim(message->substr(0, equals));
    const std::string_view value = trim(message->substr(equals + 3));
    // Other lines with a '=' are sentences.
    const bool number = value.find_first_not_of("0123456789. MB") == std::string_view::npos;
    if (value != "true" && value != "false" && !number) continue;
    if (name.find_first_of("(:'") != std::string_view::npos) continue;
    properties[modern_name(name)] = value;
  }
  return properties;
}

// The structure's layout differs between releases. It is found by what must be in it: the device's largest buffer, its
// working set and its threadgroup memory, side by side, with the flags behind. It counts only if every flag that ggml
// also printed is the same.
void Ggml::read_props(DerivedProperties& properties) {
  if (!has("ggml_metal_device_get") || !has("ggml_metal_device_get_props")) return;
  Machine& machine = process_->machine();
  const Address props = call("ggml_metal_device_get_props", {word(call("ggml_metal_device_get", {word(0)}))});
  if (machine.failed() || props == 0) return;
  const auto told = [this](std::string_view selector) {
    std::uint64_t value = 0;
    for (const Asked& asked : device_->asked()) {
      if (asked.selector == selector) value = std::strtoull(asked.told.c_str(), nullptr, 10);
    }
    return value;
  };
  const std::array<std::uint64_t, 3> wanted = {told("maxBufferLength"), told("recommendedMaxWorkingSetSize"),
                                               told("maxThreadgroupMemoryLength")};
  for (std::uint64_t offset = 0; offset < kMaxProps; offset += 8) {
    if (machine.find(props + offset, 24 + kFlags.size()) == nullptr) return;
    bool found = true;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      found = found && machine.read<std::uint64_t>(props + offset + 8 * i) == wanted[i];
    }
    if (!found) continue;
    DerivedProperties read;
    for (std::size_t i = 0; i < kFlags.size(); ++i) {
      const auto flag = machine.read<std::uint8_t>(props + offset + 24 + i);
      const std::string name(kFlags[i]);
      read[name] = flag != 0 ? "true" : "false";
      const auto printed = properties.find(name);
      if (flag > 1 || (printed != properties.end() && printed->second != read[name])) return;
    }
    properties.insert(read.begin(), read.end());
    properties["max buffer size"] = fmt::format("{}", wanted[0]);
    properties["max threadgroup memory"] = fmt::format("{}", wanted[2]);
    return;
  }
}

}  // namespace capbench::emulate
