#include "shim/inspect/questions.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

namespace capbench::shim::inspect {
namespace {

// What a question looks like in a file.
enum class Form : std::uint8_t { kSelector, kSymbol, kString };

struct Known {
  std::string_view name;
  Form form;
  std::string_view domain;
  std::array<std::string_view, 8> capabilities = {};  // names of toggles, empty ones behind
  bool entry_point = false;
};

constexpr std::array<std::string_view, 8> kVulkanLimits = {"vulkan.max_compute_shared_memory", "vulkan.subgroup_size",
                                                           "vulkan.max_storage_buffer_range"};

constexpr Known kKnown[] = {
    {"supportsFamily:",
     Form::kSelector,
     "metal",
     {"metal.apple_family", "metal.mac_family", "metal.common_family", "metal.metal_family"}},
    {"maxThreadgroupMemoryLength", Form::kSelector, "metal", {"metal.max_threadgroup_memory"}},
    {"recommendedMaxWorkingSetSize", Form::kSelector, "metal", {"metal.recommended_working_set"}},
    {"maxBufferLength", Form::kSelector, "metal", {"metal.max_buffer_length"}},
    {"hasUnifiedMemory", Form::kSelector, "metal", {"metal.unified_memory"}},
    {"supportsBfloat16Format", Form::kSelector, "metal", {"metal.bfloat"}},
    {"supportsBfloat16Buffers", Form::kSelector, "metal", {"metal.bfloat"}},
    {"supportsFeatureSet:", Form::kSelector, "metal"},
    {"supportsRaytracing", Form::kSelector, "metal"},
    {"supportsFunctionPointers", Form::kSelector, "metal"},
    {"supportsDynamicLibraries", Form::kSelector, "metal"},
    {"supportsCounterSampling:", Form::kSelector, "metal"},
    {"supportsShaderBarycentricCoordinates", Form::kSelector, "metal"},
    {"argumentBuffersSupport", Form::kSelector, "metal"},
    {"readWriteTextureSupport", Form::kSelector, "metal"},
    {"currentAllocatedSize", Form::kSelector, "metal"},
    {"maxThreadsPerThreadgroup", Form::kSelector, "metal"},
    {"maxTransferRate", Form::kSelector, "metal"},
    {"isLowPower", Form::kSelector, "metal"},
    {"isRemovable", Form::kSelector, "metal"},
    {"MTLCreateSystemDefaultDevice", Form::kSymbol, "metal", {}, true},
    {"MTLCopyAllDevices", Form::kSymbol, "metal", {}, true},

    {"vkGetInstanceProcAddr", Form::kSymbol, "vulkan", {}, true},
    {"vkCreateInstance", Form::kSymbol, "vulkan", {}, true},
    {"vkGetPhysicalDeviceFeatures2",
     Form::kSymbol,
     "vulkan",
     {"vulkan.cooperative_matrix", "vulkan.cooperative_matrix2", "vulkan.shader_float16", "vulkan.bfloat16",
      "vulkan.ocp_fp4", "vulkan.integer_dot_product", "vulkan.storage_16bit", "vulkan.subgroup_size_control"}},
    {"vkGetPhysicalDeviceProperties2", Form::kSymbol, "vulkan", kVulkanLimits},
    {"vkGetPhysicalDeviceProperties2", Form::kString, "vulkan", kVulkanLimits},
    {"vkGetPhysicalDeviceProperties",
     Form::kSymbol,
     "vulkan",
     {"vulkan.max_compute_shared_memory", "vulkan.max_storage_buffer_range"}},
    {"vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR", Form::kSymbol, "vulkan", {"vulkan.cooperative_matrix"}},
    {"VK_KHR_cooperative_matrix", Form::kString, "vulkan", {"vulkan.cooperative_matrix"}},
    {"VK_NV_cooperative_matrix2", Form::kString, "vulkan", {"vulkan.cooperative_matrix2"}},
    {"VK_KHR_shader_float16_int8", Form::kString, "vulkan", {"vulkan.shader_float16"}},
    {"VK_VALVE_shader_mixed_float_dot_product", Form::kString, "vulkan", {"vulkan.mixed_float_dot_product"}},
    {"VK_KHR_shader_bfloat16", Form::kString, "vulkan", {"vulkan.bfloat16"}},
    {"VK_EXT_shader_float8", Form::kString, "vulkan", {"vulkan.ocp_fp4"}},
    {"VK_KHR_shader_integer_dot_product", Form::kString, "vulkan", {"vulkan.integer_dot_product"}},
    {"VK_KHR_16bit_storage", Form::kString, "vulkan", {"vulkan.storage_16bit"}},
    {"VK_EXT_subgroup_size_control", Form::kString, "vulkan", {"vulkan.subgroup_size_control"}},

    {"ggml_backend_score", Form::kString, "cpu", {"cpu.isa"}},
    {"ggml_backend_score", Form::kSymbol, "cpu", {"cpu.isa"}},

    {"cudaGetDeviceProperties", Form::kSymbol, "cuda"},
    {"cudaGetDeviceProperties_v2", Form::kSymbol, "cuda"},
    {"cudaDeviceGetAttribute", Form::kSymbol, "cuda"},
    {"cuDeviceGetAttribute", Form::kSymbol, "cuda"},
    {"hipGetDeviceProperties", Form::kSymbol, "hip"},
    {"hipGetDevicePropertiesR0600", Form::kSymbol, "hip"},
    {"clGetDeviceInfo", Form::kSymbol, "opencl"},
};

constexpr std::size_t kLongestName = [] {
  std::size_t longest = 0;
  for (const Known& known : kKnown) longest = std::max(longest, known.name.size());
  return longest;
}();

class Collector {
 public:
  Collector() {
    for (const Known& known : kKnown) known_.emplace(known.name, &known);
  }

