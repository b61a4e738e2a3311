#include "shim/vulkan/answers.h"

#include <algorithm>
#include <cstring>

#include "shim/vulkan/memory.h"

namespace capbench::shim::vulkan {
namespace {

// Room for any structure of kSources. Drivers fill it through their own type.
struct Block {
  VkStructureType sType;
  void* pNext;
  std::array<std::uint32_t, 40> words;
};

constexpr bool every_run_fits_a_block() {
  for (const Source& source : kSources) {
    for (const Run& run : kRuns) {
      if (run.structure == source.structure && run.offset + run.count * sizeof(std::uint32_t) > sizeof(Block))
        return false;
    }
  }
  return true;
}

static_assert(every_run_fits_a_block());

using ListedExtensions = std::array<bool, kSources.size()>;

ListedExtensions listed_extensions(const Queries& queries, VkPhysicalDevice device) {
  ListedExtensions listed{};
  std::uint32_t count = 0;
  if (queries.extensions(device, nullptr, &count, nullptr) != VK_SUCCESS || count == 0) return listed;
  const Array<VkExtensionProperties> properties = allocate_array<VkExtensionProperties>(count);
  if (properties == nullptr) return listed;
  const VkResult result = queries.extensions(device, nullptr, &count, properties.get());
  if (result != VK_SUCCESS && result != VK_INCOMPLETE) return listed;
  for (std::uint32_t i = 0; i < count; ++i) {
    const char* const name = properties[i].extensionName;
    const std::string_view text(name, strnlen(name, VK_MAX_EXTENSION_NAME_SIZE));
    for (std::size_t source = 0; source < kSources.size(); ++source) {
      if (kSources[source].extension == text) listed[source] = true;
    }
  }
  return listed;
}

void read_runs(Answers& answers, VkStructureType structure, const void* memory) {
  for (const Run& run : kRuns) {
    if (run.structure != structure) continue;
    std::memcpy(&answers.words[run.slot], static_cast<const char*>(memory) + run.offset,
                run.count * sizeof(std::uint32_t));
  }
}

// A chain of every available structure of one part.
struct Chain {
  std::array<Block, kSources.size() + 1> blocks{};
  std::size_t count = 0;

