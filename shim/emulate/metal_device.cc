#include "shim/emulate/metal_device.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <set>
#include <string_view>

namespace capbench::emulate {
namespace {

constexpr std::string_view kBase = "MTLToolsDevice";
constexpr std::uint64_t kMaxBuffer = 256U << 20U;
constexpr std::size_t kMaxAsked = 1U << 16U;

enum class Form { kFlag, kNumber, kText, kFamily };

// What the device answers of itself; the rest of its methods make objects.
struct Question {
  std::string_view selector;
  Form form;
  bool inherited;  // answered by the parent of the device's class
  std::string_view types;
};

constexpr std::array<Question, 16> kQuestions = {{
    {"supportsFamily:", Form::kFamily, true, "B24@0:8q16"},
    {"maxThreadgroupMemoryLength", Form::kNumber, false, "Q16@0:8"},
    {"recommendedMaxWorkingSetSize", Form::kNumber, true, "Q16@0:8"},
    {"maxBufferLength", Form::kNumber, false, "Q16@0:8"},
    {"hasUnifiedMemory", Form::kFlag, true, "B16@0:8"},
    {"supportsBfloat16Format", Form::kFlag, false, "B16@0:8"},
    {"supportsBfloat16Buffers", Form::kFlag, true, "B16@0:8"},
    {"currentAllocatedSize", Form::kNumber, false, "Q16@0:8"},
    {"name", Form::kText, false, "@16@0:8"},
    {"registryID", Form::kNumber, false, "Q16@0:8"},
    {"location", Form::kNumber, false, "Q16@0:8"},
    {"locationNumber", Form::kNumber, false, "Q16@0:8"},
    {"isLowPower", Form::kFlag, false, "B16@0:8"},
    {"isRemovable", Form::kFlag, false, "B16@0:8"},
    {"isHeadless", Form::kFlag, false, "B16@0:8"},
    {"maxTransferRate", Form::kNumber, false, "Q16@0:8"},
}};

const Question* question_of(std::string_view selector) {
  for (const Question& question : kQuestions) {
    if (question.selector == selector) return &question;
  }
  return nullptr;
}

// Names that are not capabilities answer as a device inside the machine does: zero.
std::uint64_t number_of(const DeviceProfile& profile, std::string_view selector) {
  if (selector == "maxThreadgroupMemoryLength") return static_cast<std::uint64_t>(profile.max_threadgroup_memory);
  if (selector == "recommendedMaxWorkingSetSize") return static_cast<std::uint64_t>(profile.recommended_working_set);
  if (selector == "maxBufferLength") return static_cast<std::uint64_t>(profile.max_buffer_length);
  if (selector == "hasUnifiedMemory") return profile.unified_memory ? 1 : 0;
  if (selector == "supportsBfloat16Format" || selector == "supportsBfloat16Buffers") return profile.bfloat ? 1 : 0;
  if (selector == "registryID") return 0x100000001;
  return 0;
}

std::string answer_text(Form form, std::uint64_t value) {
  if (form == Form::kNumber) return fmt::format("{}", value);
  return (value & 0xffU) != 0 ? "true" : "false";
}

// Whether Metal source includes the header outside any #if: then it compiles only where the header is.
bool includes_always(std::string_view source, std::string_view header) {
  int depth = 0;
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t end = std::min(source.find('\n', at), source.size());
    std::string_view line = source.substr(at, end - at);
    at = end + 1;
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.empty() || line.front() != '#') continue;
    line.remove_prefix(1);
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.starts_with("if")) ++depth;
    if (line.starts_with("endif")) --depth;
    if (depth == 0 && line.starts_with("include") && line.find(header) != std::string_view::npos) return true;
  }
  return false;
}

// The names that a library of this source offers: kernels with a host name, and plain ones.
std::set<std::string> kernel_names(std::string_view source) {
  std::set<std::string> names;
  const auto collect = [&](std::string_view before, std::string_view ends) {
    for (std::size_t at = source.find(before); at != std::string_view::npos; at = source.find(before, at)) {
      at += before.size();
      const std::size_t end = source.find_first_of(ends, at);
      if (end == std::string_view::npos) return;
      if (end > at && end - at < 256) names.emplace(source.substr(at, end - at));
    }
  };
  collect("host_name(\"", "\"");
  collect("kernel void ", "( \n<");
  return names;
}

}  // namespace

MetalDevice::MetalDevice(Process& process, DeviceProfile profile) : process_(process), profile_(std::move(profile)) {
  ObjcRuntime& objc = process.objc();
  process.options().os_version = profile_.os_version;
  objc.define_class(kBase, "NSObject");
  const bool guest = profile_.device.find("Paravirtual") != std::string::npos;
  const std::string_view cls = guest ? "AppleParavirtDevice" : "AppleDevice";
  const Address address = objc.define_class(cls, kBase);
  object_ = objc.create(cls);
  add_answers();
  add_factories();
  add_objects();
  objc.observe(address, [this](const Message& message) { note(message); });
  process.define("_MTLCreateSystemDefaultDevice", [this, &objc](Call& call) {
    objc.retain(object_);
    call.result(object_);
  });
  process.define("_MTLCopyAllDevices",
                 [this, &objc](Call& call) { call.result(objc.create("NSArray", ObjectList{object_})); });
}

