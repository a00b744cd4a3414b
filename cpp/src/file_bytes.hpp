// The bytes of an index file in memory, mapped or owned, aligned to 64.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace pubmatch {

class FileBytes {
 public:
  // Both throw std::system_error, and FormatError for what is no regular file. A mapped file must not be truncated while
  // it is in use (save() never does that: it replaces the file). populate: the whole file is going to be read at once.
  static std::shared_ptr<const FileBytes> map(const std::string& path, bool populate);
  static std::shared_ptr<const FileBytes> read(const std::string& path);
  static std::shared_ptr<const FileBytes> copy(std::span<const std::byte> bytes);

  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes();

  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  FileBytes() = default;
  void allocate(std::size_t size);

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  bool mapped_ = false;
};

}  // namespace pubmatch
