// The rules every box obeys, and the message when one does not.
#pragma once

#include <cmath>
#include <string>

#include "pubmatch/box.hpp"
#include "pubmatch/error.hpp"

namespace pubmatch {

template <class T>
void validate_boxes(const BoxView<T>& boxes) {
  for (std::size_t i = 0; i < boxes.size; ++i)
    for (std::size_t d = 0; d < boxes.dims; ++d) {
      const T low = boxes.lower_row(i)[d];
      const T high = boxes.upper_row(i)[d];
      if (low <= high) continue;
      const std::string place = " at row " + std::to_string(i) + ", dimension " + std::to_string(d);
      if (std::isnan(low)) throw ArgumentError("lower bound is NaN" + place);
      if (std::isnan(high)) throw ArgumentError("upper bound is NaN" + place);
      throw ArgumentError("upper < lower" + place + " (" + show(static_cast<double>(high)) + " < " +
                          show(static_cast<double>(low)) + ")");
    }
}

}  // namespace pubmatch
