// How failures of the core and of the binding reach Python.
#pragma once

#include <pybind11/pybind11.h>

#include <stdexcept>
#include <system_error>

namespace pubmatch {

// An argument has a type or dtype the call does not take.
class ArgumentTypeError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// Raises the OSError (FileNotFoundError, PermissionError, …) for what the system said about `path`.
[[noreturn]] void raise_os_error(const std::system_error& error, const pybind11::str& path);

}  // namespace pubmatch
