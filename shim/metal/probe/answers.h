// What `metal-capabilities` asks a Metal device, beyond the capabilities that the shim knows.
#ifndef CAPBENCH_SHIM_METAL_PROBE_ANSWERS_H_
#define CAPBENCH_SHIM_METAL_PROBE_ANSWERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shim/metal/facts.h"
#include "shim/metal/objc.h"

namespace capbench::shim::metal {

// A run of MTLGPUFamily numbers: `name` with `first_name` behind it is `first`, and so on.
struct FamilyRange {
  std::string_view name;
  std::uint64_t first_name;
  std::uint64_t first;
  std::size_t count;
};

inline constexpr std::array<FamilyRange, 5> kFamilyRanges = {{
    {"MTLGPUFamilyApple", 1, 1001, 21},
    {"MTLGPUFamilyMac", 1, 2001, 2},
    {"MTLGPUFamilyCommon", 1, 3001, 6},
    {"MTLGPUFamilyMacCatalyst", 1, 4001, 2},
    {"MTLGPUFamilyMetal", 3, 5001, 6},
}};

// Selectors of MTLDevice that answer with a number of 64 bits.
inline constexpr std::array<const char*, 9> kLimits = {
    "maxThreadgroupMemoryLength", "recommendedMaxWorkingSetSize",  "maxBufferLength",
    "currentAllocatedSize",       "maxArgumentBufferSamplerCount", "argumentBuffersSupport",
    "readWriteTextureSupport",    "sparseTileSizeInBytes",         "maximumConcurrentCompilationTaskCount",
};

// Selectors that answer yes or no. The two about bfloat are not in Metal's headers.
inline constexpr std::array<const char*, 23> kFlags = {
    "hasUnifiedMemory",
    "isLowPower",
    "isHeadless",
    "isRemovable",
    "supportsRaytracing",
    "supportsRaytracingFromRender",
    "supportsFunctionPointers",
    "supportsFunctionPointersFromRender",
    "supportsDynamicLibraries",
    "supportsRenderDynamicLibraries",
    "supportsPrimitiveMotionBlur",
    "supports32BitFloatFiltering",
    "supports32BitMSAA",
    "supportsQueryTextureLOD",
    "supportsBCTextureCompression",
    "supportsPullModelInterpolation",
    "supportsShaderBarycentricCoordinates",
    "areBarycentricCoordsSupported",
    "areRasterOrderGroupsSupported",
    "areProgrammableSamplePositionsSupported",
    "isDepth24Stencil8PixelFormatSupported",
    "supportsBfloat16Format",
    "supportsBfloat16Buffers",
};

// Whether the object has a method for the selector.
bool responds(id object, const char* selector);

// The text of an NSString property such as "name", or empty. It lives as long as the object.
std::string_view text_of(id object, const char* selector);

// The answer to one family; false where the device has no such method.
bool supports_family(id device, std::uint64_t family);

// What one of kLimits or kFlags answers; not known where the device has no such method.
Fact ask_number(id device, const char* selector);
Fact ask_flag(id device, const char* selector);

// The three dimensions of maxThreadsPerThreadgroup; zeros where the device has no such method.
std::array<std::uint64_t, 3> max_threads_per_threadgroup(id device);

}  // namespace capbench::shim::metal

#endif  // CAPBENCH_SHIM_METAL_PROBE_ANSWERS_H_
