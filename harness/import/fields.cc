#include "harness/import/fields.h"

#include <array>

namespace capbench::imports {
namespace {

constexpr auto kFields = std::to_array<FieldInfo>({
    {Field::kBuildCommit, "build_commit", FieldType::kText, "build_commit", -12},
    {Field::kBuildNumber, "build_number", FieldType::kInteger, "build_number", 12},
    {Field::kCpuInfo, "cpu_info", FieldType::kText, "cpu_info", -10},
    {Field::kGpuInfo, "gpu_info", FieldType::kText, "gpu_info", -10},
    {Field::kBackends, "backends", FieldType::kText, "backend", -10},
    {Field::kModelFilename, "model_filename", FieldType::kText, "model_filename", -14},
    {Field::kModelType, "model_type", FieldType::kText, "model", -30},
    {Field::kModelSize, "model_size", FieldType::kInteger, "model_size", 10},
    {Field::kModelNParams, "model_n_params", FieldType::kInteger, "model_n_params", 14},
    {Field::kNBatch, "n_batch", FieldType::kInteger, "n_batch", 7},
    {Field::kNUbatch, "n_ubatch", FieldType::kInteger, "n_ubatch", 8},
    {Field::kNThreads, "n_threads", FieldType::kInteger, "threads", 7},
    {Field::kCpuMask, "cpu_mask", FieldType::kText, "cpu_mask", -10},
    {Field::kCpuStrict, "cpu_strict", FieldType::kBool, "cpu_strict", 10},
    {Field::kPoll, "poll", FieldType::kInteger, "poll", 10},
    {Field::kTypeK, "type_k", FieldType::kText, "type_k", 6},
    {Field::kTypeV, "type_v", FieldType::kText, "type_v", 6},
    {Field::kNGpuLayers, "n_gpu_layers", FieldType::kInteger, "ngl", 3},
    {Field::kNCpuMoe, "n_cpu_moe", FieldType::kInteger, "n_cpu_moe", 10},
    {Field::kSplitMode, "split_mode", FieldType::kText, "sm", 6},
    {Field::kMainGpu, "main_gpu", FieldType::kInteger, "main_gpu", 10},
    {Field::kNoKvOffload, "no_kv_offload", FieldType::kBool, "nkvo", 13},
    {Field::kFlashAttn, "flash_attn", FieldType::kInteger, "fa", 3},
    {Field::kDevices, "devices", FieldType::kText, "dev", -12},
    {Field::kTensorSplit, "tensor_split", FieldType::kText, "ts", -12},
    {Field::kTensorBuftOverrides, "tensor_buft_overrides", FieldType::kText, "ot", -21},
    {Field::kLoadMode, "load_mode", FieldType::kText, "lm", 10},
    {Field::kLazyMode, "lazy_mode", FieldType::kText, "lazy_mode", -10},
    {Field::kEmbeddings, "embeddings", FieldType::kBool, "embd", 10},
    {Field::kNoOpOffload, "no_op_offload", FieldType::kInteger, "nopo", 4},
    {Field::kNoHost, "no_host", FieldType::kBool, "noh", 4},
    {Field::kFitTarget, "fit_target", FieldType::kInteger, "fitt", 10},
    {Field::kFitMinCtx, "fit_min_ctx", FieldType::kInteger, "fitc", 11},
    {Field::kNPrompt, "n_prompt", FieldType::kInteger, "n_prompt", 10},
    {Field::kNGen, "n_gen", FieldType::kInteger, "n_gen", 10},
    {Field::kNDepth, "n_depth", FieldType::kInteger, "n_depth", 10},
    {Field::kTestTime, "test_time", FieldType::kText, "test_time", -10},
    {Field::kAvgNs, "avg_ns", FieldType::kInteger, "avg_ns", 10},
    {Field::kStddevNs, "stddev_ns", FieldType::kInteger, "stddev_ns", 10},
    {Field::kAvgTs, "avg_ts", FieldType::kReal, "avg_ts", 10},
    {Field::kStddevTs, "stddev_ts", FieldType::kReal, "stddev_ts", 10},
    {Field::kSamplesNs, "samples_ns", FieldType::kList, "samples_ns", 10},
    {Field::kSamplesTs, "samples_ts", FieldType::kList, "samples_ts", 10},
    {Field::kCuda, "cuda", FieldType::kBool, "cuda", 10},
    {Field::kOpencl, "opencl", FieldType::kBool, "opencl", 10},
    {Field::kVulkan, "vulkan", FieldType::kBool, "vulkan", 10},
    {Field::kKompute, "kompute", FieldType::kBool, "kompute", 10},
    {Field::kMetal, "metal", FieldType::kBool, "metal", 10},
    {Field::kSycl, "sycl", FieldType::kBool, "sycl", 10},
    {Field::kRpc, "rpc", FieldType::kBool, "rpc", 10},
    {Field::kGpuBlas, "gpu_blas", FieldType::kBool, "gpu_blas", 10},
    {Field::kBlas, "blas", FieldType::kBool, "blas", 10},
    {Field::kF16Kv, "f16_kv", FieldType::kBool, "f16_kv", 10},
    {Field::kLowVram, "low_vram", FieldType::kBool, "low_vram", 10},
    {Field::kMulMatQ, "mul_mat_q", FieldType::kBool, "mmq", 10},
    {Field::kUseMmap, "use_mmap", FieldType::kBool, "mmap", 10},
    {Field::kUseDirectIo, "use_direct_io", FieldType::kBool, "dio", 13},
    {Field::kDefragThold, "defrag_thold", FieldType::kReal, "defrag_thold", 12},
});

static_assert(kFields.size() == kAllFields);

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kFields.size(); ++i) {
    if (static_cast<std::size_t>(kFields.at(i).field) != i) return false;
  }
  return kFields.at(kCurrentFields - 1).field == Field::kStddevTs;
}

static_assert(is_in_order());

}  // namespace

std::span<const FieldInfo> fields() {
  return kFields;
}

const FieldInfo& info(Field field) {
  return kFields.at(static_cast<std::size_t>(field));
}

std::optional<Field> field_named(std::string_view name) {
  for (const FieldInfo& candidate : kFields) {
    if (candidate.name == name) return candidate.field;
  }
  return std::nullopt;
}

std::optional<Field> field_under_heading(std::string_view heading) {
  for (const FieldInfo& candidate : kFields) {
    if (candidate.heading == heading) return candidate.field;
  }
  return field_named(heading);
}

}  // namespace capbench::imports
