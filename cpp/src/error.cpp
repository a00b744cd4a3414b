#include "pubmatch/error.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace pubmatch {

std::string show(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char text[40];
  for (int digits = 1; digits <= 17; ++digits) {
    std::snprintf(text, sizeof text, "%.*g", digits, value);
    if (std::strtod(text, nullptr) == value) break;
  }
  std::string shown = text;
  if (shown.find_first_of(".en") == std::string::npos) shown += ".0";
  return shown;
}

}  // namespace pubmatch
