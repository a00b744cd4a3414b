#include "file_bytes.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <system_error>

#include "pubmatch/error.hpp"

namespace pubmatch {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::align_val_t alignment(std::size_t size) { return std::align_val_t{size >= kHugePage ? kHugePage : 64}; }

[[noreturn]] void fail(const char* doing, const std::string& path) {
  const int error = errno;
  throw std::system_error(error, std::generic_category(), std::string(doing) + " '" + path + "'");
}

// An open regular file.
class InputFile {
 public:
  explicit InputFile(const std::string& path) {
    if (path.find('\0') != std::string::npos) throw ArgumentError("a path cannot contain a null character");
    // Without O_NONBLOCK opening a pipe waits for its writer; regular files do not mind it.
    descriptor_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) fail("cannot open", path);
    struct stat known{};
    if (::fstat(descriptor_, &known) != 0) close_and_fail("cannot open", path);
    if (S_ISDIR(known.st_mode)) {
      errno = EISDIR;
      close_and_fail("cannot read", path);
    }
    if (!S_ISREG(known.st_mode)) {
      ::close(descriptor_);
      throw FormatError("not a pubmatch index file: not a regular file");
    }
    size_ = static_cast<std::size_t>(known.st_size);
  }
  ~InputFile() { ::close(descriptor_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  int descriptor() const { return descriptor_; }
  std::size_t size() const { return size_; }

 private:
  [[noreturn]] void close_and_fail(const char* doing, const std::string& path) const {
    const int error = errno;
    ::close(descriptor_);
    errno = error;
    fail(doing, path);
  }

  int descriptor_ = -1;
  std::size_t size_ = 0;
};

}  // namespace

std::shared_ptr<const FileBytes> FileBytes::map(const std::string& path, bool populate) {
  const InputFile file(path);
  std::shared_ptr<FileBytes> result(new FileBytes);
  if (file.size() == 0) return result;  // cannot be mapped
  int flags = MAP_PRIVATE;
#ifdef MAP_POPULATE
  if (populate) flags |= MAP_POPULATE;
#else
  static_cast<void>(populate);
#endif
  void* data = ::mmap(nullptr, file.size(), PROT_READ, flags, file.descriptor(), 0);
  if (data == MAP_FAILED) fail("cannot map", path);
  result->data_ = static_cast<std::byte*>(data);
  result->size_ = file.size();
  result->mapped_ = true;
  return result;
}

std::shared_ptr<const FileBytes> FileBytes::read(const std::string& path) {
  const InputFile file(path);
  std::shared_ptr<FileBytes> result(new FileBytes);
  result->allocate(file.size());
  std::size_t done = 0;
  while (done < file.size()) {
    const ssize_t got = ::read(file.descriptor(), result->data_ + done, file.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot read", path);
    if (got == 0)
      throw FormatError("truncated while it was read: " + std::to_string(done) + " of " + std::to_string(file.size()) +
                        " bytes");
    done += static_cast<std::size_t>(got);
  }
  return result;
}

std::shared_ptr<const FileBytes> FileBytes::copy(std::span<const std::byte> bytes) {
  std::shared_ptr<FileBytes> result(new FileBytes);
  result->allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(result->data_, bytes.data(), bytes.size());
  return result;
}

void FileBytes::allocate(std::size_t size) {
  data_ = static_cast<std::byte*>(::operator new(size, alignment(size)));
  size_ = size;
#ifdef MADV_HUGEPAGE
  // For the same reason as the slabs of part_pool.hpp. Only a wish: whether it is granted does not matter.
  if (size >= kHugePage) static_cast<void>(::madvise(data_, size / kHugePage * kHugePage, MADV_HUGEPAGE));
#endif
}

FileBytes::~FileBytes() {
  if (mapped_)
    ::munmap(data_, size_);
  else if (data_ != nullptr)
    ::operator delete(data_, alignment(size_));
}

}  // namespace pubmatch
