#include "shim/inspect/inspect.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "shim/macho/exports.h"
#include "shim/macho/fixups.h"
#include "shim/macho/signature.h"

namespace capbench::shim::inspect {
namespace {

Role role_of(const macho::Image& image) {
  switch (static_cast<macho::FileType>(image.file_type)) {
    case macho::FileType::kExecute:
      return Role::kProgram;
    case macho::FileType::kDylib:
    case macho::FileType::kBundle:
      return Role::kLibrary;
    default:
      return Role::kNeither;
  }
}

Role role_of(ElfKind kind) {
  switch (kind) {
    case ElfKind::kExecutable:
    case ElfKind::kPie:
    case ElfKind::kStatic:
    case ElfKind::kStaticPie:
      return Role::kProgram;
    case ElfKind::kSharedLibrary:
      return Role::kLibrary;
    default:
      return Role::kNeither;
  }
}

SignatureFacts signature_facts(const macho::Signature& signature) {
  SignatureFacts facts;
  facts.adhoc = signature.adhoc();
  facts.linker_signed = signature.linker_signed();
  facts.hardened_runtime = signature.hardened_runtime();
  facts.library_validation = signature.library_validation();
  facts.restricted = signature.restricted();
  facts.certificate = signature.cms;
  facts.platform_binary = signature.platform != 0;
  facts.identifier = signature.identifier;
  facts.team = signature.team;
  const auto has = [&](std::string_view key) { return macho::entitled(signature.entitlements, key); };
  facts.allow_dyld_variables = has("com.apple.security.cs.allow-dyld-environment-variables");
  facts.disable_library_validation = has("com.apple.security.cs.disable-library-validation");
  facts.get_task_allow = has("com.apple.security.get-task-allow");
  facts.app_sandbox = has("com.apple.security.app-sandbox");
  return facts;
}

Result<MachOFacts> macho_facts(const macho::Image& image) {
  MachOFacts facts;
  facts.arm64 = image.architecture.arm64();
  facts.arm64e = image.architecture.arm64e();
  facts.restricted_segment = image.restricted;
  facts.encrypted = image.encrypted;
  for (const macho::BuildVersion& build : image.builds) {
    facts.minimum_os.push_back({std::string(macho::platform_name(build.platform)), macho::packed_version(build.minos),
                                build.sdk == 0 ? "" : macho::packed_version(build.sdk)});
  }
  const Result<std::optional<macho::Signature>> signature = macho::read_signature(image);
  if (!signature) return signature.error();
  if (signature->has_value()) facts.signature = signature_facts(**signature);
  return facts;
}

Result<ImageFacts> image_facts(const macho::Image& image) {
  ImageFacts facts;
  facts.architecture = macho::architecture_name(image.architecture);
  facts.kind = macho::file_type_name(image.file_type);
  facts.role = role_of(image);
  facts.install_name = image.install_name;
  for (const macho::LinkedLibrary& library : image.libraries) {
    facts.libraries.push_back({std::string(library.path), std::string(macho::link_kind_name(library.kind))});
  }
  for (const std::string_view path : image.rpaths) facts.run_paths.emplace_back(path);
  if (image.uuid) {
    for (const std::uint8_t byte : *image.uuid) facts.build_id += fmt::format("{:02x}", byte);
  }
  Result<MachOFacts> macho = macho_facts(image);
  if (!macho) return macho.error();
  facts.macho = std::move(macho).value();
  if (facts.role == Role::kNeither) return facts;
  const Result<std::vector<macho::Fixup>> fixups = macho::read_fixups(image);
  if (!fixups) return fixups.error();
  const Result<std::vector<macho::Export>> exports = macho::read_exports(image);
  if (!exports) return exports.error();
  facts.exported_symbols = exports->size();
  std::vector<std::string_view> imports;
  for (const macho::Fixup& fixup : *fixups) {
    if (fixup.kind != macho::FixupKind::kRebase) imports.push_back(fixup.symbol);
  }
  std::sort(imports.begin(), imports.end());
  facts.imported_symbols = static_cast<std::uint64_t>(std::unique(imports.begin(), imports.end()) - imports.begin());
  facts.questions = questions_of(image, *fixups);
  return facts;
}

ImageFacts image_facts(const Elf& elf) {
  ImageFacts facts;
  facts.architecture = machine_name(elf.machine);
  facts.kind = elf_kind_name(elf.kind);
  facts.role = role_of(elf.kind);
  facts.install_name = elf.soname;
  for (const std::string_view name : elf.needed) facts.libraries.push_back({std::string(name), "regular"});
  for (const std::string_view path : elf.run_paths) facts.run_paths.emplace_back(path);
  facts.build_id = elf.build_id;
  facts.exported_symbols = elf.exports.size();
  facts.imported_symbols = elf.imports.size();
  facts.elf = ElfFacts{elf.kind == ElfKind::kStatic || elf.kind == ElfKind::kStaticPie, std::string(elf.interpreter)};
  facts.questions = questions_of(elf);
  return facts;
}

// macOS on Apple silicon runs arm64 before x86_64, and arm64e of others only where it is alone.
std::size_t running_image(const std::vector<InspectedImage>& images) {
  for (const std::string_view architecture : {"arm64", "arm64e", "x86_64"}) {
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (images[i].facts.architecture == architecture) return i;
    }
  }
  return 0;
}

Result<std::vector<InspectedImage>> macho_images(Bytes bytes, const FileStatus& status, const ShimFacts& shim) {
  const Result<std::vector<macho::Slice>> slices = macho::read_slices(bytes);
  if (!slices) return slices.error();
  std::vector<InspectedImage> images;
  for (const macho::Slice& slice : *slices) {
    const auto in_slice = [&](Error error) {
      if (slices->size() > 1) error.what += " of the slice for " + macho::architecture_name(slice.architecture);
      return error;
    };
    const Result<macho::Image> image = macho::read_image(slice.bytes);
    if (!image) return in_slice(image.error());
    Result<ImageFacts> facts = image_facts(*image);
    if (!facts) return in_slice(std::move(facts).error());
    Verdict verdict = judge(*facts, status, shim);
    images.push_back({std::move(facts).value(), std::move(verdict)});
  }
  return images;
}

}  // namespace

Result<Inspection> inspect(Bytes bytes, const FileStatus& status, const ShimFacts& shim) {
  Inspection inspection;
  inspection.file = status.path;
  inspection.size = bytes.size();
  inspection.sha256 = sha256({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (looks_like_elf(bytes)) {
    inspection.format = Format::kElf;
    const Result<Elf> elf = read_elf(bytes);
    if (!elf) return elf.error();
    ImageFacts facts = image_facts(*elf);
    Verdict verdict = judge(facts, status, shim);
    inspection.images.push_back({std::move(facts), std::move(verdict)});
    return inspection;
  }
  if (!macho::looks_like_macho(bytes)) {
    if (macho::big<std::uint16_t>(bytes, 0) == 0x2321) {
      return Error{ErrorKind::kUsage, "file", "is a script, not a binary", "inspect the program that it starts"};
    }
    return Error{ErrorKind::kUsage, "file", "is neither a Mach-O nor an ELF binary",
                 "name a program or a library, as llama-bench or libggml-metal.so"};
  }
  inspection.format = Format::kMachO;
  Result<std::vector<InspectedImage>> images = macho_images(bytes, status, shim);
  if (!images) return images.error();
  inspection.images = std::move(images).value();
  inspection.runs = running_image(inspection.images);
  return inspection;
}

}  // namespace capbench::shim::inspect
