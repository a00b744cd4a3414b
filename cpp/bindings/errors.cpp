#include "errors.hpp"

#include <exception>

#include "pubmatch/error.hpp"

namespace py = pybind11;

namespace pubmatch {

namespace {

// The Python classes to raise; the nearest built-in ones until the package hands its own over. References are kept for
// the life of the process: an error can be raised while the interpreter is already taking modules apart.
struct ErrorClasses {
  PyObject* argument;
  PyObject* argument_type;
  PyObject* format;
  PyObject* corrupt_index;
};

ErrorClasses classes{};

PyObject* checked_class(const py::handle& given) {
  if (!PyExceptionClass_Check(given.ptr())) throw py::type_error("set_errors takes exception classes");
  return given.ptr();
}

// The root is part of the family the package hands over, but nothing here raises it.
void set_errors(const py::object& root, const py::object& argument, const py::object& argument_type,
                const py::object& format, const py::object& corrupt_index) {
  checked_class(root);
  const ErrorClasses given{checked_class(argument), checked_class(argument_type), checked_class(format),
                           checked_class(corrupt_index)};
  for (PyObject* kept : {given.argument, given.argument_type, given.format, given.corrupt_index}) Py_INCREF(kept);
  classes = given;
}

py::object os_error(const std::system_error& error, const py::object& path) {
  const auto type = py::reinterpret_borrow<py::object>(PyExc_OSError);
  const int number = error.code().value();
  return path.is_none() ? type(number, error.code().message()) : type(number, error.code().message(), path);
}

void set_os_error(const std::system_error& error, const py::object& path) {
  const py::object raised = os_error(error, path);
  PyErr_SetObject(py::type::handle_of(raised).ptr(), raised.ptr());
}

void translate(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const ArgumentTypeError& error) {
    PyErr_SetString(classes.argument_type, error.what());
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(classes.argument, error.what());
  } catch (const FormatError& error) {
    PyErr_SetString(classes.format, error.what());
  } catch (const CorruptIndexError& error) {
    PyErr_SetString(classes.corrupt_index, error.what());
  } catch (const std::system_error& error) {
    set_os_error(error, py::none());
  }
}

}  // namespace

void raise_os_error(const std::system_error& error, const py::str& path) {
  set_os_error(error, path);
  throw py::error_already_set();
}

void register_errors(py::module_& m) {
  classes = {PyExc_ValueError, PyExc_TypeError, PyExc_RuntimeError, PyExc_RuntimeError};
  py::register_local_exception_translator(&translate);
  m.def("set_errors", &set_errors, "Hand over the classes to raise.", py::arg("root"), py::arg("argument"),
        py::arg("argument_type"), py::arg("format"), py::arg("corrupt_index"), py::pos_only());
}

}  // namespace pubmatch
