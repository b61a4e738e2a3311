// A library that asks about its device by name, as ggml's Vulkan library does.
#include <stdio.h>

extern int vkGetInstanceProcAddr(const char* name);

const char* const wanted[] = {"VK_KHR_cooperative_matrix", "VK_KHR_cooperative_matrix_not", "ggml_backend_score"};

int asked(void) {
  return vkGetInstanceProcAddr("vkGetPhysicalDeviceProperties2") + (int)wanted[0][0];
}

int ggml_backend_score(void) {
  return puts(wanted[1]);
}
