#include <fmt/format.h>

#include "shim/macho/fixup_encodings.h"
#include "shim/macho/leb128.h"

namespace capbench::macho {
namespace {

constexpr std::uint64_t kPointerSize = 8;

enum class Table : std::uint8_t { kBind, kWeak, kLazy };

// One program: rebase or one of the three bind tables. Each writes at (segment, offset) and moves on.
class Machine {
 public:
  Machine(const Image& image, std::string name, std::vector<Fixup>& fixups)
      : image_(image), name_(std::move(name)), fixups_(fixups) {}

  Status rebase(Bytes program);
  Status bind(Bytes program, Table table);

 private:
  Error bad(std::string cause) const { return malformed(name_ + " opcodes", std::move(cause)); }

  Status set_segment(std::uint64_t index, std::uint64_t offset) {
    if (index >= image_.segments.size()) return bad(fmt::format("name segment {}", index));
    segment_ = &image_.segments[static_cast<std::size_t>(index)];
    offset_ = offset;
    return {};
  }

  Status set_type(std::uint64_t type) const {
    if (type == 1) return {};
    return bad(fmt::format("have a fix-up of type {}, of 32-bit programs", type));
  }

  // Emits `fixup` here, or says why not.
  Status emit(Fixup fixup) {
    if (segment_ == nullptr) return bad("name no segment");
    if (!within(offset_, kPointerSize, segment_->bytes.size())) {
      return bad(fmt::format("leave segment {} at offset 0x{:x}", segment_->name, offset_));
    }
    // Four programs write to each place at most once.
    if (fixups_.size() / 4 >= image_.bytes.size() / kPointerSize)
      return bad("write to the same places again and again");
    fixup.address = segment_->address + offset_;
    fixups_.push_back(fixup);
    return {};
  }

  // `times` times: emit, then move on by a pointer and `skip` bytes. Offsets wrap, as the loader's do.
  Status repeat(const Fixup& fixup, std::uint64_t times, std::uint64_t skip) {
    for (std::uint64_t i = 0; i < times; ++i) {
      if (Status emitted = emit(fixup); !emitted) return emitted;
      offset_ += kPointerSize + skip;
    }
    return {};
  }

  const Image& image_;
  std::string name_;
  std::vector<Fixup>& fixups_;
  const Segment* segment_ = nullptr;
  std::uint64_t offset_ = 0;
};

Status Machine::rebase(Bytes program) {
  Stream in(program);
  const std::size_t first = fixups_.size();
  while (!in.done()) {
    const std::uint8_t opcode = in.byte();
    const std::uint64_t immediate = opcode & 0x0fU;
    Status done;
    switch (opcode & 0xf0U) {
      case 0x00:  // done; the rest is padding
        in = Stream({});
        break;
      case 0x10:
        done = set_type(immediate);
        break;
      case 0x20:
        done = set_segment(immediate, in.uleb());
        break;
      case 0x30:
        offset_ += in.uleb();
        break;
      case 0x40:
        offset_ += immediate * kPointerSize;
        break;
      case 0x50:
        done = repeat({}, immediate, 0);
        break;
      case 0x60:
        done = repeat({}, in.uleb(), 0);
        break;
      case 0x70:
        done = repeat({}, 1, in.uleb());
        break;
      case 0x80: {
        const std::uint64_t times = in.uleb();
        done = repeat({}, times, in.uleb());
        break;
      }
      default:
        return bad(fmt::format("hold 0x{:02x}, which nobody knows", opcode));
    }
    if (in.failed()) return bad("are cut off");
    if (!done) return done;
  }
  // The file holds the targets.
  for (std::size_t i = first; i < fixups_.size(); ++i) {
    const std::optional<Bytes> bytes = bytes_at(image_, fixups_[i].address, kPointerSize);
    if (!bytes) return bad("leave their segment");
    fixups_[i].target = *little<std::uint64_t>(*bytes, 0);
  }
  return {};
}

Status Machine::bind(Bytes program, Table table) {
  Stream in(program);
  Fixup fixup;
  fixup.kind = table == Table::kWeak ? FixupKind::kCoalesce : FixupKind::kBind;
  fixup.library = table == Table::kWeak ? kOrdinalWeak : kOrdinalSelf;
  fixup.lazy = table == Table::kLazy;
  bool finished = false;
  while (!in.done() && !finished) {
    const std::uint8_t opcode = in.byte();
    const std::uint64_t immediate = opcode & 0x0fU;
    Status done;
    switch (opcode & 0xf0U) {
      case 0x00:
        // Each lazy bind ends with it; in the other tables it ends the program.
        finished = table != Table::kLazy;
        break;
      case 0x10:
        fixup.library = static_cast<std::int32_t>(immediate);
        break;
      case 0x20: {
        const std::uint64_t ordinal = in.uleb();
        if (ordinal > image_.libraries.size()) return bad(fmt::format("name library {}", ordinal));
        fixup.library = static_cast<std::int32_t>(ordinal);
        break;
      }
      case 0x30:
        fixup.library = immediate == 0 ? kOrdinalSelf : static_cast<std::int32_t>(immediate) - 16;
        break;
      case 0x40:
        fixup.symbol = in.string();
        fixup.weak_import = (immediate & 0x1U) != 0;
        break;
      case 0x50:
        done = set_type(immediate);
        break;
      case 0x60:
        fixup.addend = in.sleb();
        break;
      case 0x70:
        done = set_segment(immediate, in.uleb());
        break;
      case 0x80:
        offset_ += in.uleb();
        break;
      case 0x90:
        done = repeat(fixup, 1, 0);
        break;
      case 0xa0:
        done = repeat(fixup, 1, in.uleb());
        break;
      case 0xb0:
        done = repeat(fixup, 1, immediate * kPointerSize);
        break;
      case 0xc0: {
        const std::uint64_t times = in.uleb();
        done = repeat(fixup, times, in.uleb());
        break;
      }
      case 0xd0:
        return Error{ErrorKind::kUsage, "Mach-O " + name_ + " opcodes",
                     "are threaded, an early form of chained fix-ups for arm64e", "a library linked with newer tools"};
      default:
        return bad(fmt::format("hold 0x{:02x}, which nobody knows", opcode));
    }
    if (in.failed()) return bad("are cut off");
    if (!done) return done;
  }
  return {};
}

}  // namespace

Result<std::vector<Fixup>> read_opcode_fixups(const Image& image) {
  std::vector<Fixup> fixups;
  Status read = Machine(image, "rebase", fixups).rebase(image.rebase.bytes);
  if (read) read = Machine(image, "bind", fixups).bind(image.bind.bytes, Table::kBind);
  if (read) read = Machine(image, "weak bind", fixups).bind(image.weak_bind.bytes, Table::kWeak);
  if (read) read = Machine(image, "lazy bind", fixups).bind(image.lazy_bind.bytes, Table::kLazy);
  if (!read) return read.error();
  return fixups;
}

}  // namespace capbench::macho
