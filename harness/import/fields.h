// The fields that llama-bench has printed since 2023: their names, types and Markdown headings. Pure data.
// Formula and order: the printer's own list in tools/llama-bench of llama.cpp v0.5.0, then the fields of older builds.
#ifndef CAPBENCH_HARNESS_IMPORT_FIELDS_H_
#define CAPBENCH_HARNESS_IMPORT_FIELDS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace capbench::imports {

enum class FieldType { kText, kBool, kInteger, kReal, kList };

enum class Field : std::uint8_t {
  kBuildCommit,
  kBuildNumber,
  kCpuInfo,
  kGpuInfo,
  kBackends,
  kModelFilename,
  kModelType,
  kModelSize,
  kModelNParams,
  kNBatch,
  kNUbatch,
  kNThreads,
  kCpuMask,
  kCpuStrict,
  kPoll,
  kTypeK,
  kTypeV,
  kNGpuLayers,
  kNCpuMoe,
  kSplitMode,
  kMainGpu,
  kNoKvOffload,
  kFlashAttn,
  kDevices,
  kTensorSplit,
  kTensorBuftOverrides,
  kLoadMode,
  kLazyMode,
  kEmbeddings,
  kNoOpOffload,
  kNoHost,
  kFitTarget,
  kFitMinCtx,
  kNPrompt,
  kNGen,
  kNDepth,
  kTestTime,
  kAvgNs,
  kStddevNs,
  kAvgTs,
  kStddevTs,
  // Printed by older builds, or beside the fields.
  kSamplesNs,
  kSamplesTs,
  kCuda,
  kOpencl,
  kVulkan,
  kKompute,
  kMetal,
  kSycl,
  kRpc,
  kGpuBlas,
  kBlas,
  kF16Kv,
  kLowVram,
  kMulMatQ,
  kUseMmap,
  kUseDirectIo,
  kDefragThold,
};

struct FieldInfo {
  Field field;
  std::string_view name;
  FieldType type;
  std::string_view heading;  // in a Markdown table
  int width;                 // of its column there; negative: aligned to the left
};

// By the value of Field.
std::span<const FieldInfo> fields();
const FieldInfo& info(Field field);

// How many of them, from the first, llama-bench prints now.
inline constexpr std::size_t kCurrentFields = 41;
inline constexpr std::size_t kAllFields = 58;

std::optional<Field> field_named(std::string_view name);

// The field under a Markdown heading ("ngl", "threads"), or under its own name.
std::optional<Field> field_under_heading(std::string_view heading);

}  // namespace capbench::imports

#endif  // CAPBENCH_HARNESS_IMPORT_FIELDS_H_
