#include "harness/import/evidence/names.h"

#include <algorithm>
#include <array>

#include "base/path.h"

namespace capbench::imports::evidence {
namespace {

constexpr std::size_t kLongestName = 90;

constexpr auto kEndings = std::to_array<std::string_view>(
    {".json", ".jsonl", ".csv", ".md", ".sql", ".txt", ".out", ".stdout", ".stderr", ".err", ".log"});
constexpr auto kLogEndings = std::to_array<std::string_view>({".stderr", ".err", ".log"});

struct ModeWord {
  std::string_view word;
  std::string_view mode;
};
constexpr auto kModeWords = std::to_array<ModeWord>({
    {"host", "bare-metal"},
    {"bare", "bare-metal"},
    {"baremetal", "bare-metal"},
    {"native", "bare-metal"},
    {"stock", "stock"},
    {"vanilla", "stock"},
    {"unmodified", "stock"},
    {"noshim", "stock"},
    {"shim", "unlocked"},
    {"hook", "unlocked"},
    {"hooked", "unlocked"},
    {"unlocked", "unlocked"},
    {"unlock", "unlocked"},
});

bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

std::string mode_of_words(const std::vector<std::string>& said) {
  std::set<std::string_view> modes;
  for (std::size_t i = 0; i < said.size(); ++i) {
    const bool denied = i > 0 && (said[i - 1] == "no" || said[i - 1] == "without");
    for (const ModeWord& known : kModeWords) {
      if (known.word == said[i]) modes.insert(denied && known.mode == "unlocked" ? "stock" : known.mode);
    }
  }
  return modes.size() == 1 ? std::string(*modes.begin()) : std::string();
}

}  // namespace

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> found;
  std::string word;
  for (const char c : lower(text)) {
    if (is_word_byte(c)) {
      word.push_back(c);
    } else if (!word.empty()) {
      found.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) found.push_back(std::move(word));
  return found;
}

std::set<std::string> word_set(std::string_view text) {
  const std::vector<std::string> all = words(text);
  return {all.begin(), all.end()};
}

std::string folder_of(std::string_view path) {
  const std::size_t slash = path.find_last_of('/');
  return std::string(slash == std::string_view::npos ? std::string_view() : path.substr(0, slash));
}

std::string stem_of(std::string_view path) {
  std::string stem(foreign_base_name(path));
  bool cut = true;
  while (cut) {
    cut = false;
    const std::string low = lower(stem);
    for (const std::string_view ending : kEndings) {
      if (!low.ends_with(ending) || low.size() == ending.size()) continue;
      stem.resize(stem.size() - ending.size());
      cut = true;
      break;
    }
  }
  return stem;
}

bool is_log_name(std::string_view path) {
  const std::string low = lower(path);
  // "x.stderr.txt" too.
  const std::string bare = low.ends_with(".txt") ? low.substr(0, low.size() - 4) : low;
  return std::any_of(kLogEndings.begin(), kLogEndings.end(), [&](auto ending) { return bare.ends_with(ending); });
}

bool is_markdown_name(std::string_view path) {
  const std::string low = lower(path);
  return low.ends_with(".md") || low.ends_with(".markdown");
}

std::string mode_said_by(std::string_view path) {
  std::string mode = mode_of_words(words(foreign_base_name(path)));
  return mode.empty() ? mode_of_words(words(folder_of(path))) : mode;
}

std::string safe_name(std::string_view text, std::string_view fallback) {
  std::string name;
  for (const char c : text.substr(0, kLongestName)) {
    name.push_back(c < ' ' || c > '~' || c == '/' || c == ',' || c == '\\' ? '_' : c);
  }
  while (name.starts_with(' ')) name.erase(0, 1);
  while (name.ends_with(' ')) name.pop_back();
  return name.empty() || name == "." || name == ".." ? std::string(fallback) : name;
}

std::size_t common_words(const std::set<std::string>& a, const std::set<std::string>& b) {
  return static_cast<std::size_t>(
      std::count_if(a.begin(), a.end(), [&](const auto& word) { return b.contains(word); }));
}

}  // namespace capbench::imports::evidence
