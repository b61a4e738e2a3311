#include "reports/aliases.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <string>
#include <utility>

namespace capbench::reports {
namespace {

// +1 and -1, by cell. Of two effects with opposite signs one number stands for both as well.
using Contrast = std::vector<int>;

Contrast signed_alike(Contrast contrast) {
  if (!contrast.empty() && contrast.front() < 0) {
    for (int& sign : contrast) sign = -sign;
  }
  return contrast;
}

}  // namespace

std::vector<stats::Alias> aliases_of(const stats::FactorialData& data) {
  std::vector<const stats::Cell*> cells;
  for (const stats::Cell& cell : data.cells) {
    if (!cell.trials.empty()) cells.push_back(&cell);
  }
  std::vector<Contrast> mains;
  for (std::size_t i = 0; i < data.factors.size(); ++i) {
    if (data.factors[i].levels.size() != 2) return {};
    Contrast contrast;
    for (const stats::Cell* cell : cells) contrast.push_back(cell->levels[i] == 0 ? -1 : 1);
    if (std::accumulate(contrast.begin(), contrast.end(), 0) != 0) return {};
    mains.push_back(std::move(contrast));
  }
  std::map<Contrast, std::vector<std::string>> names_by_contrast;
  for (std::size_t i = 0; i < mains.size(); ++i) {
    names_by_contrast[signed_alike(mains[i])].push_back(data.factors[i].name);
    for (std::size_t j = i + 1; j < mains.size(); ++j) {
      Contrast product(mains[i]);
      for (std::size_t k = 0; k < product.size(); ++k) product[k] *= mains[j][k];
      names_by_contrast[signed_alike(std::move(product))].push_back(data.factors[i].name + " x " +
                                                                    data.factors[j].name);
    }
  }
  std::vector<stats::Alias> aliases;
  for (const auto& [contrast, names] : names_by_contrast) {
    if (names.size() < 2) continue;
    for (const std::string& name : names) {
      stats::Alias alias = {name, {}};
      std::copy_if(names.begin(), names.end(), std::back_inserter(alias.with),
                   [&](const std::string& other) { return other != name; });
      aliases.push_back(std::move(alias));
    }
  }
  return aliases;
}

}  // namespace capbench::reports