void MetalDevice::reset(DeviceProfile profile) {
  profile_ = std::move(profile);
  asked_.clear();
  process_.options().os_version = profile_.os_version;
}

void MetalDevice::add_answers() {
  ObjcRuntime& objc = process_.objc();
  const std::string own = objc.class_name(objc.class_of(object_));
  for (const Question& question : kQuestions) {
    Stub stub;
    if (question.form == Form::kFamily) {
      stub = [this](Call& call) {
        call.result(profile_.supports_family(static_cast<std::int64_t>(call.integer(2))) ? 1 : 0);
      };
    } else if (question.form == Form::kText) {
      stub = [this, &objc](Call& call) { call.result(objc.string(profile_.device)); };
    } else {
      stub = [this, selector = question.selector](Call& call) { call.result(number_of(profile_, selector)); };
    }
    objc.method(question.inherited ? kBase : std::string_view(own), question.selector, std::move(stub), question.types);
  }
}

void MetalDevice::add_factories() {
  ObjcRuntime& objc = process_.objc();
  const auto makes = [&objc](std::string_view selector, std::string_view cls) {
    objc.define_class(cls, "NSObject");
    objc.method(kBase, selector, [&objc, cls](Call& call) { call.result(objc.create(cls)); });
  };
  makes("newCommandQueue", "MTLCommandQueue");
  makes("newSharedEvent", "MTLSharedEvent");
  makes("newEvent", "MTLEvent");
  makes("newResidencySetWithDescriptor:error:", "MTLResidencySet");
  makes("newComputePipelineStateWithFunction:error:", "MTLComputePipelineState");

  objc.define_class("MTLBuffer", "NSObject");
  const auto make_buffer = [this, &objc](Call& call, Address bytes, std::uint64_t length, Address from) {
    if (length > kMaxBuffer) return call.result(0);  // as Metal does where there is no memory
    const Address contents = bytes != 0 ? bytes : process_.heap().allocate(length, 16384);
    if (from != 0) call.machine().write_bytes(contents, call.machine().read_bytes(from, length));
    call.result(objc.create("MTLBuffer", MemoryBlock{contents, length}));
  };
  objc.method(kBase,
              "newBufferWithLength:options:", [make_buffer](Call& call) { make_buffer(call, 0, call.integer(2), 0); });
  objc.method(kBase, "newBufferWithBytes:length:options:", [make_buffer](Call& call) {
    make_buffer(call, 0, call.integer(3), call.integer(2));
  });
  objc.method(kBase, "newBufferWithBytesNoCopy:length:options:deallocator:", [make_buffer](Call& call) {
    make_buffer(call, call.integer(2), call.integer(3), 0);
  });
  const auto field = [&objc](std::string_view selector, bool contents) {
    objc.method("MTLBuffer", selector, [&objc, contents](Call& call) {
      const Payload* const payload = objc.payload(call.integer(0));
      const auto* const block = payload == nullptr ? nullptr : std::get_if<MemoryBlock>(payload);
      if (block != nullptr) call.result(contents ? block->at : block->size);
    });
  };
  field("contents", true);
  field("length", false);

  // A library is its source; an error is its text.
  objc.define_class("MTLLibrary", "NSObject");
  objc.method(kBase, "newLibraryWithSource:options:error:", [this, &objc](Call& call) {
    std::string source = objc.text(call.integer(2));
    const Address error = call.integer(4);
    if (!profile_.tensor_compiler && includes_always(source, "metal_tensor")) {
      if (error != 0) {
        const Address object = objc.create("NSError", std::string("'metal_tensor' file not found"));
        call.machine().write(error, object);
      }
      return call.result(0);
    }
    if (error != 0) call.machine().write<Address>(error, 0);
    call.result(objc.create("MTLLibrary", std::move(source)));
  });
}

