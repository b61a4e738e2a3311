#include "schema/bundle/test_attacks.h"

#include <zstd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

#include "base/digest.h"
#include "schema/bundle/test_bundles.h"

namespace capbench::bundle::testing {
namespace {

// A place in canonical JSON.
struct Place {
  std::size_t begin = 0;
  std::size_t end = 0;
  bool is_key = false;  // of the quoted key; its value is the next place
  bool is_text = false;
};

// Keys and values that hold no others, in order.
std::vector<Place> places(const std::string& json) {
  std::vector<Place> found;
  for (std::size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (c == '{' || c == '}' || c == '[' || c == ']' || c == ',' || c == ':') {
      ++at;
      continue;
    }
    Place place{at, at, false, c == '"'};
    if (place.is_text) {
      for (++at; json[at] != '"'; ++at) at += json[at] == '\\' ? 1U : 0U;
      ++at;
      place.is_key = at < json.size() && json[at] == ':';
    } else {
      at = std::min(json.find_first_of(",]}", at), json.size());
    }
    place.end = at;
    found.push_back(place);
  }
  return found;
}

// What no value of a record may be.
const std::vector<std::pair<std::string, std::string>>& bad_values() {
  static const std::vector<std::pair<std::string, std::string>> kBad{
      {"NaN", "NaN"},
      {"infinity", "Infinity"},
      {"beyond a double", "1e999"},
      {"a huge number", std::string(400, '9')},
      {"minus zeros", "-00"},
      {"a leading zero", "007"},
      {"a plus", "+1"},
      {"a hexadecimal number", "0x10"},
      {"nothing", ""},
      {"an object", "{\"a\":1}"},
      {"a nested list", "[[[]]]"},
      {"a hundred thousand brackets", std::string(100'000, '[')},
      {"no UTF-8", "\"\xFF\xFE\""},
      {"an overlong character", "\"\xC0\xAF\""},
      {"half of a character", "\"\\ud800\""},
      {"NUL", "\"\\u0000\""},
      {"a control character", "\"\x1B[2J\""},
      {"an escape too many", "\"\\/\""},
      {"a text without an end", "\"abc"},
      {"two values", "1 2"},
      {"a comment", "/**/1"},
      {"a blank before it", " 1"},
  };
  return kBad;
}

class Maker {
 public:
  // Of a record's member, with everything else as it is and a manifest that fits.
  void change(const std::vector<Entry>& all, std::size_t which, std::string name, std::string json) {
    std::vector<Entry> changed = all;
    changed[which].bytes = std::move(json);
    const bool is_manifest = changed[which].name == "manifest.json";
    add(std::move(name), archive(is_manifest ? std::move(changed) : with_manifest(std::move(changed))));
  }
  void add(std::string name, std::string archive) { made_.push_back({std::move(name), std::move(archive)}); }
  std::vector<Attack> take() { return std::move(made_); }

 private:
  std::vector<Attack> made_;
};

std::string with(const std::string& json, const Place& place, std::string_view text) {
  return json.substr(0, place.begin) + std::string(text) + json.substr(place.end);
}

// One record of each kind: whoever reads one reads all of them so.
std::vector<std::pair<std::vector<Entry>, std::size_t>> records() {
  std::vector<std::pair<std::vector<Entry>, std::size_t>> found;
  const std::vector<Entry> few = entries(sealed(small()));
  const std::vector<Entry> all = entries(sealed(example()));
  for (const std::string_view folder :
       {"suites/", "runs/", "trials/", "manifest.json", "environments/", "closures/", "quality/", "sources/"}) {
    for (const std::vector<Entry>* list : {&few, &all}) {
      const auto at =
          std::find_if(list->begin(), list->end(), [&](const Entry& e) { return e.name.starts_with(folder); });
      if (at == list->end()) continue;
      found.emplace_back(*list, static_cast<std::size_t>(at - list->begin()));
      break;
    }
  }
  return found;
}

void spoil_values(Maker& maker) {
  for (const auto& [all, which] : records()) {
    const std::string& json = all[which].bytes;
    const std::string member = all[which].name.substr(0, 12);
    std::size_t number = 0;
    for (const Place& place : places(json)) {
      const std::string where = member + " place " + std::to_string(number++);
      const std::string text = json.substr(place.begin, place.end - place.begin);
      for (const auto& [name, value] : bad_values()) {
        // Large ones once a record are enough.
        if (value.size() > 1000 && number > 2) continue;
        // A list without its only entry is a list.
        if (value.empty() && json[place.begin - 1] == '[') continue;
        maker.change(all, which, where + ": " + name, with(json, place, value));
      }
      if (place.is_key) {
        maker.change(all, which, where + ": another key", with(json, place, "\"zz" + text.substr(1)));
        maker.change(all, which, where + ": twice", with(json, place, text + ":" + text));
        maker.change(all, which, where + ": a key more", with(json, place, "\"__proto__\":1," + text));
      }
    }
    // Whole members, twice and left out.
    for (std::size_t at = json.find(",\""); at != std::string::npos; at = json.find(",\"", at + 1)) {
      const std::size_t next = json.find(",\"", at + 1);
      if (next == std::string::npos) break;
      const std::string one = json.substr(at, next - at);
      if (one.find("\":") != one.find('"', 2)) continue;  // an entry of a list
      maker.change(all, which, member + " twice " + one.substr(0, 40), json.substr(0, next) + json.substr(at));
      maker.change(all, which, member + " without " + one.substr(0, 40), json.substr(0, at) + json.substr(next));
    }
    maker.change(all, which, member + " a million brackets", std::string(1'000'000, '['));
    maker.change(all, which, member + " a million objects", [] {
      std::string nested;
      for (int i = 0; i < 200'000; ++i) nested += "{\"a\":";
      return nested;
    }());
  }
}

void spoil_entries(Maker& maker) {
  const std::vector<Entry> few = entries(sealed(small()));
  for (std::size_t i = 0; i < few.size(); ++i) {
    for (const char type : std::string_view("1234567xgXLKSDMNV\x01Z")) {
      std::vector<Entry> changed = few;
      changed[i].type = type;
      maker.add(few[i].name.substr(0, 12) + " of type " + std::string(1, type), archive(changed));
    }
    for (const char* name :
         {"../../etc/passwd", "/etc/passwd", "trials/../../x", "..", "raw/..", "./manifest.json", "trials/", "raw/x",
          "C:\\windows\\system32", "..\\..\\x", "raw/\xFF\xFE", "suites/\x1B[2J.json", "con",
          "trials/'; DROP TABLE trial", "manifest.json.", "MANIFEST.JSON", "signature", "raw/%2e%2e%2fx"}) {
      std::vector<Entry> changed = few;
      changed[i].name = name;
      maker.add(few[i].name.substr(0, 12) + " called " + name, archive(changed));
      std::vector<Entry> more = few;
      more.insert(more.begin() + static_cast<std::ptrdiff_t>(i), {name, "x", '0'});
      maker.add(std::string(name) + " before " + few[i].name.substr(0, 12), archive(more));
    }
    std::vector<Entry> twice = few;
    twice.insert(twice.begin() + static_cast<std::ptrdiff_t>(i), few[i]);
    maker.add(few[i].name.substr(0, 12) + " twice", archive(twice));
    std::vector<Entry> without = few;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    maker.add("without " + few[i].name.substr(0, 12), archive(without));
  }
  // Headers that state what is not so.
  const std::string whole = tar(few);
  struct Field {
    const char* name;
    std::size_t at;
    const char* text;
  };
  for (const Field& field :
       {Field{"a huge size", 124, "77777777777"}, Field{"no size", 124, "99999999999"},
        Field{"a size too small", 124, "00000000001"}, Field{"base-256", 124, "\x80\x01\x01\x01"},
        Field{"executable", 100, "0000777"}, Field{"setuid", 100, "0004755"}, Field{"an owner", 108, "0000001"},
        Field{"a group", 116, "0000001"}, Field{"a time", 136, "00000000001"}, Field{"a link", 157, "/etc/passwd"},
        Field{"an owner's name", 265, "root"}, Field{"a prefix", 345, "../.."}, Field{"other magic", 257, "USTAR"},
        Field{"a device", 329, "0000001"}}) {
    std::string changed = whole;
    std::string header = changed.substr(0, 512);
    header.replace(field.at, std::string_view(field.text).size(), field.text);
    put_checksum(header);
    maker.add(std::string("a header with ") + field.name, zstd(changed.replace(0, 512, header)));
    changed[148] = '7';
    maker.add(std::string("a wrong checksum and ") + field.name, zstd(changed));
  }
  for (std::size_t length = 0; length < whole.size(); length += 512) {
    maker.add("a tar archive of " + std::to_string(length) + " bytes", zstd(whole.substr(0, length)));
    maker.add("a tar archive of " + std::to_string(length + 7) + " bytes", zstd(whole.substr(0, length + 7)));
  }
  maker.add("something behind its end", zstd(whole + std::string(512, 'x')));
}

void spoil_frames(Maker& maker) {
  const std::string archive = sealed(small()).archive;
  for (std::size_t length = 0; length < archive.size(); length += 9) {
    maker.add("the first " + std::to_string(length) + " bytes", archive.substr(0, length));
  }
  for (std::size_t at = 0; at < archive.size(); at += 7) {
    std::string changed = archive;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    maker.add("byte " + std::to_string(at) + " turned", changed);
  }
  maker.add("two frames", archive + archive);
  maker.add("a tail", archive + "x");
  maker.add("a skippable frame in front", std::string("\x50\x2A\x4D\x18\x04\x00\x00\x00zzzz", 12) + archive);
  for (const unsigned shift : {21U, 23U, 24U, 25U, 26U}) {
    maker.add("a bomb of 2^" + std::to_string(shift), zstd(std::string(std::size_t{1} << shift, '\0')));
  }
  // Frames that only say that they are large.
  for (unsigned shift = 29; shift < 64; ++shift) {
    std::string claim("\x28\xB5\x2F\xFD\xE0", 5);
    for (unsigned byte = 0; byte < 64; byte += 8) {
      claim += static_cast<char>((std::uint64_t{1} << shift) >> byte & 0xFFU);
    }
    maker.add("a claim of 2^" + std::to_string(shift), claim + std::string("\x01\x00\x00", 3));
  }
}

}  // namespace

std::vector<Attack> attacks() {
  Maker maker;
  spoil_values(maker);
  spoil_entries(maker);
  spoil_frames(maker);
  std::vector<Attack> all = maker.take();
  // One of each content.
  std::sort(all.begin(), all.end(), [](const Attack& a, const Attack& b) { return a.archive < b.archive; });
  all.erase(
      std::unique(all.begin(), all.end(), [](const Attack& a, const Attack& b) { return a.archive == b.archive; }),
      all.end());
  return all;
}

std::vector<Attack> hostile_words() {
  Maker maker;
  for (const auto& [all, which] : records()) {
    const std::string& json = all[which].bytes;
    std::size_t number = 0;
    for (const Place& place : places(json)) {
      ++number;
      if (!place.is_text || place.is_key) continue;
      for (const char* words : {"\"'; DROP TABLE trial; --\"", "\"<script>alert(1)</script>\"",
                                "\"=cmd|' /C calc'!A0\"", "\"\\u001b]0;pwned\\u0007\"", "\"\\\\input{/etc/passwd}\""}) {
        maker.change(all, which, all[which].name.substr(0, 12) + " place " + std::to_string(number) + ": " + words,
                     with(json, place, words));
      }
    }
  }
  return maker.take();
}

}  // namespace capbench::bundle::testing
