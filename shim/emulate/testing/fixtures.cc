#include "shim/emulate/testing/fixtures.h"

#include <stdexcept>
#include <utility>

namespace capbench::emulate {

Library fixture(const std::string& name, bool inserted) {
  auto library = read_library("shim/emulate/testing/" + name, inserted);
  if (!library.ok()) throw std::runtime_error(to_string(library.error()));
  return std::move(library).value();
}

std::unique_ptr<Process> make_process(ProcessOptions options) {
  auto made = Process::create(std::move(options));
  if (!made.ok()) throw std::runtime_error(to_string(made.error()));
  std::unique_ptr<Process> process = std::move(made).value();
  // Calls the function twice, the second time with what it gave.
  process->define("_host_twice", [](Call& call) {
    const Address function = call.integer(0);
    const auto once = call.machine().call(function, {word(call.integer(1))});
    if (!once.ok()) return;
    const auto twice = call.machine().call(function, {word(*once)});
    if (twice.ok()) call.result(*twice);
  });
  process->define("_host_double_sum", [](Call& call) {
    std::uint64_t sum = 0;
    for (unsigned i = 0; i < 8; ++i) sum += call.integer(i);
    // The ninth is four bytes on the stack, and the tenth starts at the next multiple of eight.
    sum +=
        call.machine().read<std::uint32_t>(call.variadic()) + call.machine().read<std::uint64_t>(call.variadic() + 8);
    call.result(2 * sum);
  });
  return process;
}

std::unique_ptr<Process> start(const std::vector<Library>& libraries, ProcessOptions options) {
  std::unique_ptr<Process> process = make_process(std::move(options));
  if (const Status loaded = process->load(libraries); !loaded.ok()) throw std::runtime_error(to_string(loaded.error()));
  return process;
}

}  // namespace capbench::emulate
