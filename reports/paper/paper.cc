#include "reports/paper/paper.h"

#include "reports/paper/compose.h"

namespace capbench::reports::paper {

Paper make_paper(const PaperSource& source) {
  Paper paper;
  paper.title = "Which answers of a device the speed of a local language model depends on";
  Composer composer(source, paper.numbers);
  for (PaperSection (*section)(Composer&) :
       {setup_section, method_section, results_section, ablation_section, threats_section, artifact_section}) {
    paper.sections.push_back(section(composer));
  }
  return paper;
}

std::vector<Figure> figures_of(const Paper& paper) {
  std::vector<Figure> figures;
  for (const PaperSection& section : paper.sections) {
    for (const Block& block : section.blocks) {
      if (block.kind == Block::Kind::kFigure) figures.push_back(block.figure);
    }
  }
  return figures;
}

}  // namespace capbench::reports::paper
