// Prints the plots as one JSON object by name, for web/build.mjs.
#include <iostream>

#include "reports/site/plots.h"

int main() {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for (capbench::site::Plot& plot : capbench::site::plots()) all[std::string(plot.name)] = std::move(plot.spec);
  std::cout << all.dump(1) << '\n';
  return std::cout.flush() ? 0 : 1;
}