  void add(VkStructureType structure) {
    blocks[count].sType = structure;
    if (count != 0) blocks[count - 1].pNext = &blocks[count];
    ++count;
  }
  void* head() { return count == 0 ? nullptr : blocks.data(); }
  void read(Answers& answers) const {
    for (std::size_t i = 0; i < count; ++i) read_runs(answers, blocks[i].sType, &blocks[i]);
  }
};

void set_all(Answers& answers, Capability capability, const Answers* source) {
  for (const Run& run : kRuns) {
    if (run.capability != capability) continue;
    for (std::size_t i = run.slot; i < run.slot + run.count; ++i)
      answers.words[i] = source != nullptr ? source->words[i] : 0;
  }
}

void claim(Answers& answers, Capability capability) {
  if ((answers.listed & bit_of(capability)) == 0) return;
  for (const Headline& headline : kHeadlines) {
    if (headline.capability != capability) continue;
    for (std::size_t i = headline.slot; i < headline.slot + headline.count; ++i) answers.words[i] = VK_TRUE;
  }
}

// Where an integer capability's value stands.
std::size_t slot_of(Capability capability) {
  if (capability == Capability::kMaxComputeSharedMemory) return slot::kMaxComputeSharedMemory;
  if (capability == Capability::kSubgroupSize) return slot::kSubgroupSize;
  return slot::kMaxStorageBufferRange;
}

void set_integer(Answers& answers, Capability capability, std::uint32_t value) {
  answers.words[slot_of(capability)] = value;
  if (capability != Capability::kSubgroupSize) return;
  // The range that subgroup-size control gives must hold the size. 0: the device does not give one.
  std::uint32_t& least = answers.words[slot::kMinSubgroupSize];
  std::uint32_t& most = answers.words[slot::kMaxSubgroupSize];
  if (least != 0) least = std::min(least, value);
  if (most != 0) most = std::max(most, value);
}

bool is_switch(Capability capability) {
  return toggle_of(capability).kind == ValueKind::kSwitch;
}

template <class Visit>
void for_each_setting(const Settings& settings, Visit visit) {
  for (std::size_t i = 0; i < settings.count; ++i) {
    const Setting& setting = settings.items[i];
    for (std::size_t c = 0; c < kCapabilityCount; ++c) {
      if (kToggles[setting.toggle].name == kCapabilityNames[c]) visit(static_cast<Capability>(c), setting);
    }
  }
}

}  // namespace

bool Answers::on(Capability capability) const {
  for (const Headline& headline : kHeadlines) {
    if (headline.capability != capability) continue;
    for (std::size_t i = headline.slot; i < headline.slot + headline.count; ++i) {
      if (words[i] == 0) return false;
    }
  }
  return true;
}

std::uint32_t Answers::value(Capability capability) const {
  if (is_switch(capability)) return on(capability) ? 1 : 0;
  return words[slot_of(capability)];
}

Answers take_answers(const Queries& queries, VkPhysicalDevice device) {
  Answers answers;
  VkPhysicalDeviceProperties2 properties{};
  properties.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2;
  queries.properties(device, &properties.properties);
  const std::uint32_t version = properties.properties.apiVersion;
  const ListedExtensions listed = listed_extensions(queries, device);
  Chain features;
  Chain details;
  for (std::size_t i = 0; i < kSources.size(); ++i) {
    const Source& source = kSources[i];
    if (!listed[i] && (source.core_version == 0 || version < source.core_version)) continue;
    (source.part == Part::kFeature ? features : details).add(source.structure);
    for (const Run& run : kRuns) {
      if (run.structure == source.structure) answers.listed |= bit_of(run.capability);
    }
  }
  if (version >= kSubgroupPropertiesVersion) details.add(VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES);
  if (queries.properties2 != nullptr) {
    properties.pNext = details.head();
    queries.properties2(device, &properties);
    details.read(answers);
  }
  read_runs(answers, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, &properties);
  if (queries.features2 != nullptr && features.count != 0) {
    VkPhysicalDeviceFeatures2 head{};
    head.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    head.pNext = features.head();
    queries.features2(device, &head);
    features.read(answers);
  }
  std::memcpy(answers.device_name.data(), properties.properties.deviceName, answers.device_name.size() - 1);
  return answers;
}

CapabilitySet touched_by(const Settings& settings) {
  CapabilitySet touched = 0;
  for_each_setting(settings, [&](Capability capability, const Setting&) { touched |= bit_of(capability); });
  return touched;
}

Answers lowered(const Answers& device, const Settings& guest) {
  Answers answers = device;
  for_each_setting(guest, [&](Capability capability, const Setting& setting) {
    if (is_switch(capability)) {
      if (setting.value == 0) set_all(answers, capability, nullptr);
      return;
    }
    const std::uint32_t own = device.value(capability);
    set_integer(answers, capability, std::min(own, static_cast<std::uint32_t>(setting.value)));
  });
  return answers;
}

Answers answered(const Answers& below, const Answers* device, const Settings& set) {
  Answers answers = below;
  for_each_setting(set, [&](Capability capability, const Setting& setting) {
    if (is_switch(capability)) {
      if (setting.value == 0) {
        set_all(answers, capability, nullptr);
      } else if (device != nullptr) {
        set_all(answers, capability, device);
      } else {
        claim(answers, capability);
      }
      return;
    }
    auto value = static_cast<std::uint32_t>(setting.value);
    if (device != nullptr) {
      set_all(answers, capability, device);
      value = std::min(value, device->value(capability));
    }
    set_integer(answers, capability, value);
  });
  return answers;
}

const Setting* impossible_setting(const Settings& settings) {
  const Setting* found = nullptr;
  for_each_setting(settings, [&](Capability capability, const Setting& setting) {
    const bool power_of_two = (setting.value & (setting.value - 1)) == 0;
    if (capability == Capability::kSubgroupSize && !power_of_two) found = &setting;
  });
  return found;
}

}  // namespace capbench::shim::vulkan