  // Selectors sent by name (sel_registerName) are strings as well.
  void see(std::string_view name, Evidence evidence) {
    if (name.size() > kLongestName) return;
    const auto [first, last] = known_.equal_range(name);
    for (auto known = first; known != last; ++known) {
      if (!fits(*known->second, evidence)) continue;
      Question question;
      question.name = name;
      question.evidence = evidence;
      question.domain = known->second->domain;
      question.entry_point = known->second->entry_point;
      for (const std::string_view capability : known->second->capabilities) {
        if (!capability.empty()) question.capabilities.emplace_back(capability);
      }
      // The first evidence that is seen is the strongest.
      found_.emplace(std::pair(question.domain, question.name), question);
    }
  }

  // Every string between two NULs.
  void see_strings(Bytes bytes, Evidence evidence) {
    std::uint64_t at = 0;
    while (const std::optional<std::string_view> text = macho::c_string(bytes, at)) {
      if (!text->empty()) see(*text, evidence);
      at += text->size() + 1;
    }
  }

  std::vector<Question> take() {
    std::vector<Question> questions;
    for (auto& [key, question] : found_) questions.push_back(std::move(question));
    return questions;
  }

 private:
  static bool fits(const Known& known, Evidence evidence) {
    switch (evidence) {
      case Evidence::kSelector:
      case Evidence::kMethodName:
        return known.form == Form::kSelector;
      case Evidence::kString:
        return known.form == Form::kString || known.form == Form::kSelector;
      case Evidence::kImportedSymbol:
      case Evidence::kExportedSymbol:
        return known.form == Form::kSymbol;
    }
    return false;
  }

  std::unordered_multimap<std::string_view, const Known*> known_;
  std::map<std::pair<std::string, std::string>, Question> found_;
};

constexpr std::uint64_t kPointerSize = 8;

// The strings that the slots of `__objc_selrefs` are rebased to.
void see_selectors(const macho::Image& image, const macho::Section& references, const std::vector<macho::Fixup>& fixups,
                   Collector& collector) {
  constexpr std::uint64_t kTag = std::uint64_t{0xff} << 56U;
  for (const macho::Fixup& fixup : fixups) {
    if (fixup.kind != macho::FixupKind::kRebase || fixup.address < references.address ||
        !macho::within(fixup.address - references.address, kPointerSize, references.size)) {
      continue;
    }
    const std::optional<Bytes> bytes = macho::bytes_from(image, fixup.target & ~kTag);
    // Longer than any known name is no known name: do not look for its end.
    const std::optional<std::string_view> name =
        bytes ? macho::c_string(bytes->first(std::min(bytes->size(), kLongestName + 1)), 0) : std::nullopt;
    if (name) collector.see(*name, Evidence::kSelector);
  }
}

}  // namespace

std::string_view evidence_name(Evidence evidence) {
  switch (evidence) {
    case Evidence::kSelector:
      return "selector reference";
    case Evidence::kMethodName:
      return "method name";
    case Evidence::kString:
      return "string";
    case Evidence::kImportedSymbol:
      return "imported symbol";
    case Evidence::kExportedSymbol:
      return "exported symbol";
  }
  return "string";
}

std::vector<Question> questions_of(const macho::Image& image, const std::vector<macho::Fixup>& fixups) {
  Collector collector;
  const macho::Section* const references = image.find_section("", "__objc_selrefs");
  const macho::Section* const methods = image.find_section("", "__objc_methname");
  const macho::Section* const strings = image.find_section("", "__cstring");
  if (references != nullptr) {
    see_selectors(image, *references, fixups, collector);
  } else if (methods != nullptr) {
    collector.see_strings(section_bytes(image, *methods), Evidence::kMethodName);
  }
  for (const macho::Fixup& fixup : fixups) {
    if (fixup.symbol.starts_with('_')) collector.see(fixup.symbol.substr(1), Evidence::kImportedSymbol);
  }
  if (strings != nullptr) collector.see_strings(section_bytes(image, *strings), Evidence::kString);
  return collector.take();
}

std::vector<Question> questions_of(const Elf& elf) {
  Collector collector;
  for (const std::string_view name : elf.imports) collector.see(name, Evidence::kImportedSymbol);
  for (const std::string_view name : elf.exports) collector.see(name, Evidence::kExportedSymbol);
  for (const Bytes segment : elf.loaded) collector.see_strings(segment, Evidence::kString);
  return collector.take();
}

}  // namespace capbench::shim::inspect
