#include "shim/inspect/verdict.h"

#include <fmt/format.h>

#include <algorithm>

namespace capbench::shim::inspect {
namespace {

constexpr std::string_view kResign =
    "copy it and sign the copy ad hoc: `cp FILE COPY && codesign -f -s - COPY`; run COPY, delete it to undo";

class Judge {
 public:
  Judge(const ImageFacts& image, const FileStatus& file, const ShimFacts& shim)
      : image_(image), file_(file), shim_(shim) {}

  Verdict verdict() {
    if (image_.role == Role::kNeither) {
      blocked("not-a-program", "is neither a program nor a library: " + image_.kind, "inspect the program that is run");
    }
    if (image_.macho) macho(*image_.macho);
    if (image_.elf) elf(*image_.elf);
    verdict_.injection = !verdict_.obstacles.empty()     ? Injection::kBlocked
                         : image_.role == Role::kLibrary ? Injection::kProgramDecides
                                                         : Injection::kWorks;
    if (image_.role == Role::kLibrary) {
      note("inspect that program as well");
    }
    return std::move(verdict_);
  }

 private:
  void blocked(std::string code, std::string why, std::string remedy) {
    verdict_.obstacles.push_back({std::move(code), std::move(why), std::move(remedy)});
  }
  void note(std::string text) { verdict_.notes.push_back(std::move(text)); }

  void privileges(std::string_view variables) {
    if (!file_.setuid && !file_.setgid) return;
    const std::string_view bit = file_.setuid ? "setuid" : "setgid";
    blocked(std::string(bit),
            fmt::format("it is {}: run by anybody but its {}, it ignores {}", bit, file_.setuid ? "owner" : "group",
                        variables),
            "run a copy without the bit: `cp FILE COPY`; delete COPY to undo");
  }

  void macho(const MachOFacts& facts) {
    verdict_.mechanism = "DYLD_INSERT_LIBRARIES";
    architecture(facts);
    if (image_.role != Role::kProgram) return;
    privileges("DYLD_* variables");
    if (facts.restricted_segment) {
      blocked("restricted-segment", "it has a __RESTRICT,__restrict section: dyld ignores DYLD_* variables",
              "link it without `-sectcreate __RESTRICT __restrict`");
    }
    const bool platform = facts.signature && facts.signature->platform_binary;
    if (protected_path(file_.path) || platform) {
      blocked("system-integrity-protection",
              "it belongs to macOS: System Integrity Protection removes DYLD_* variables when it starts",
              std::string(kResign));
    }
    if (facts.signature) {
      signature(*facts.signature);
    } else if (facts.arm64) {
      blocked("unsigned", "it has no signature: the kernel kills arm64 programs without one",
              "sign it ad hoc: `codesign -s - FILE`; undo with `codesign --remove-signature FILE`");
    }
    if (facts.encrypted) {
      note("its code is encrypted (App Store): it cannot be signed again, and its selectors may not be readable");
    }
    note("set the variables on the last `exec` only: a protected /bin/sh or /usr/bin/env in between drops them");
  }

  void architecture(const MachOFacts& facts) {
    if (shim_fits()) return;
    blocked(facts.arm64e ? "arm64e" : "architecture",
            fmt::format("it is {} and the shim {}: dyld ends the process", image_.architecture,
                        fmt::join(shim_.architectures, ", ")),
            facts.arm64e ? "a shim built on macOS, which has an arm64e slice; name it with --shim"
                         : fmt::format("a build of the program for arm64, or a shim with {} named with --shim",
                                       image_.architecture));
  }

