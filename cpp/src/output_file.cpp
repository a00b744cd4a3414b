#include "output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

namespace pubmatch {

namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
// A file name has at most 255 bytes; the temporary one adds dots, a process id and a counter.
constexpr std::size_t kNameBytes = 200;

std::string without_links(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
  return resolved ? std::string(resolved.get()) : path;
}

// Makes the new name last. A directory that may be written but not read cannot be synced; some file systems have no use
// for it and say so with EINVAL.
bool sync_directory(const std::string& directory) {
  const int descriptor = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return true;
  const bool synced = ::fsync(descriptor) == 0 || errno == EINVAL;
  const int error = errno;
  ::close(descriptor);
  errno = error;
  return synced;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return path.substr(0, std::max<std::size_t>(slash, 1));
}

std::string name_of(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

}  // namespace

OutputFile::OutputFile(const std::string& path) : path_(path), target_(path) {
  struct stat known{};
  const bool exists = ::stat(path.c_str(), &known) == 0;
  if (!exists && errno != ENOENT) fail("cannot write");
  if ((exists && S_ISDIR(known.st_mode)) || path.ends_with('/')) {
    errno = EISDIR;
    fail("cannot write");
  }
  if (path.empty()) {
    errno = ENOENT;
    fail("cannot write");
  }
  buffer_.reserve(kBufferBytes);
  if (exists && !S_ISREG(known.st_mode)) {
    descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("cannot open");
    return;
  }
  if (exists) {
    // Renaming would get around a file's write protection.
    if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) fail("cannot write");
    target_ = without_links(path);
  }
  open_temporary(directory_of(target_), name_of(target_));
  if (exists) static_cast<void>(::fchmod(descriptor_, known.st_mode & 07777));
}

void OutputFile::open_temporary(const std::string& directory, const std::string& name) {
  static std::atomic<unsigned> counter{0};
  const std::string begin = directory + "/." + name.substr(0, kNameBytes) + "." + std::to_string(::getpid()) + ".";
  do {  // a name left behind by a process of the same id is passed over
    temporary_ = begin + std::to_string(counter.fetch_add(1)) + ".tmp";
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail("cannot write");
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kBufferBytes) flush();
  if (bytes.size() >= kBufferBytes)
    write_out(bytes);
  else
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void OutputFile::write_out(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void OutputFile::flush() {
  write_out(buffer_);
  buffer_.clear();
}

void OutputFile::commit() {
  flush();
  // Devices and pipes have nothing to sync: EINVAL.
  if (::fsync(descriptor_) != 0 && !(temporary_.empty() && errno == EINVAL)) fail("cannot sync");
  const int descriptor = descriptor_;
  descriptor_ = -1;
  if (::close(descriptor) != 0 && errno != EINTR) fail("cannot write");
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("cannot write");
  temporary_.clear();
  if (!sync_directory(directory_of(target_))) fail("cannot sync the directory of");
}

void OutputFile::fail(const char* doing) const {
  const int error = errno;  // before making the text can change it
  throw std::system_error(error, std::generic_category(), std::string(doing) + " '" + path_ + "'");
}

}  // namespace pubmatch
