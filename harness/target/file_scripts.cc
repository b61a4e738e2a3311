#include "harness/target/file_scripts.h"

#include <algorithm>
#include <charconv>

#include "base/digest.h"
#include "harness/target/shell.h"

namespace capbench::target {
namespace {

// Whichever program is there; its failure leaves a digest that is not the file's, never one that is.
constexpr std::string_view kSum = R"sh(sum() {
{ sha256sum 2>/dev/null || shasum -a 256 2>/dev/null || openssl dgst -sha256 -r 2>/dev/null; } <"$1" | {
read -r hex rest
echo "$hex"
}
}
size() { echo $(($(wc -c <"$1"))); }
)sh";

std::string enter(const std::string& folder) {
  return "umask 077\ncd " + quote(folder) + " || exit 73\n";
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = line.find(' ');
    if (end != 0) words.push_back(line.substr(0, end));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
  }
  return words;
}

template <class Visit>
void for_each_line(std::string_view text, const Visit& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    visit(line);
  }
}

bool to_number(std::string_view text, std::uint64_t& value) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string ready_script(const std::string& work_dir) {
  const std::string folder =
      work_dir.empty() ? R"("${XDG_CACHE_HOME:-$HOME/.cache}/capbench/target")" : quote(work_dir);
  return "umask 077\nwork=" + folder + R"sh(
mkdir -p "$work/blobs" "$work/files" "$work/jobs" || exit 73
cd "$work" || exit 73
printf 'system %s\n' "$(uname -s)"
printf 'work %s\n' "$(pwd -P)"
)sh";
}

std::optional<Ready> read_ready(std::string_view text) {
  Ready ready;
  for_each_line(text, [&](std::string_view line) {
    if (line.starts_with("system ")) ready.system = line.substr(7);
    if (line.starts_with("work /")) ready.work_dir = line.substr(5);
  });
  if (ready.work_dir.empty() || ready.system.empty()) return std::nullopt;
  return ready;
}

std::string ask_script(const std::string& work_dir, std::span<const std::string> digests) {
  std::string script = enter(work_dir + "/blobs") + std::string(kSum) + "for blob in";
  for (const std::string& digest : digests) script += " " + digest;
  return script + R"sh(
do
if [ -f "$blob" ]; then
if [ "$(sum "$blob")" = "$blob" ]; then
echo "have $blob"
continue
fi
rm -f "$blob"
fi
if [ -f "$blob.part" ]; then echo "part $blob $(size "$blob.part")"; else echo "none $blob"; fi
done
)sh";
}

std::map<std::string, BlobAnswer> read_blobs(std::string_view text) {
  std::map<std::string, BlobAnswer> blobs;
  for_each_line(text, [&](std::string_view line) {
    const auto words = words_of(line);
    if (words.size() < 2 || !is_sha256(words[1])) return;
    BlobAnswer answer;
    if (words[0] == "have" && words.size() == 2) {
      answer.is_there = true;
    } else if (words[0] == "part" && words.size() == 3) {
      if (!to_number(words[2], answer.part_bytes)) return;
    } else if (words[0] != "none" || words.size() != 2) {
      return;
    }
    blobs[std::string(words[1])] = answer;
  });
  return blobs;
}

std::string receive_script(const std::string& work_dir, const std::string& digest, bool anew) {
  return enter(work_dir + "/blobs") + "cat " + (anew ? ">" : ">>") + digest + ".part || exit 74\n";
}

std::string store_script(const std::string& work_dir, const std::string& digest) {
  return enter(work_dir + "/blobs") + std::string(kSum) + "blob=" + digest + R"sh(
if [ -f "$blob" ]; then
echo "stored $blob"
exit 0
fi
found=$(sum "$blob.part")
if [ "$found" = "$blob" ]; then
chmod 555 "$blob.part" && mv -f "$blob.part" "$blob" && echo "stored $blob"
else
echo "wrong $blob $found"
rm -f "$blob.part"
fi
)sh";
}

std::optional<std::string> read_stored(std::string_view text, const std::string& digest) {
  std::optional<std::string> answer;
  for_each_line(text, [&](std::string_view line) {
    const auto words = words_of(line);
    if (words.size() < 2 || words[1] != digest) return;
    if (words[0] == "stored") answer = std::string();
    if (words[0] != "wrong") return;
    answer = words.size() == 3 && is_sha256(words[2]) ? "its SHA-256 there is " + std::string(words[2])
                                                      : std::string("its SHA-256 cannot be had there");
  });
  return answer;
}

std::vector<std::string> link_scripts(const std::string& work_dir, const std::string& key,
                                      std::span<const Link> links) {
  const std::string folder = work_dir + "/files/" + key;
  const std::string begin = "umask 077\nmkdir -p " + quote(folder) + " && cd " + quote(folder) + R"sh( || exit 73
link() {
blob="../../blobs/$1"
case $2 in */*) mkdir -p "./${2%/*}" || exit 73 ;; esac
if [ "$PWD/$blob" -ef "./$2" ] 2>/dev/null; then return 0; fi
blob="$PWD/$blob"
rm -f "./$2"
ln "$blob" "./$2" 2>/dev/null && return 0
cp "$blob" "./$2.part" && chmod 555 "./$2.part" && mv -f "./$2.part" "./$2" || exit 74
}
)sh";
  constexpr std::size_t kPiece = 12'000;
  std::vector<std::string> scripts;
  std::string script = begin;
  for (const Link& link : links) {
    script += "link " + link.digest + " " + quote(link.path) + "\n";
    if (script.size() < kPiece) continue;
    scripts.push_back(std::move(script));
    script = begin;
  }
  if (script.size() > begin.size() || scripts.empty()) scripts.push_back(std::move(script));
  return scripts;
}

std::string cat_script(const std::string& path) {
  return "cat " + quote(operand(path));
}

std::string digest_script(const std::string& path) {
  const std::string file = quote(operand(path));
  return std::string(kSum) + "[ -f " + file + " ] || exit 66\necho \"digest $(sum " + file + ") $(size " + file +
         ")\"\n";
}

std::optional<FoundFile> read_digest(std::string_view text) {
  std::optional<FoundFile> found;
  for_each_line(text, [&](std::string_view line) {
    const auto words = words_of(line);
    FoundFile file;
    if (words.size() != 3 || words[0] != "digest" || !is_sha256(words[1]) || !to_number(words[2], file.bytes)) return;
    file.digest = words[1];
    found = file;
  });
  return found;
}

}  // namespace capbench::target
