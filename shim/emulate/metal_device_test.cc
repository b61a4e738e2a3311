#include "shim/emulate/metal_device.h"

#include <gtest/gtest.h>

#include <set>

#include "shim/emulate/testing/fixtures.h"

namespace capbench::emulate {
namespace {

TEST(Profiles, TheStockGuestComesFirstAndNamesAreUnique) {
  std::set<std::string> names;
  for (const DeviceProfile& profile : device_profiles()) {
    EXPECT_TRUE(names.insert(profile.name).second) << profile.name;
    EXPECT_FALSE(profile.source.empty());
    EXPECT_GT(profile.max_threadgroup_memory, 0);
    EXPECT_EQ(*parse_guest(profile.name), profile);
  }
  EXPECT_EQ(device_profiles().front().name, "stock");
  EXPECT_TRUE(names.contains("m1") && names.contains("m5"));
}

TEST(Profiles, Families) {
  const DeviceProfile stock = *parse_guest("stock");
  EXPECT_TRUE(stock.supports_family(1001));
  EXPECT_TRUE(stock.supports_family(1005));
  EXPECT_FALSE(stock.supports_family(1006));
  EXPECT_TRUE(stock.supports_family(3003));
  EXPECT_FALSE(stock.supports_family(3004));
  for (const std::int64_t family : {-1, 0, 2001, 4001, 5001, 6001}) EXPECT_FALSE(stock.supports_family(family));
  EXPECT_TRUE(parse_guest("m1")->supports_family(5002));
  EXPECT_FALSE(parse_guest("m1")->supports_family(1008));
}

TEST(Profiles, SettingsChangeTheStockGuest) {
  const auto guest = parse_guest("metal.apple_family=1006,metal.unified_memory=off,metal.max_buffer_length=1048576");
  ASSERT_TRUE(guest.ok());
  EXPECT_EQ(guest->apple_family, 1006);
  EXPECT_FALSE(guest->unified_memory);
  EXPECT_EQ(guest->max_buffer_length, 1048576);
  EXPECT_EQ(guest->common_family, 3003);
  for (const char* const bad : {"", "m9", "metal.apple_family=7", "cpu.isa=x64", "metal.apple_family=1006,", "x=y"}) {
    const auto refused = parse_guest(bad);
    ASSERT_FALSE(refused.ok()) << bad;
    EXPECT_FALSE(refused.error().remedy.empty()) << bad;
  }
}

TEST(Profiles, CapabilitiesByName) {
  DeviceProfile profile;
  for (const char* const name : {"metal.apple_family", "metal.mac_family", "metal.common_family", "metal.metal_family",
                                 "metal.max_threadgroup_memory", "metal.recommended_working_set",
                                 "metal.max_buffer_length", "metal.unified_memory", "metal.bfloat"}) {
    ASSERT_TRUE(set_capability(profile, name, 1)) << name;
    EXPECT_EQ(capability_of(profile, name), 1) << name;
  }
  EXPECT_FALSE(set_capability(profile, "vulkan.bfloat16", 1));
}

TEST(Device, AnswersAndRemembersWhatItWasAsked) {
  const auto process = make_process();
  MetalDevice device(*process, *parse_guest("m2"));
  ObjcRuntime& objc = process->objc();
  const auto created = process->machine().call(process->lookup("_MTLCreateSystemDefaultDevice"), {});
  ASSERT_TRUE(created.ok());
  EXPECT_EQ(*created, device.object());
  // As compiled code sends messages.
  const auto send = [&](std::string_view selector, std::uint64_t argument = 0) {
    const auto result = process->machine().call(process->lookup("_objc_msgSend"),
                                                {word(*created), word(objc.selector(selector)), word(argument)});
    EXPECT_TRUE(result.ok()) << to_string(result.error());
    return result.ok() ? *result : 0;
  };
  EXPECT_EQ(send("supportsFamily:", 1008), 1U);
  EXPECT_EQ(send("supportsFamily:", 1009), 0U);
  EXPECT_EQ(send("maxThreadgroupMemoryLength"), 32768U);
  EXPECT_EQ(objc.text(send("name")), "Apple M2");
  EXPECT_NE(send("newCommandQueue"), 0U);
  ASSERT_EQ(device.asked().size(), 5U);
  EXPECT_EQ(device.asked()[0].argument, "1008");
  EXPECT_EQ(device.asked()[0].told, "true");
  EXPECT_EQ(device.asked()[1].told, "false");
  EXPECT_EQ(device.asked()[2].told, "32768");
  EXPECT_EQ(device.asked()[3].told, "Apple M2");
  EXPECT_EQ(device.asked()[4].told, "an object");
}

TEST(Device, ShadersThatNeedTensorsCompileOnlyWhereThereAreSome) {
  for (const auto& [guest, source, compiles] :
       {std::tuple{"stock", "#include <metal_stdlib>\nkernel void f() {}\n", true},
        {"stock", "#include <metal_stdlib>\n#include <metal_tensor>\n", false},
        {"stock", "#ifdef HAS_TENSOR\n #include <metal_tensor>\n#endif\n", true},
        {"m5", "#include <metal_tensor>\n", true}}) {
    const auto process = make_process();
    MetalDevice device(*process, *parse_guest(guest));
    const Address error = process->heap().allocate(8);
    const Address text = process->objc().string(source);
    const Address library = process->objc().send(
        device.object(), "newLibraryWithSource:options:error:", {word(text), word(0), word(error)});
    EXPECT_EQ(library != 0, compiles) << guest << ' ' << source;
    EXPECT_EQ(process->machine().read<Address>(error) == 0, compiles);
  }
}

TEST(Device, ListsTheKernelsOfALibrary) {
  const auto process = make_process();
  MetalDevice device(*process, *parse_guest("stock"));
  ObjcRuntime& objc = process->objc();
  const Address text =
      objc.string("template [[host_name(\"kernel_a_f32\")]] kernel T f<float>;\nkernel void kernel_b(\n");
  const Address library =
      objc.send(device.object(), "newLibraryWithSource:options:error:", {word(text), word(0), word(0)});
  const Address names = objc.send(library, "functionNames");
  ASSERT_EQ(objc.send(names, "count"), 2U);
  EXPECT_EQ(objc.text(objc.send(names, "objectAtIndex:", {word(0)})), "kernel_a_f32");
  EXPECT_EQ(objc.text(objc.send(names, "objectAtIndex:", {word(1)})), "kernel_b");
}

TEST(Device, BuffersAreFilledWithinTheirBounds) {
  const auto process = make_process();
  MetalDevice device(*process, *parse_guest("stock"));
  ObjcRuntime& objc = process->objc();
  const Address buffer = objc.send(device.object(), "newBufferWithLength:options:", {word(64), word(0)});
  EXPECT_EQ(objc.send(buffer, "length"), 64U);
  const Address encoder = objc.create("MTLBlitCommandEncoder");
  objc.send(encoder, "fillBuffer:range:value:", {word(buffer), word(8), word(4), word(7)});
  EXPECT_EQ(process->machine().read<std::uint32_t>(objc.send(buffer, "contents") + 8), 0x07070707U);
  objc.send(encoder, "fillBuffer:range:value:", {word(buffer), word(60), word(8), word(7)});
  EXPECT_TRUE(process->machine().failed());
}

TEST(Device, AKernelThatWouldRunEndsTheRun) {
  const auto process = make_process();
  MetalDevice device(*process, *parse_guest("stock"));
  const Address encoder = process->objc().create("MTLComputeCommandEncoder");
  const auto result = process->machine().call(
      process->lookup("_objc_msgSend"),
      {word(encoder), word(process->objc().selector("dispatchThreadgroups:threadsPerThreadgroup:"))});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().what.find("dispatchThreadgroups"), std::string::npos);
}

}  // namespace
}  // namespace capbench::emulate
