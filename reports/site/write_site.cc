// The site as files.
#include <cerrno>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/parallel.h"
#include "reports/site/site.h"

namespace capbench::site {
namespace {

namespace fs = std::filesystem;

// Names every file of the site that lies in the folder, so that a later one knows what is its own.
constexpr std::string_view kList = ".capbench-site";

Status write_plain(const fs::path& path, std::string_view bytes) {
  // Not synced one by one: a site that was cut short is made again.
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) return file_error(path, errno == 0 ? EIO : errno);
  return {};
}

Status make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return file_error(folder, error.value());
  return {};
}

// The files of an earlier site.
Result<std::set<std::string>> earlier_files(const fs::path& folder) {
  std::set<std::string> files;
  std::error_code error;
  if (!fs::exists(folder, error)) return files;
  if (!fs::is_directory(folder, error)) {
    return Error{ErrorKind::kUsage, folder.string(), "is not a folder", "name another one, or a new one"};
  }
  const fs::path list = folder / kList;
  if (fs::exists(list, error)) {
    Result<std::string> text = read_file(list);
    if (!text) return std::move(text).error();
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) files.insert(line);
    return files;
  }
  if (!fs::is_empty(folder, error) || error) {
    return Error{ErrorKind::kUsage, folder.string(), "holds other things than a site of capbench",
                 "name a new or an empty folder"};
  }
  return files;
}

// Only what a site can hold: the list may have been written by anybody.
bool is_site_file(const std::string& name) {
  return name.find("..") == std::string::npos && !name.empty() && name.front() != '/' &&
         name.find('\\') == std::string::npos;
}

// Writes pages until there are none left or one fails.
class Writers {
 public:
  Writers(const Site& site, const fs::path& folder, const std::vector<std::string>& paths)
      : site_(site), folder_(folder), paths_(paths) {}

  Result<Written> run(unsigned threads) {
    for_each_index(threads, threads, [this](std::size_t) { work(); });
    if (error_) return std::move(*error_);
    return written_;
  }

 private:
  void work() {
    Connections connections(site_.stores);
    std::uint64_t bytes = 0;
    std::size_t pages = 0;
    for (;;) {
      std::size_t place = 0;
      {
        const std::lock_guard lock(mutex_);
        if (error_ || next_ == paths_.size()) break;
        place = next_++;
      }
      auto page = render_page(site_, connections, paths_[place]);
      Status status;
      if (!page) {
        status = std::move(page).error();
      } else if (page->has_value()) {
        status = write_plain(folder_ / paths_[place], **page);
        bytes += (*page)->size();
        ++pages;
      }
      if (!status) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::move(status).error();
        break;
      }
    }
    const std::lock_guard lock(mutex_);
    written_.pages += pages;
    written_.bytes += bytes;
  }

  const Site& site_;
  const fs::path& folder_;
  const std::vector<std::string>& paths_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::optional<Error> error_;
  Written written_;
};

}  // namespace

Result<Written> write_site(const Site& site, const fs::path& folder, unsigned threads) {
  Result<std::set<std::string>> earlier = earlier_files(folder);
  if (!earlier) return std::move(earlier).error();
  for (const char* name : {"", "assets", "ablation", "compare", "history", "submission", "trial"}) {
    if (Status status = make_folder(folder / name); !status) return std::move(status).error();
  }
  const std::vector<std::string> paths = page_paths(site);
  // First of all, so that a site that is cut short is still known as one.
  std::string list;
  for (const std::string& name : *earlier) list += name + "\n";
  for (const std::string& name : paths) list += name + "\n";
  if (Status status = write_plain(folder / kList, list); !status) return std::move(status).error();
  for (const Asset& asset : assets()) {
    if (Status status = write_plain(folder / asset.path, asset.bytes); !status) return std::move(status).error();
  }
  // GitHub Pages would leave some names out otherwise.
  if (Status status = write_plain(folder / ".nojekyll", ""); !status) return std::move(status).error();
  Result<Written> written = Writers(site, folder, paths).run(threads);
  if (!written) return written;
  std::set<std::string> gone = std::move(*earlier);
  list.clear();
  for (const std::string& name : paths) {
    gone.erase(name);
    list += name + "\n";
  }
  for (const std::string& name : gone) {
    std::error_code error;
    if (is_site_file(name)) fs::remove(folder / name, error);
  }
  if (Status status = write_plain(folder / kList, list); !status) return std::move(status).error();
  return written;
}

}  // namespace capbench::site
