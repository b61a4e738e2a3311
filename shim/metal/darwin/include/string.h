// Part of the C library for the cross-build (see README.md beside this folder).
#ifndef CAPSHIM_DARWIN_STRING_H_
#define CAPSHIM_DARWIN_STRING_H_
#include <stddef.h>

extern "C" {
void* memcpy(void* to, const void* from, size_t size);
void* memset(void* to, int value, size_t size);
int memcmp(const void* left, const void* right, size_t size);
size_t strlen(const char* text);
size_t strnlen(const char* text, size_t limit);
}

#endif  // CAPSHIM_DARWIN_STRING_H_
