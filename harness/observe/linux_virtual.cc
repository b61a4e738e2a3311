#include <algorithm>
#include <array>

#include "harness/observe/facts.h"

namespace capbench::observe {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

struct Mark {
  std::string_view text;  // lower case
  std::string_view name;
};

// What gives a virtual machine its name; a platform before the hypervisor that it is made with.
constexpr std::array<Mark, 20> kNames{{{"amazon ec2", "Amazon EC2"},
                                       {"google compute engine", "Google Compute Engine"},
                                       {"apple", "Apple Virtualization"},
                                       {"parallels", "Parallels"},
                                       {"prlhyperv", "Parallels"},
                                       {"vmware", "VMware"},
                                       {"virtualbox", "VirtualBox"},
                                       {"oracle", "VirtualBox"},
                                       {"microsoft", "Hyper-V"},
                                       {"hyper-v", "Hyper-V"},
                                       {"wsl", "Hyper-V"},
                                       {"xen", "Xen"},
                                       {"bhyve", "bhyve"},
                                       {"tcgtcgtcg", "QEMU (emulated)"},
                                       {"qemu", "KVM"},
                                       {"kvm", "KVM"},
                                       {"linux,dummy-virt", "KVM"},
                                       {"google", "Google Compute Engine"},
                                       {"amazon", "Amazon EC2"},
                                       {"zvm", "z/VM"}}};

// Products that only virtual machines have: processors other than x86 have no flag that tells.
constexpr std::array<std::string_view, 8> kVirtualProducts{
    "qemu",       "kvm virtual machine",   "apple virtualization", "vmware virtual",
    "virtualbox", "parallels arm virtual", "parallels virtual",    "linux,dummy-virt"};

std::string container_of(const SourceTexts& texts) {
  if (const std::string word = first_line_of(texts, "detect_container"); !word.empty()) return word;
  std::string found;
  for_each_line(text_of(texts, "container_marks"), [&](std::string_view line) {
    if (line.ends_with("/.dockerenv")) found = "docker";
    if (line.ends_with("/.containerenv")) found = "podman";
  });
  return found;
}

}  // namespace

void add_linux_virtual(const SourceTexts& texts, Facts& facts) {
  FactGroup& machine = facts.machine;
  const std::string product = lower(machine.text("vendor") + " " + machine.text("product"));
  const std::string type = first_line_of(texts, "hypervisor_type");
  const std::string vendor = value_of(lscpu_fields(text_of(texts, "lscpu")), "Hypervisor vendor");
  const std::string detected = first_line_of(texts, "detect_virt");
  const std::string kernel = lower(machine.text("kernel"));
  const bool wsl = kernel.find("microsoft") != std::string::npos;
  if (wsl) machine.set("wsl", kernel.find("wsl2") != std::string::npos ? "WSL2" : "WSL1");

  const bool flagged = (" " + machine.text("cpu_flags") + " ").find(" hypervisor ") != std::string::npos;
  const bool by_product = std::any_of(kVirtualProducts.begin(), kVirtualProducts.end(),
                                      [&](std::string_view mark) { return product.find(mark) != std::string::npos; });
  const bool guest =
      flagged || by_product || !type.empty() || !vendor.empty() || !detected.empty() || machine.text("wsl") == "WSL2";
  machine.set_flag("guest", guest);
  if (guest) {
    std::string name = "an unnamed hypervisor";
    const std::string all = product + " " + lower(type + " " + vendor + " " + detected) + (wsl ? " microsoft" : "");
    for (const Mark& mark : kNames) {
      if (all.find(mark.text) == std::string::npos) continue;
      name = mark.name;
      break;
    }
    // The tool says "kvm" where KVM runs the guest, and "qemu" where nothing but QEMU does.
    if (detected == "qemu") name = "QEMU (emulated)";
    machine.set("hypervisor", name);
  }
  if (const std::string container = container_of(texts); container != "wsl") machine.set("container", container);
}

}  // namespace capbench::observe
