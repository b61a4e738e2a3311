// An application of the tests: opens the libraries that its first argument lists (separated by colons), then does what
// the second says, through whoever answers for Metal.
//
//   answers            of the default device
//   all                of every device
//   object CLASS...    of the default device, then of an object of each class that nobody handed out
//   many N             of the default device, after asking for it N times
//   threads N          N threads ask for devices; says whether all got the same answers
//   time               nanoseconds that the default device and a thousand answers take
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "shim/metal/objc.h"

namespace {

using capbench::shim::metal::Boolean;
using capbench::shim::metal::send;

using Create = id (*)();

template <class Function>
Function find(const char* name) {
  auto* const found = dlsym(RTLD_DEFAULT, name);
  if (found == nullptr) {
    std::fprintf(stderr, "fake_host: no %s\n", name);
    std::exit(4);
  }
  return reinterpret_cast<Function>(found);
}

void open_libraries(const std::string& list) {
  std::size_t begin = 0;
  while (begin < list.size()) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    if (dlopen(list.substr(begin, end - begin).c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) {
      std::fprintf(stderr, "fake_host: %s\n", dlerror());
      std::exit(4);
    }
    begin = end + 1;
  }
}

SEL selector(const char* name) {
  return sel_registerName(name);
}

bool family(id device, long number) {
  return send<Boolean>(device, selector("supportsFamily:"), number);
}

std::string answers_of(id device) {
  std::string text = std::string("class=") + class_getName(object_getClass(device)) + " families=";
  for (const long base : {1000L, 2000L, 3000L, 4000L, 5000L}) {
    for (long i = 1; i <= 30; ++i) {
      if (family(device, base + i)) text += std::to_string(base + i) + ",";
    }
  }
  const auto has = [&](const char* name) {
    return class_getInstanceMethod(object_getClass(device), selector(name)) != nullptr;
  };
  for (const char* name : {"maxThreadgroupMemoryLength", "recommendedMaxWorkingSetSize", "maxBufferLength"}) {
    if (has(name)) text += std::string(" ") + name + "=" + std::to_string(send<unsigned long>(device, selector(name)));
  }
  for (const char* name : {"hasUnifiedMemory", "supportsBfloat16Format"}) {
    if (has(name)) text += std::string(" ") + name + "=" + (send<Boolean>(device, selector(name)) ? "1" : "0");
  }
  return text;
}

void print(id device) {
  std::printf("%s\n", device == nullptr ? "none" : answers_of(device).c_str());
}

id default_device() {
  return find<Create>("MTLCreateSystemDefaultDevice")();
}

std::vector<id> all_devices() {
  const id array = find<Create>("MTLCopyAllDevices")();
  std::vector<id> devices;
  const auto count = send<unsigned long>(array, selector("count"));
  for (unsigned long i = 0; i < count; ++i) devices.push_back(send<id>(array, selector("objectAtIndex:"), i));
  return devices;
}

int run_threads(int count) {
  std::vector<std::string> seen(static_cast<std::size_t>(count));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    threads.emplace_back([&seen, i] {
      if (i % 2 == 0) default_device();
      for (const id device : all_devices()) seen[i] += answers_of(device) + "\n";
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& answers : seen) {
    if (answers == seen[0]) continue;
    std::printf("different:\n%s%s", seen[0].c_str(), answers.c_str());
    return 1;
  }
  std::printf("%s", seen[0].c_str());
  return 0;
}

long nanoseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
}

int run_time() {
  auto start = std::chrono::steady_clock::now();
  const id device = default_device();
  const long first = nanoseconds_since(start);
  start = std::chrono::steady_clock::now();
  long yes = 0;
  for (int i = 0; i < 1000; ++i) yes += family(device, 1009) ? 1 : 0;
  std::printf("first=%ld thousand=%ld yes=%ld\n", first, nanoseconds_since(start), yes);
  return 0;
}

int run(int argc, char** argv) {
  const std::string command = argv[2];
  if (command == "answers") {
    print(default_device());
  } else if (command == "all") {
    for (const id device : all_devices()) print(device);
  } else if (command == "object") {
    print(default_device());
    for (int i = 3; i < argc; ++i) print(find<id (*)(const char*)>("fake_metal_object")(argv[i]));
  } else if (command == "many") {
    for (int i = 0; i < std::atoi(argv[3]); ++i) default_device();
    print(default_device());
  } else if (command == "threads") {
    return run_threads(std::atoi(argv[3]));
  } else if (command == "time") {
    return run_time();
  } else {
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  open_libraries(argv[1]);
  return run(argc, argv);
}
