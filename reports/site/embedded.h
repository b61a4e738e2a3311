// Files that are part of the program; made by web/build.mjs.
#ifndef CAPBENCH_REPORTS_SITE_EMBEDDED_H_
#define CAPBENCH_REPORTS_SITE_EMBEDDED_H_

#include <span>
#include <string_view>

namespace capbench::site {

struct Script {
  std::string_view path;  // in the site
  std::string_view text;
};

// app.ts, plots.ts with what the plots need of Vega, and each plot by itself (plots.h).
std::span<const Script> scripts();

extern const std::string_view kStyle;     // style.css
extern const std::string_view kLicences;  // of everything that was bundled

}  // namespace capbench::site

#endif  // CAPBENCH_REPORTS_SITE_EMBEDDED_H_
