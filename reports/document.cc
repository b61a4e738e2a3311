#include "reports/document.h"

#include <fmt/format.h>

#include <utility>

namespace capbench::reports {
namespace {

// What every row says of this column, if they all say the same or nothing; empty if they differ.
std::string said_by_all(const Table& table, std::size_t index) {
  std::string said;
  for (const std::vector<Cell>& row : table.rows) {
    const Cell& cell = row[index];
    if (cell.text.empty()) continue;
    if (!cell.beside.empty() || !cell.aside.empty() || (!said.empty() && said != cell.text)) return "";
    said = cell.text;
  }
  return said;
}

}  // namespace

Table condensed(const Table& table) {
  if (table.rows.size() < 2) return table;
  Table out;
  std::vector<std::string> once;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::string said = table.columns[i].once ? said_by_all(table, i) : "";
    if (said.empty()) {
      kept.push_back(i);
      out.columns.push_back(table.columns[i]);
    } else {
      once.push_back(fmt::format("{} {}", table.columns[i].header, said));
    }
  }
  for (const std::vector<Cell>& row : table.rows) {
    out.rows.emplace_back();
    for (const std::size_t i : kept) out.rows.back().push_back(row[i]);
  }
  out.caption = table.caption;
  if (!once.empty()) {
    out.caption += fmt::format("{}every row: {}", out.caption.empty() ? "" : "; ", fmt::join(once, ", "));
  }
  return out;
}

Cell soft(std::string text) {
  return {std::move(text), "", "", "soft"};
}

}  // namespace capbench::reports
