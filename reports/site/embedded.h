// Files that are part of the program; made by web/build.mjs.
#ifndef CAPBENCH_REPORTS_SITE_EMBEDDED_H_
#define CAPBENCH_REPORTS_SITE_EMBEDDED_H_

#include <string_view>

namespace capbench::site {

extern const std::string_view kStyle;     // style.css
extern const std::string_view kApp;       // app.ts, bundled
extern const std::string_view kPlots;     // plots.ts with the plots and what they need of Vega, bundled
extern const std::string_view kLicences;  // of everything that was bundled

}  // namespace capbench::site

#endif  // CAPBENCH_REPORTS_SITE_EMBEDDED_H_
