// Draws a paper's figures with Node.js, Vega and librsvg.
#ifndef CAPBENCH_HARNESS_CLI_PAPER_FIGURES_H_
#define CAPBENCH_HARNESS_CLI_PAPER_FIGURES_H_

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "harness/runner/install.h"

namespace capbench::cli {

// folder/NAME.vl.json into folder/NAME.svg, and that into folder/NAME.pdf. What this machine lacks (node, vega and
// vega-lite, rsvg-convert) is an error of kind kMachine that says how to get it; the texts of a paper do without.
Status draw_figures(const runner::Install& install, const std::filesystem::path& folder,
                    const std::vector<std::string>& names);

}  // namespace capbench::cli

#endif  // CAPBENCH_HARNESS_CLI_PAPER_FIGURES_H_
