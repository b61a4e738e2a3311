#include "models/gguf.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/file.h"
#include "models/gguf_writer.h"
#include "models/little_endian.h"

namespace capbench::models {
namespace {

void append_string(std::string& out, std::string_view text) {
  append<std::uint64_t>(out, text.size());
  out += text;
}

std::string header(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
  std::string out = "GGUF";
  append(out, version);
  append(out, tensors);
  append(out, keys);
  return out;
}

void append_key(std::string& out, std::string_view name, GgufType type) {
  append_string(out, name);
  append(out, static_cast<std::uint32_t>(type));
}

void append_tensor(std::string& out, std::string_view name, const std::vector<std::uint64_t>& shape, std::uint32_t type,
                   std::uint64_t offset) {
  append_string(out, name);
  append(out, static_cast<std::uint32_t>(shape.size()));
  for (const std::uint64_t length : shape) append(out, length);
  append(out, type);
  append(out, offset);
}

std::string pad(std::string bytes, std::size_t data) {
  bytes.resize((bytes.size() + 31) / 32 * 32 + data);
  return bytes;
}

std::string error_of(std::string_view bytes) {
  const auto gguf = parse_gguf(bytes, "hostile.gguf");
  if (gguf.ok()) return "parsed";
  EXPECT_EQ(gguf.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(gguf.error().what, "hostile.gguf");
  EXPECT_FALSE(gguf.error().remedy.empty());
  return gguf.error().cause;
}

void expect_error(std::string_view bytes, const std::string& part) {
  const std::string error = error_of(bytes);
  EXPECT_NE(error.find(part), std::string::npos) << "got: " << error << "\nexpected: " << part;
}

std::vector<GgufKey> every_kind_of_value() {
  return {{"u8", std::uint8_t{200}},
          {"i8", std::int8_t{-100}},
          {"u16", std::uint16_t{60000}},
          {"i16", std::int16_t{-30000}},
          {"u32", std::uint32_t{4000000000}},
          {"i32", std::int32_t{-2000000000}},
          {"f32", 1.5F},
          {"bool", true},
          {"text", std::string("with \0 inside", 13)},
          {"strings", string_array({"", "a", "two words"})},
          {"floats", float_array({0.5F, -2})},
          {"ints", int_array({-1, 7})},
          {"none", string_array({})},
          {"u64", std::uint64_t{1} << 63U},
          {"i64", std::int64_t{-5}},
          {"f64", 2.25}};
}

TEST(Gguf, ReadsBackWhatWasLaidOut) {
  const auto head = lay_out_gguf(every_kind_of_value(), {{"a", {256, 3}, TensorType::kQ4_K, 0, 0, 0},
                                                         {"b", {5}, TensorType::kF32, 0, 0, 0},
                                                         {"c", {32, 2, 3, 4}, TensorType::kQ8_0, 0, 0, 0}});
  ASSERT_TRUE(head.ok());
  std::string bytes = head->bytes;
  bytes.resize(head->size);
  const auto gguf = parse_gguf(bytes, "memory");
  ASSERT_TRUE(gguf.ok()) << to_string(gguf.error());
  EXPECT_EQ(gguf->version, 3U);
  EXPECT_EQ(gguf->metadata, every_kind_of_value());
  EXPECT_EQ(gguf->tensors, head->layout.tensors);
  EXPECT_EQ(gguf->data_start, head->bytes.size());
  EXPECT_EQ(gguf->data_start % 32, 0U);
  ASSERT_EQ(gguf->tensors.size(), 3U);
  EXPECT_EQ(gguf->tensors[0].bytes, 3U * 144);
  EXPECT_EQ(gguf->tensors[1].offset, 448U);  // 432 padded to 32
  EXPECT_EQ(gguf->tensors[1].bytes, 20U);
  EXPECT_EQ(gguf->tensors[2].elements, 32U * 24);
  EXPECT_EQ(gguf->tensors[2].bytes, 24U * 34);
  EXPECT_EQ(find_unsigned(*gguf, "u64"), std::uint64_t{1} << 63U);
  EXPECT_EQ(find_unsigned(*gguf, "i64"), std::nullopt);
  EXPECT_EQ(find_unsigned(*gguf, "bool"), std::nullopt);
  EXPECT_EQ(find_number(*gguf, "f64"), 2.25);
  EXPECT_EQ(find_number(*gguf, "i8"), -100);
  EXPECT_EQ(find_number(*gguf, "text"), std::nullopt);
  EXPECT_EQ(find_string(*gguf, "text"), std::string("with \0 inside", 13));
  EXPECT_EQ(find_string(*gguf, "absent"), std::nullopt);
  const GgufValue* strings = find_key(*gguf, "strings");
  ASSERT_NE(strings, nullptr);
  EXPECT_EQ(strings_of(std::get<GgufArray>(*strings)), (std::vector<std::string>{"", "a", "two words"}));
  EXPECT_EQ(strings_of(std::get<GgufArray>(*strings), 2).size(), 2U);
}

TEST(Gguf, TakesVersionTwoAndAnotherAlignment) {
  std::string bytes = header(1, 1, 2);
  append_key(bytes, "general.alignment", GgufType::kU32);
  append<std::uint32_t>(bytes, 64);
  append_tensor(bytes, "a", {4}, 0, 64);
  bytes.resize((bytes.size() + 63) / 64 * 64 + 64 + 16);
  const auto gguf = parse_gguf(bytes, "memory");
  ASSERT_TRUE(gguf.ok()) << to_string(gguf.error());
  EXPECT_EQ(gguf->version, 2U);
  EXPECT_EQ(gguf->alignment, 64U);
  EXPECT_EQ(gguf->data_start % 64, 0U);
}

TEST(Gguf, SaysWhatIsNoGguf) {
  expect_error("", "the file is empty");
  expect_error("PK\x03\x04 and more of a zip file", "it begins with \"PK");
  expect_error("<!DOCTYPE html>", "web page");
  expect_error("version https://git-lfs.github.com/spec/v1\noid", "Git LFS pointer");
  expect_error("GG", "truncated: needs 24 bytes, has 2");
  expect_error(header(0, 0, 1), "GGUF version 1");
  expect_error(header(0, 0, 4), "GGUF version 4");
  expect_error(header(0, 0, 0x03000000), "big-endian");
}

TEST(Gguf, RefusesHugeCountsWithoutAllocating) {
  expect_error(header(UINT64_MAX, 0), "announces 18446744073709551615 tensors");
  expect_error(header(0, std::uint64_t{1} << 40U), "announces 1099511627776 keys");
  expect_error(header(1000, 0), "truncated: needs 32 bytes, has 24");
  for (const GgufType type : {GgufType::kU8, GgufType::kString, GgufType::kF64}) {
    std::string bytes = header(0, 1);
    append_key(bytes, "k", GgufType::kArray);
    append(bytes, static_cast<std::uint32_t>(type));
    append<std::uint64_t>(bytes, std::uint64_t{1} << 62U);
    expect_error(bytes, "an array of 4611686018427387904 elements");
  }
  std::string bytes = header(0, 1);
  append_key(bytes, "k", GgufType::kArray);
  append(bytes, static_cast<std::uint32_t>(GgufType::kString));
  append<std::uint64_t>(bytes, 1000000);
  expect_error(bytes, "truncated: needs");
}

TEST(Gguf, RefusesLengthsOverTheEnd) {
  std::string bytes = header(0, 1);
  append<std::uint64_t>(bytes, 100);
  expect_error(bytes + "short", "truncated: needs 132 bytes, has 37");
  bytes = header(0, 1);
  append<std::uint64_t>(bytes, UINT64_MAX);
  expect_error(bytes, "a string of 18446744073709551615 bytes");
  bytes = header(0, 1);
  append_key(bytes, "k", GgufType::kString);
  append<std::uint64_t>(bytes, 1);
  expect_error(bytes, "truncated: needs");
  bytes = header(0, 1);
  append_key(bytes, "k", GgufType::kArray);
  append(bytes, static_cast<std::uint32_t>(GgufType::kString));
  append<std::uint64_t>(bytes, 2);
  append_string(bytes, "fine");
  append<std::uint64_t>(bytes, 5000);
  expect_error(bytes, "truncated: needs");
}

TEST(Gguf, RefusesBadTypesAndNestedArrays) {
  std::string bytes = header(0, 1);
  append_key(bytes, "k", static_cast<GgufType>(13));
  expect_error(bytes, "unknown value type 13");
  bytes = header(0, 1);
  append_key(bytes, "k", GgufType::kArray);
  append<std::uint32_t>(bytes, 99);
  append<std::uint64_t>(bytes, 0);
  expect_error(bytes, "array elements of unknown type 99");
  bytes = header(0, 1);
  append_key(bytes, "k", GgufType::kArray);
  append(bytes, static_cast<std::uint32_t>(GgufType::kArray));
  append<std::uint64_t>(bytes, 1);
  expect_error(bytes, "an array inside an array");
  // 4 and 31 were removed from the format, 43 does not exist yet.
  for (const std::uint32_t type : {4U, 31U, 43U, UINT32_MAX}) {
    bytes = header(1, 0);
    append_tensor(bytes, "t", {32}, type, 0);
    expect_error(pad(bytes, 4096), "unknown type " + std::to_string(type));
  }
}

TEST(Gguf, RefusesDuplicatesAndNamelessKeys) {
  std::string bytes = header(0, 2);
  for (int i = 0; i < 2; ++i) {
    append_key(bytes, "twice", GgufType::kU8);
    append<std::uint8_t>(bytes, 1);
  }
  expect_error(bytes, R"(key "twice" is there twice)");
  bytes = header(2, 0);
  append_tensor(bytes, "same", {4}, 0, 0);
  append_tensor(bytes, "same", {4}, 0, 32);
  expect_error(pad(bytes, 64), R"(tensor "same" is there twice)");
  bytes = header(0, 1);
  append_key(bytes, "", GgufType::kU8);
  expect_error(bytes, "key 0 has no name");
}

TEST(Gguf, RefusesBadAlignments) {
  for (const std::uint32_t alignment : {0U, 1U, 4U, 24U, 33U}) {
    std::string bytes = header(0, 1);
    append_key(bytes, "general.alignment", GgufType::kU32);
    append(bytes, alignment);
    expect_error(bytes, "no power of two");
  }
  std::string bytes = header(0, 1);
  append_key(bytes, "general.alignment", GgufType::kU64);
  append<std::uint64_t>(bytes, 32);
  expect_error(bytes, "not an unsigned 32-bit number");
  bytes = header(1, 0);
  append_tensor(bytes, "t", {4}, 0, 16);
  expect_error(pad(bytes, 64), "starts at 16, no multiple of 32");
}

TEST(Gguf, RefusesImpossibleShapes) {
  const auto one = [](const std::vector<std::uint64_t>& shape, std::uint32_t type) {
    std::string bytes = header(1, 0);
    append_tensor(bytes, "t", shape, type, 0);
    return pad(bytes, 64);
  };
  expect_error(one({1, 1, 1, 1, 1}, 0), "has 5 dimensions");
  expect_error(one({std::uint64_t{1} << 40U, std::uint64_t{1} << 40U}, 0), "more elements than can be counted");
  expect_error(one({UINT64_MAX}, 0), "more elements than can be counted");
  expect_error(one({std::uint64_t{1} << 62U}, 0), "more bytes than can be counted");
  expect_error(one({33}, 2), "no whole number of Q4_0 blocks of 32");
  expect_error(one({128, 2}, 12), "no whole number of Q4_K blocks of 256");
}

TEST(Gguf, RefusesDataOutsideTheFileAndOverlaps) {
  std::string bytes = header(1, 0);
  append_tensor(bytes, "t", {1024}, 0, 0);
  const std::string whole = pad(bytes, 4096);
  EXPECT_EQ(error_of(whole), "parsed");
  expect_error(whole.substr(0, whole.size() - 1), "truncated: needs " + std::to_string(whole.size()) + " bytes, has " +
                                                      std::to_string(whole.size() - 1) +
                                                      R"( (the data of tensor "t"))");
  bytes = header(1, 0);
  append_tensor(bytes, "t", {4}, 0, UINT64_MAX - 31);
  expect_error(pad(bytes, 64), "lies beyond any file");
  bytes = header(2, 0);
  append_tensor(bytes, "first", {64}, 0, 0);
  append_tensor(bytes, "second", {4}, 0, 224);
  expect_error(pad(bytes, 512), R"(tensors "first" and "second" overlap)");
}

TEST(Gguf, EveryCutOfAFileIsCalledTruncated) {
  const auto head = lay_out_gguf(every_kind_of_value(), {{"a", {32}, TensorType::kF32, 0, 0, 0}});
  ASSERT_TRUE(head.ok());
  std::string bytes = head->bytes;
  bytes.resize(head->size);
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    expect_error(std::string_view(bytes).substr(0, size), "truncated: needs ");
  }
}

TEST(Gguf, ForeignNamesCannotForgeLines) {
  std::string bytes = header(1, 0);
  append_tensor(bytes, std::string("t\x1b[31m\n") + std::string(500, 'x'), {33}, 2, 0);
  const std::string error = error_of(pad(bytes, 64));
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
  EXPECT_EQ(error.find('\n'), std::string::npos);
  EXPECT_LT(error.size(), 250U);
}

TEST(Gguf, ReadsFilesAndNamesThem) {
  const std::filesystem::path folder = ::testing::TempDir();
  const auto missing = read_gguf(folder / "absent.gguf");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().what, (folder / "absent.gguf").string());
  EXPECT_FALSE(read_gguf(folder).ok());
  EXPECT_FALSE(read_gguf("/dev/null").ok());
  ASSERT_TRUE(replace_file(folder / "empty.gguf", "").ok());
  const auto empty = read_gguf(folder / "empty.gguf");
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.error().cause, "the file is empty");
  ASSERT_TRUE(replace_file(folder / "good.gguf", header(0, 0)).ok());
  EXPECT_TRUE(read_gguf(folder / "good.gguf").ok());
}

TEST(TensorType, KnowsEveryTypeOnce) {
  EXPECT_EQ(tensor_types().size(), 35U);
  for (const TensorTypeInfo& info : tensor_types()) {
    const auto found = tensor_type_info(static_cast<std::uint32_t>(info.type));
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->name, info.name);
    EXPECT_GT(info.block_bytes, 0U);
  }
  EXPECT_EQ(tensor_bytes(TensorType::kQ6_K, 512, 256), 420U);
  EXPECT_EQ(tensor_bytes(TensorType::kMXFP4, 64, 32), 34U);
  EXPECT_EQ(tensor_bytes(TensorType::kQ6_K, 512, 128), std::nullopt);
  EXPECT_EQ(file_type_name(15), "Q4_K - Medium");
  EXPECT_EQ(file_type_name(9999), "");
}

}  // namespace
}  // namespace capbench::models
