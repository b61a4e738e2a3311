#include "shim/inspect/inspect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "shim/common/toggles.h"
#include "shim/macho/signature.h"
#include "shim/macho/testing/fixtures.h"

namespace capbench::shim::inspect {
namespace {

using Json = nlohmann::json;
using macho::testing::entitlements_xml;
using macho::testing::fixture;
using macho::testing::signed_again;

constexpr const char* kAllowDyld = "com.apple.security.cs.allow-dyld-environment-variables";
constexpr const char* kDisableValidation = "com.apple.security.cs.disable-library-validation";

Inspection inspected(const std::string& file, FileStatus status = {}, const ShimFacts& shim = {}) {
  if (status.path.empty()) status.path = "/Users/me/llama-bench";
  Result<Inspection> inspection = inspect(macho::as_bytes(file), status, shim);
  EXPECT_TRUE(inspection) << (inspection ? "" : to_string(inspection.error()));
  return inspection ? *inspection : Inspection{"", "", 0, Format::kElf, {{}}, 0};
}

std::vector<std::string> codes(const Inspection& inspection) {
  std::vector<std::string> all;
  for (const Obstacle& obstacle : inspection.running().verdict.obstacles) {
    EXPECT_FALSE(obstacle.why.empty());
    EXPECT_FALSE(obstacle.remedy.empty());
    all.push_back(obstacle.code);
  }
  EXPECT_EQ(inspection.running().verdict.injection == Injection::kBlocked, !all.empty());
  return all;
}

std::vector<std::string> codes(const macho::testing::SignatureParts& parts, const ShimFacts& shim = {}) {
  return codes(inspected(signed_again(fixture("program_arm64"), parts), {}, shim));
}

using Codes = std::vector<std::string>;

TEST(Verdict, AdHocProgramsAcceptInjection) {
  const Inspection inspection = inspected(fixture("program_arm64"));
  EXPECT_EQ(inspection.running().verdict.injection, Injection::kWorks);
  EXPECT_EQ(inspection.running().verdict.mechanism, "DYLD_INSERT_LIBRARIES");
  EXPECT_EQ(inspection.sha256.size(), 64U);
  EXPECT_EQ(codes({macho::kSignAdhoc, "id", "", ""}), Codes{});
  EXPECT_EQ(codes({0, "id", "TEAM", "", true}), Codes{});
}

TEST(Verdict, HardenedRuntimeNeedsBothEntitlements) {
  macho::testing::SignatureParts parts{macho::kSignHardenedRuntime, "id", "TEAM", "", true};
  EXPECT_EQ(codes(parts), (Codes{"hardened-runtime", "library-validation"}));
  parts.entitlements = entitlements_xml({kAllowDyld});
  EXPECT_EQ(codes(parts), (Codes{"library-validation"}));
  parts.entitlements = entitlements_xml({kDisableValidation});
  EXPECT_EQ(codes(parts), (Codes{"hardened-runtime"}));
  parts.entitlements = entitlements_xml({kAllowDyld, kDisableValidation});
  EXPECT_EQ(codes(parts), Codes{});
}

TEST(Verdict, LibraryValidationAcceptsTheSameTeam) {
  const macho::testing::SignatureParts parts{macho::kSignLibraryValidation, "id", "TEAM", "", true};
  EXPECT_EQ(codes(parts), (Codes{"library-validation"}));
  EXPECT_EQ(codes(parts, {true, {"arm64"}, "OTHER"}), (Codes{"library-validation"}));
  EXPECT_EQ(codes(parts, {true, {"arm64"}, "TEAM"}), Codes{});
}

TEST(Verdict, WhatMacOsItselfProtects) {
  const std::string program = fixture("program_arm64");
  EXPECT_EQ(codes(inspected(program, {"/usr/bin/time"})), (Codes{"system-integrity-protection"}));
  EXPECT_EQ(codes(inspected(program, {"/System/Library/x"})), (Codes{"system-integrity-protection"}));
  EXPECT_EQ(codes(inspected(program, {"/usr/local/bin/llama-bench"})), Codes{});
  EXPECT_EQ(codes(inspected(program, {"/usrs/bin/x"})), Codes{});
  EXPECT_EQ(codes({0, "id", "", "", true, 15}), (Codes{"system-integrity-protection"}));
  EXPECT_EQ(codes({macho::kSignRestrict, "id", "", ""}), (Codes{"restricted-signature"}));
}

TEST(Verdict, BitsSegmentsAndMissingSignatures) {
  const std::string program = fixture("program_arm64");
  EXPECT_EQ(codes(inspected(program, {"", true, false})), (Codes{"setuid"}));
  EXPECT_EQ(codes(inspected(program, {"", false, true})), (Codes{"setgid"}));
  EXPECT_EQ(codes(inspected(
                macho::testing::with_renamed_section(program, "__DATA", "__objc_const", "__RESTRICT", "__restrict"))),
            (Codes{"restricted-segment"}));
  EXPECT_EQ(codes(inspected(macho::testing::unsigned_file(program))), (Codes{"unsigned"}));
}

TEST(Verdict, TheShimMustHaveTheArchitecture) {
  const std::string arm = fixture("program_arm64");
  const std::string arme = macho::testing::with_subtype(arm, 0x80000002);
  EXPECT_EQ(codes(inspected(arme)), (Codes{"arm64e"}));
  EXPECT_EQ(codes(inspected(arme, {}, {true, {"arm64", "arm64e"}, ""})), Codes{});
  EXPECT_EQ(codes(inspected(fixture("program_x86_64"))), (Codes{"architecture"}));
  // macOS on Apple silicon runs the arm64 image of a universal program.
  const Inspection fat = inspected(macho::testing::fat_file({fixture("program_x86_64"), arme, arm}));
  EXPECT_EQ(fat.images.size(), 3U);
  EXPECT_EQ(fat.runs, 2U);
  EXPECT_EQ(codes(fat), Codes{});
  EXPECT_EQ(fat.images[0].verdict.injection, Injection::kBlocked);
}

TEST(Verdict, LibrariesAreDecidedByTheirProgram) {
  const Inspection inspection = inspected(fixture("library_arm64.dylib"), {"/usr/lib/libfixture.dylib"});
  EXPECT_EQ(inspection.running().verdict.injection, Injection::kProgramDecides);
  EXPECT_EQ(codes(inspection), Codes{});
}

TEST(Verdict, ElfRules) {
  const Result<std::string> program = read_file("shim/inspect/testing/program");
  const Result<std::string> fixed = read_file("shim/inspect/testing/static_program");
  ASSERT_TRUE(program && fixed);
  EXPECT_EQ(codes(inspected(*program)), Codes{});
  EXPECT_EQ(codes(inspected(*program, {"", true})), (Codes{"setuid"}));
  EXPECT_EQ(codes(inspected(*program, {"", false, false, true})), (Codes{"file-capabilities"}));
  EXPECT_EQ(codes(inspected(*program, {}, {true, {"riscv"}, ""})), (Codes{"architecture"}));
  EXPECT_EQ(codes(inspected(*fixed)), (Codes{"static"}));
  std::string musl = *program;
  const std::size_t at = musl.find("ld-linux");
  if (at != std::string::npos) {
    EXPECT_EQ(codes(inspected(musl.replace(at, 8, "ld-musl-"))), (Codes{"c-library"}));
  }
}

TEST(Questions, SelectorsThatAreSentAndOnlyThose) {
  const Inspection inspection = inspected(fixture("program_arm64"));
  std::vector<std::string> told;
  for (const Question& question : inspection.running().facts.questions) {
    EXPECT_EQ(question.evidence, Evidence::kSelector);
    told.push_back(question.name);
  }
  // Not recommendedMaxWorkingSetSize, which the program defines and never sends.
  EXPECT_EQ(told, (Codes{"hasUnifiedMemory", "maxBufferLength", "maxThreadgroupMemoryLength", "supportsFamily:"}));
}

TEST(Questions, EveryCapabilityNamedIsAToggle) {
  const Result<std::string> library = read_file("shim/inspect/testing/libasking.so");
  ASSERT_TRUE(library);
  std::size_t named = 0;
  for (const Inspection& inspection : {inspected(fixture("program_arm64")), inspected(*library)}) {
    for (const Question& question : inspection.running().facts.questions) {
      for (const std::string& capability : question.capabilities) {
        EXPECT_LT(find_toggle(capability), kToggleCount) << capability;
        ++named;
      }
    }
  }
  EXPECT_GE(named, 12U);
}

TEST(Inspect, WhatIsNoBinary) {
  const auto cause = [](const std::string& file) {
    const Result<Inspection> inspection = inspect(macho::as_bytes(file), {"/x"}, {});
    return inspection.ok() ? std::string("no error") : inspection.error().cause;
  };
  EXPECT_EQ(cause("#!/bin/sh\n"), "is a script, not a binary");
  EXPECT_EQ(cause(""), "is neither a Mach-O nor an ELF binary");
  EXPECT_EQ(cause("MZ"), "is neither a Mach-O nor an ELF binary");
  const std::string fat = macho::testing::fat_file({fixture("program_x86_64"), fixture("program_arm64")});
  EXPECT_NE(cause(fat.substr(0, fat.size() - 1)).find("are not within the file's"), std::string::npos);
}

TEST(Text, FitsEightyColumnsAndKeepsCommandsWhole) {
  const std::string hardened =
      signed_again(fixture("program_arm64"), {macho::kSignHardenedRuntime, "id", "T", "", true});
  for (const bool setuid : {false, true}) {
    const std::string text = inspection_text(inspected(hardened, {"", setuid}));
    std::size_t start = 0;
    while (start < text.size()) {
      const std::size_t end = text.find('\n', start);
      ASSERT_NE(end, std::string::npos);
      EXPECT_LE(end - start, 80U) << text.substr(start, end - start);
      start = end + 1;
    }
    EXPECT_NE(text.find("`cp FILE COPY && codesign -f -s - COPY`"), std::string::npos) << text;
  }
}

TEST(Text, NamesCannotSteerATerminal) {
  const std::string text =
      inspection_text(inspected(signed_again(fixture("program_arm64"), {2, "\x1b[2J\xc2\x9b", "", "", false})));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(text.find('\x9b'), std::string::npos);
  EXPECT_NE(text.find("\\x1b[2J"), std::string::npos) << text;
}

// The parts of JSON Schema that the schema uses.
void check(const Json& value, Json schema, const Json& root, const std::string& path) {
  while (schema.contains("$ref")) {
    const std::string reference = schema["$ref"];
    schema = root.at(Json::json_pointer(reference.substr(1)));
  }
  if (schema.contains("oneOf")) {
    check(value, schema["oneOf"][value.is_null() ? 0 : 1], root, path);
    return;
  }
  if (schema.contains("enum")) {
    EXPECT_NE(std::find(schema["enum"].begin(), schema["enum"].end(), value), schema["enum"].end()) << path << value;
  }
  if (schema.contains("type")) {
    const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    const bool fits = std::any_of(types.begin(), types.end(), [&](const Json& type) {
      return type == "integer" ? value.is_number_integer() : type == value.type_name();
    });
    EXPECT_TRUE(fits) << path << " is " << value.type_name() << ", not " << types;
  }
  if (value.is_array()) {
    for (const Json& item : value) check(item, schema.at("items"), root, path + "[]");
  }
  if (!value.is_object()) return;
  for (const Json& name : schema.value("required", Json::array())) {
    EXPECT_TRUE(value.contains(name.get<std::string>())) << path << " lacks " << name;
  }
  for (const auto& [name, member] : value.items()) {
    if (schema.contains("properties") && schema["properties"].contains(name)) {
      check(member, schema["properties"][name], root, path + "." + name);
    } else {
      ASSERT_TRUE(schema.contains("additionalProperties") && schema["additionalProperties"].is_object())
          << path << "." << name << " is not in the schema";
      check(member, schema["additionalProperties"], root, path + "." + name);
    }
  }
}

TEST(Json, KeepsToItsSchema) {
  const Result<std::string> text = read_file("shim/inspect/json/inspect.schema.json");
  const Result<std::string> fixed = read_file("shim/inspect/testing/static_program");
  ASSERT_TRUE(text && fixed);
  const Json schema = Json::parse(*text);
  const std::string arm = fixture("program_arm64");
  const std::string signed_file =
      signed_again(arm, {macho::kSignHardenedRuntime, "\xff\xfe", "T", entitlements_xml({kAllowDyld}), true});
  for (const Inspection& inspection :
       {inspected(arm, {"/usr/bin/x", true, true}), inspected(signed_file), inspected(*fixed, {"", true, true, true}),
        inspected(fixture("library_arm64.dylib")), inspected(macho::testing::unsigned_file(arm)),
        inspected(macho::testing::fat_file({arm, fixture("program_x86_64"), macho::testing::with_subtype(arm, 2)}))}) {
    check(Json::parse(inspection_json(inspection)), schema, schema, "$");
  }
}

}  // namespace
}  // namespace capbench::shim::inspect
