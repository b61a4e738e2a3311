#include "shim/metal/probe/print.h"

#include <string_view>

#include "shim/metal/facts.h"
#include "shim/metal/probe/answers.h"

namespace capbench::shim::metal {
namespace {

// Writes the commas between the members of a JSON object.
class Members {
 public:
  explicit Members(TextBuilder& out) : out_(out) { out_.append("{"); }
  ~Members() { out_.append("}"); }
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  void key(std::string_view name) {
    if (!first_) out_.append(",");
    first_ = false;
    out_.append_json(name);
    out_.append(":");
  }
  void text(std::string_view name, std::string_view value) {
    key(name);
    out_.append_json(value);
  }
  void number(std::string_view name, std::uint64_t value) {
    key(name);
    append_unsigned(out_, value);
  }
  void flag(std::string_view name, bool value) {
    key(name);
    out_.append(value ? "true" : "false");
  }

  static void append_unsigned(TextBuilder& out, std::uint64_t value) {
    constexpr std::uint64_t kTen = 10;
    if (value > INT64_MAX) {  // the last digit apart, since the builder's numbers are signed
      out.append_number(static_cast<std::int64_t>(value / kTen));
      value %= kTen;
    }
    out.append_number(static_cast<std::int64_t>(value));
  }

 private:
  TextBuilder& out_;
  bool first_ = true;
};

// A name that the device gives, with nothing in it that would begin a line or drive a terminal.
void append_plain(TextBuilder& out, std::string_view text) {
  for (const char c : text)
    out.append((c >= 0 && c < ' ') || c == 0x7F ? std::string_view("?") : std::string_view(&c, 1));
}

void append_member_name(TextBuilder& out, const FamilyRange& range, std::size_t i) {
  out.append(range.name);
  out.append_number(static_cast<std::int64_t>(range.first_name + i));
}

std::string_view yes_or_no(bool value) {
  return value ? "yes" : "no";
}

std::string_view architecture_of(id device) {
  if (!responds(device, "architecture")) return {};
  return text_of(send<id>(device, sel_registerName("architecture")), "name");
}

}  // namespace

void print_all(id device, TextBuilder& out) {
  out.append("device: ");
  append_plain(out, text_of(device, "name"));
  const std::string_view architecture = architecture_of(device);
  if (!architecture.empty()) {
    out.append("\narchitecture: ");
    append_plain(out, architecture);
  }
  out.append("\nclass: ");
  append_plain(out, class_getName(object_getClass(device)));
  out.append("\n\nfamilies\n");
  for (const FamilyRange& range : kFamilyRanges) {
    for (std::size_t i = 0; i < range.count; ++i) {
      out.append("  ");
      append_member_name(out, range, i);
      out.append(" (");
      out.append_number(static_cast<std::int64_t>(range.first + i));
      out.append("): ");
      out.append(yes_or_no(supports_family(device, range.first + i)));
      out.append("\n");
    }
  }
  out.append("\nlimits\n");
  for (const char* selector : kLimits) {
    const Fact fact = ask_number(device, selector);
    if (!fact.known) continue;
    out.append("  ");
    out.append(selector);
    out.append(": ");
    Members::append_unsigned(out, fact.value);
    out.append("\n");
  }
  const std::array<std::uint64_t, 3> threads = max_threads_per_threadgroup(device);
  out.append("  maxThreadsPerThreadgroup: ");
  for (std::size_t i = 0; i < threads.size(); ++i) {
    if (i != 0) out.append(" x ");
    Members::append_unsigned(out, threads[i]);
  }
  out.append("\n\nfeatures\n");
  for (const char* selector : kFlags) {
    const Fact fact = ask_flag(device, selector);
    if (!fact.known) continue;
    out.append("  ");
    out.append(selector);
    out.append(": ");
    out.append(yes_or_no(fact.value != 0));
    out.append("\n");
  }
}

void print_all_json(id device, TextBuilder& out) {
  {
    Members all(out);
    all.text("probe", "metal");
    all.text("name", text_of(device, "name"));
    all.text("architecture", architecture_of(device));
    all.text("class", class_getName(object_getClass(device)));
    all.key("capabilities");
    {
      Members capabilities(out);
      const Facts facts = read_reported(device);
      for (std::size_t i = 0; i < kCapabilityCount; ++i) {
        if (!facts[i].known) continue;
        std::array<char, 20> room{};
        capabilities.text(kCapabilities[i].toggle, write_value(kCapabilities[i].form, facts[i].value, room));
      }
    }
    all.key("families");
    {
      Members families(out);
      for (const FamilyRange& range : kFamilyRanges) {
        for (std::size_t i = 0; i < range.count; ++i) {
          std::array<char, 40> buffer{};
          TextBuilder name(buffer.data(), buffer.size());
          append_member_name(name, range, i);
          families.flag(name.view(), supports_family(device, range.first + i));
        }
      }
    }
    all.key("limits");
    {
      Members limits(out);
      for (const char* selector : kLimits) {
        const Fact fact = ask_number(device, selector);
        if (fact.known) limits.number(selector, fact.value);
      }
      limits.key("maxThreadsPerThreadgroup");
      const std::array<std::uint64_t, 3> threads = max_threads_per_threadgroup(device);
      for (std::size_t i = 0; i < threads.size(); ++i) {
        out.append(i == 0 ? "[" : ",");
        Members::append_unsigned(out, threads[i]);
      }
      out.append("]");
    }
    all.key("features");
    {
      Members features(out);
      for (const char* selector : kFlags) {
        const Fact fact = ask_flag(device, selector);
        if (fact.known) features.flag(selector, fact.value != 0);
      }
    }
  }
  out.append("\n");
}

void print_family(id device, std::uint64_t family, TextBuilder& out) {
  out.append("device=");
  append_plain(out, text_of(device, "name"));
  out.append("\nfamily=");
  Members::append_unsigned(out, family);
  out.append("\nsupports_family=");
  out.append(supports_family(device, family) ? "true" : "false");
  out.append("\nmax_threadgroup_memory=");
  Members::append_unsigned(out, ask_number(device, "maxThreadgroupMemoryLength").value);
  out.append("\n");
}

void print_family_json(id device, std::uint64_t family, TextBuilder& out) {
  {
    Members all(out);
    all.text("probe", "metal");
    all.text("name", text_of(device, "name"));
    all.number("family", family);
    all.flag("supports_family", supports_family(device, family));
    all.number("max_threadgroup_memory", ask_number(device, "maxThreadgroupMemoryLength").value);
  }
  out.append("\n");
}

}  // namespace capbench::shim::metal
