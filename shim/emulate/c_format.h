// printf's formats, with the arguments of code inside a machine.
#ifndef CAPBENCH_SHIM_EMULATE_C_FORMAT_H_
#define CAPBENCH_SHIM_EMULATE_C_FORMAT_H_

#include <functional>
#include <string>
#include <string_view>

#include "shim/emulate/machine.h"

namespace capbench::emulate {

// The text of an Objective-C object, for "%@".
using ObjectText = std::function<std::string(Address)>;

// `arguments` points at the first variadic argument: Apple's va_list is a pointer to 8-byte slots. "%n", unknown
// conversions and fields wider than 4096 are errors of the machine. Without `object_text`, so is "%@".
std::string format_c(Machine& machine, std::string_view format, Address arguments,
                     const ObjectText& object_text = nullptr);

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_C_FORMAT_H_
