// Part of the C library for the cross-build (see README.md beside this folder). Numbers of Darwin's ABI.
#ifndef CAPSHIM_DARWIN_POLL_H_
#define CAPSHIM_DARWIN_POLL_H_

#define POLLOUT 0x0004
#define POLLERR 0x0008

struct pollfd {
  int fd;
  short events;
  short revents;
};

extern "C" int poll(pollfd* descriptors, unsigned count, int timeout_ms);

#endif  // CAPSHIM_DARWIN_POLL_H_