  void signature(const SignatureFacts& facts) {
    if (facts.restricted) {
      blocked("restricted-signature", "its signature has the restrict flag: dyld ignores DYLD_* variables",
              std::string(kResign));
    }
    if (facts.hardened_runtime && !facts.allow_dyld_variables) {
      blocked("hardened-runtime",
              "the hardened runtime ignores DYLD_* variables, and it lacks the entitlement "
              "com.apple.security.cs.allow-dyld-environment-variables",
              std::string(kResign));
    }
    const bool validates = facts.library_validation || facts.hardened_runtime;
    const bool same_team = !facts.team.empty() && facts.team == shim_.team;
    if (validates && !facts.disable_library_validation && !same_team) {
      blocked("library-validation",
              fmt::format("library validation refuses a library that {} did not sign, and it lacks the entitlement "
                          "com.apple.security.cs.disable-library-validation",
                          facts.team.empty() ? "Apple" : "Apple or team " + facts.team),
              std::string(kResign));
    }
    if (facts.app_sandbox) note("it runs in the App Sandbox: put the shim where it may read, as into its bundle");
    if (facts.get_task_allow) note("a debug build (get-task-allow): debuggers may attach");
    if (!verdict_.obstacles.empty()) {
      if (facts.certificate) note("signed ad hoc, a copy loses its entitlements and its access to keychain items");
      note("with System Integrity Protection off, as in some VM images, macOS does not enforce these rules");
    }
  }

  void elf(const ElfFacts& facts) {
    verdict_.mechanism = "LD_PRELOAD";
    if (shim_.given && !shim_fits()) {
      blocked("architecture",
              fmt::format("it is {} and the shim {}: the dynamic linker leaves the shim out", image_.architecture,
                          fmt::join(shim_.architectures, ", ")),
              fmt::format("a shim built for {}", image_.architecture));
    }
    if (image_.role != Role::kProgram) return;
    if (facts.linked_statically) {
      blocked("static", "it is linked statically: no dynamic linker reads LD_PRELOAD, and no Vulkan layer is loaded",
              "use a dynamically linked build");
    }
    privileges("LD_PRELOAD of a path, and the Vulkan loader VK_LAYER_PATH");
    if (file_.file_capabilities) {
      blocked("file-capabilities", "it has file capabilities: such processes ignore LD_PRELOAD and VK_LAYER_PATH",
              "run a copy, which has none: `cp FILE COPY`; delete COPY to undo");
    }
    if (facts.interpreter.find("ld-musl") != std::string::npos) {
      blocked("c-library", "its C library is musl, and the shims here need glibc",
              "use a build for glibc, or build the shim where the program was built");
    }
    if (image_.architecture != "x86-64" && asks("cpu")) {
      note(fmt::format("the cpu shim knows levels of x86-64 only; this program is {}", image_.architecture));
    }
    if (asks("vulkan")) {
      note("for vulkan.*, VK_INSTANCE_LAYERS and VK_LAYER_PATH put the layer in; LD_PRELOAD is for cpu.* only");
    }
    note("children of the process inherit LD_PRELOAD: set it on the last `exec` only");
  }

  bool shim_fits() const {
    const std::vector<std::string>& have = shim_.architectures;
    return std::find(have.begin(), have.end(), image_.architecture) != have.end();
  }

  bool asks(std::string_view domain) const {
    return std::any_of(image_.questions.begin(), image_.questions.end(),
                       [domain](const Question& question) { return question.domain == domain; });
  }

  const ImageFacts& image_;
  const FileStatus& file_;
  const ShimFacts& shim_;
  Verdict verdict_;
};

bool below(std::string_view path, std::string_view folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

}  // namespace

std::string_view injection_name(Injection injection) {
  switch (injection) {
    case Injection::kWorks:
      return "works";
    case Injection::kBlocked:
      return "blocked";
    case Injection::kProgramDecides:
      return "program-decides";
  }
  return "blocked";
}

bool protected_path(std::string_view absolute_path) {
  if (below(absolute_path, "/usr/local") || below(absolute_path, "/System/Volumes/Data")) return false;
  const auto folders = {"/System", "/usr", "/bin", "/sbin"};
  return std::any_of(folders.begin(), folders.end(),
                     [absolute_path](std::string_view folder) { return below(absolute_path, folder); });
}

Verdict judge(const ImageFacts& image, const FileStatus& file, const ShimFacts& shim) {
  return Judge(image, file, shim).verdict();
}

}  // namespace capbench::shim::inspect