void MetalDevice::add_objects() {
  ObjcRuntime& objc = process_.objc();
  for (const std::string_view name : {"MTLCompileOptions", "MTLResidencySetDescriptor", "MTLCaptureDescriptor",
                                      "MTLCaptureManager", "MTLFunctionConstantValues", "MTLFunction"}) {
    process_.define_at("_OBJC_CLASS_$_" + std::string(name), objc.define_class(name, "NSObject"));
  }
  // Settings that change nothing of what a device answers.
  const auto ignores = [&objc](std::string_view cls, std::initializer_list<std::string_view> selectors) {
    for (const std::string_view selector : selectors) objc.method(cls, selector, [](Call&) {});
  };
  ignores("MTLCompileOptions", {"setPreprocessorMacros:", "setLanguageVersion:", "setFastMathEnabled:"});
  ignores("MTLResidencySetDescriptor", {"setLabel:", "setInitialCapacity:"});
  ignores("MTLResidencySet", {"addAllocation:", "removeAllAllocations", "commit", "requestResidency", "endResidency"});
  ignores("MTLFunctionConstantValues", {"setConstantValue:type:atIndex:"});
  ignores("MTLCommandQueue", {"setLabel:", "addResidencySet:"});

  // Command buffers do what can be done without running a kernel: nothing. One that dispatches a kernel ends the run,
  // as the encoder does not know that message.
  constexpr std::uint64_t kCompleted = 4;
  for (const std::string_view cls : {"MTLCommandBuffer", "MTLComputeCommandEncoder", "MTLBlitCommandEncoder"}) {
    objc.define_class(cls, "NSObject");
  }
  const auto creates = [&objc](std::string_view cls, std::string_view selector, std::string_view made) {
    objc.method(cls, selector, [&objc, made](Call& call) { call.result(objc.create(made)); });
  };
  creates("MTLCommandQueue", "commandBuffer", "MTLCommandBuffer");
  creates("MTLCommandQueue", "commandBufferWithUnretainedReferences", "MTLCommandBuffer");
  creates("MTLCommandBuffer", "computeCommandEncoder", "MTLComputeCommandEncoder");
  creates("MTLCommandBuffer", "blitCommandEncoder", "MTLBlitCommandEncoder");
  ignores("MTLCommandBuffer", {"enqueue", "commit", "waitUntilCompleted", "setLabel:"});
  ignores("MTLComputeCommandEncoder", {"endEncoding", "setLabel:"});
  ignores("MTLBlitCommandEncoder", {"endEncoding", "setLabel:"});

  objc.method("MTLLibrary", "newFunctionWithName:", [&objc](Call& call) {
    call.result(objc.create("MTLFunction", objc.text(call.integer(2))));
  });
  objc.method("MTLLibrary", "newFunctionWithName:constantValues:error:", [&objc](Call& call) {
    if (call.integer(4) != 0) call.machine().write<Address>(call.integer(4), 0);
    call.result(objc.create("MTLFunction", objc.text(call.integer(2))));
  });
  objc.method("MTLLibrary", "functionNames", [&objc](Call& call) {
    const Payload* const source = objc.payload(call.integer(0));
    ObjectList names;
    if (source != nullptr && std::holds_alternative<std::string>(*source)) {
      const std::string text = std::get<std::string>(*source);
      for (const std::string& name : kernel_names(text)) names.push_back(objc.string(name));
    }
    call.result(objc.create("NSArray", std::move(names)));
  });
  const auto answers = [&objc](std::string_view cls, std::string_view selector, std::uint64_t value) {
    objc.method(cls, selector, [value](Call& call) { call.result(value); });
  };
  // (buffer, {location, length}, value)
  objc.method("MTLBlitCommandEncoder", "fillBuffer:range:value:", [&objc](Call& call) {
    const Payload* const payload = objc.payload(call.integer(2));
    const auto* const buffer = payload == nullptr ? nullptr : std::get_if<MemoryBlock>(payload);
    const std::uint64_t location = call.integer(3);
    const std::uint64_t length = call.integer(4);
    if (buffer == nullptr) return;
    if (location > buffer->size || length > buffer->size - location) {
      call.machine().fail({ErrorKind::kUsage, "the library",
                           fmt::format("it fills {} bytes at {} of a buffer of {}", length, location, buffer->size),
                           "a release that is known to run"});
      return;
    }
    std::byte* const to = call.machine().at(buffer->at + location, length);
    if (to != nullptr && length != 0) std::memset(to, static_cast<int>(call.integer(5) & 0xffU), length);
  });
  answers("MTLCommandBuffer", "status", kCompleted);
  answers("MTLCommandBuffer", "error", 0);
  answers("MTLComputePipelineState", "maxTotalThreadsPerThreadgroup", 1024);
  answers("MTLComputePipelineState", "threadExecutionWidth", 32);
  answers("MTLComputePipelineState", "staticThreadgroupMemoryLength", 0);
  objc.class_method("MTLCaptureManager", "sharedCaptureManager",
                    [&objc](Call& call) { call.result(objc.create("MTLCaptureManager")); });
}

void MetalDevice::note(const Message& message) {
  if (asked_.size() >= kMaxAsked) return;
  const Question* const question = question_of(message.selector);
  Asked asked{message.sender, message.selector, "", "", ""};
  if (question == nullptr) {
    asked.told = message.result == 0 ? "nothing" : "an object";
    asked.device = asked.told;
  } else if (question->form == Form::kFamily) {
    const auto family = static_cast<std::int64_t>(message.arguments[0]);
    asked.argument = fmt::format("{}", family);
    asked.told = answer_text(Form::kFlag, message.result);
    asked.device = answer_text(Form::kFlag, profile_.supports_family(family) ? 1 : 0);
  } else if (question->form == Form::kText) {
    asked.told = process_.objc().text(message.result);
    asked.device = profile_.device;
  } else {
    asked.told = answer_text(question->form, message.result);
    asked.device = answer_text(question->form, number_of(profile_, question->selector));
  }
  asked_.push_back(std::move(asked));
}

}  // namespace capbench::emulate
