// Memory from the C library, since the layer must do without the C++ one and without exceptions.
#ifndef CAPBENCH_SHIM_VULKAN_MEMORY_H_
#define CAPBENCH_SHIM_VULKAN_MEMORY_H_

#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace capbench::shim::vulkan {

// Of objects that allocate() or allocate_array() made.
inline void release(void* memory) {
  std::free(memory);  // NOLINT(cppcoreguidelines-no-malloc)
}

struct Release {
  void operator()(void* memory) const { release(memory); }
};

template <class T>
using Array = std::unique_ptr<T[], Release>;

// A default object, or nullptr if there is no memory.
template <class T>
T* allocate() {
  static_assert(std::is_trivially_destructible_v<T>);
  void* const memory = std::calloc(1, sizeof(T));  // NOLINT(cppcoreguidelines-no-malloc)
  return memory == nullptr ? nullptr : new (memory) T();
}

// Zeros, or nullptr if there is no memory.
template <class T>
Array<T> allocate_array(std::size_t count) {
  static_assert(std::is_trivial_v<T>);
  return Array<T>(static_cast<T*>(std::calloc(count, sizeof(T))));  // NOLINT(cppcoreguidelines-no-malloc)
}

}  // namespace capbench::shim::vulkan

#endif  // CAPBENCH_SHIM_VULKAN_MEMORY_H_
