// Part of the C library for the cross-build (see README.md beside this folder). Layout of Darwin's ABI.
#ifndef CAPSHIM_DARWIN_PTHREAD_H_
#define CAPSHIM_DARWIN_PTHREAD_H_

struct pthread_mutex_t {
  long signature;
  char opaque[56];
};

#define PTHREAD_MUTEX_INITIALIZER \
  {                               \
    0x32AAABA7, {                 \
      0                           \
    }                             \
  }

extern "C" {
int pthread_mutex_lock(pthread_mutex_t* mutex);
int pthread_mutex_unlock(pthread_mutex_t* mutex);
}

#endif  // CAPSHIM_DARWIN_PTHREAD_H_
