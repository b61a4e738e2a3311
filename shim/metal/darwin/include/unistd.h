// Part of the C library for the cross-build (see README.md beside this folder).
#ifndef CAPSHIM_DARWIN_UNISTD_H_
#define CAPSHIM_DARWIN_UNISTD_H_
#include <stddef.h>

#define STDOUT_FILENO 1
#define STDERR_FILENO 2

using ssize_t = long;

extern "C" {
int getpid();
ssize_t write(int fd, const void* bytes, size_t size);
}

#endif  // CAPSHIM_DARWIN_UNISTD_H_
