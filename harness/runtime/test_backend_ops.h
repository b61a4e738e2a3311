// llama.cpp's test-backend-ops: single operators of one device against the reference on the CPU. Pure.
//
// It exits 0 when the device is missing, when no operator matched and when the device supports none of the cases, so a
// pass is "N/N tests passed" of the device itself with N > 0. Its tolerance is loose: an error of 2 % passes.
#ifndef CAPBENCH_HARNESS_RUNTIME_TEST_BACKEND_OPS_H_
#define CAPBENCH_HARNESS_RUNTIME_TEST_BACKEND_OPS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace capbench::runtime {

// What a model computes with; narrows the cases of products, of attention and of row look-ups to those it meets, which
// are a few dozen out of thousands.
struct OperatorNeeds {
  std::vector<std::string> weight_types;  // of its matrices, as ggml names them: "q4_0", "q6_K"
  std::uint64_t head_size = 0;            // 0: unknown, any
};

// The operators of a llama-like model: without a mixture of experts, and with one.
std::vector<std::string> model_operators(bool experts);

// `device` as ggml names it ("Vulkan0", "CPU"). One command per filter: operators without one share the first.
std::vector<std::vector<std::string>> test_backend_ops_argvs(const std::string& executable, const std::string& device,
                                                             const std::vector<std::string>& operators,
                                                             const OperatorNeeds& needs);

struct OperatorFigures {
  bool device_found = false;  // and not skipped
  std::uint64_t passed = 0;
  std::uint64_t total = 0;
  std::uint64_t not_supported = 0;   // cases that the device leaves to the CPU
  std::vector<std::string> failing;  // the first of them, at most kMaxFailing, without control characters
  bool whole = false;                // the device's own summary was there

  // Every case that ran passed, and at least one did.
  bool all_passed() const { return device_found && whole && total > 0 && passed == total && failing.empty(); }
};
inline constexpr std::size_t kMaxFailing = 20;

// Any bytes.
OperatorFigures parse_test_backend_ops(std::string_view out, std::string_view device);

}  // namespace capbench::runtime

#endif  // CAPBENCH_HARNESS_RUNTIME_TEST_BACKEND_OPS_H_
