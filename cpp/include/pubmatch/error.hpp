// The errors the core raises. The binding turns each into its Python class.
#pragma once

#include <stdexcept>
#include <string>

namespace pubmatch {

// A value the caller passed breaks a rule; the message names rule, value and place.
class ArgumentError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// A file or byte string is not an index this release can read.
class FormatError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// check() found a node that contradicts its contents.
class CorruptIndexError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "3.0", "-inf", "nan": a number as an error message shows it.
std::string show(double value);

}  // namespace pubmatch
