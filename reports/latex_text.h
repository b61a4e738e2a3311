// Text inside LaTeX.
#ifndef CAPBENCH_REPORTS_LATEX_TEXT_H_
#define CAPBENCH_REPORTS_LATEX_TEXT_H_

#include <string>
#include <string_view>

namespace capbench::reports {

// One line in which every character is text, whatever it means to TeX. Letters of Latin-1 and Latin Extended-A stay if
// a document without packages has them, a few signs get their commands, all other characters become their number,
// "[U+4E2D]".
std::string escape_latex(std::string_view text);

}  // namespace capbench::reports

#endif  // CAPBENCH_REPORTS_LATEX_TEXT_H_
