// A file that appears under its name wholly or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace pubmatch {

// Writes to a temporary name in the same directory; commit() syncs and renames. Without commit() the temporary is removed
// and a file already there stays. A target that is no regular file (a device, a pipe) is written to directly. Symbolic
// links are followed, and a replaced file's permissions are kept. All errors are std::system_error.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  void open_temporary(const std::string& directory, const std::string& name);
  void write_out(std::span<const std::byte> bytes);
  void flush();
  [[noreturn]] void fail(const char* doing) const;  // with the present errno

  std::string path_;       // as the caller names it, for messages
  std::string target_;     // without symbolic links
  std::string temporary_;  // empty: written to directly, or done
  std::vector<std::byte> buffer_;
  int descriptor_ = -1;
};

}  // namespace pubmatch
