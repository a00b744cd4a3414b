// Trees and files for the tests of index files.
#pragma once

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <system_error>
#include <vector>

#include "file_layout.hpp"
#include "pubmatch/checksum.hpp"
#include "pubmatch/error.hpp"
#include "pubmatch/file_format.hpp"

namespace pubmatch::test {

namespace fs = std::filesystem;

using Blob = std::vector<std::byte>;

inline constexpr double kInf = std::numeric_limits<double>::infinity();

// How a tree of a test case is made.
struct Recipe {
  const char* name;
  std::size_t size;
  std::size_t dims;
  double open_share;      // of sides without bounds
  std::int64_t first_id;  // ids count from here in steps of 3
  Params params;
};

inline const Params kPaper{.node_capacity = 10, .leaf_capacity = 20, .node_kernel = NodeKernel::kCompare};
inline const Params kCompare{.node_kernel = NodeKernel::kCompare};
inline const Params kBitmap{.node_kernel = NodeKernel::kBitmap};
inline const Params kSmallBitmap{
    .node_capacity = 4, .leaf_capacity = 16, .buckets = 9, .node_kernel = NodeKernel::kBitmap};

inline const std::vector<Recipe> kRecipes = {
    {"empty", 0, 3, 0, 0, {}},
    {"empty bitmap", 0, 5, 0, 0, kBitmap},
    {"one", 1, 2, 0, 7, {}},
    {"auto, dense", 1500, 6, 0, 0, {}},
    {"compare", 700, 2, 0.1, 0, kCompare},
    {"paper", 400, 3, 0, std::int64_t{1} << 40, kPaper},
    {"bitmap, dense", 1200, 5, 0, 0, kBitmap},
    {"bitmap, sparse", 1200, 20, 0.8, -5, kBitmap},
    {"bitmap, many levels", 500, 4, 0.3, 0, kSmallBitmap},
    {"bitmap, nothing constrained", 40, 4, 1, 0, kSmallBitmap},
    {"255 dimensions", 600, 255, 0.9, 0, kBitmap},
};

template <class T>
std::shared_ptr<Tree<T>> make_tree(const Recipe& recipe) {
  std::mt19937_64 random(recipe.size + recipe.dims);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<T> lower, upper;
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < recipe.size; ++i) {
    ids.push_back(recipe.first_id + static_cast<std::int64_t>(3 * i));
    for (std::size_t d = 0; d < recipe.dims; ++d) {
      const bool open = uniform(random) < recipe.open_share;
      const double from = uniform(random);
      lower.push_back(static_cast<T>(open ? -kInf : from));
      upper.push_back(static_cast<T>(open ? kInf : from + 0.6 * uniform(random)));
    }
  }
  auto tree = Tree<T>::build({lower.data(), upper.data(), ids.size(), recipe.dims}, ids.data(), recipe.params, {});
  tree->tuner()->record(32, tree->tuner()->next_level(32, static_cast<int>(tree->height())), 1e-3);
  return tree;
}

inline std::vector<double> make_points(std::size_t count, std::size_t dims) {
  std::mt19937_64 random(99);
  std::uniform_real_distribution<double> uniform(0, 1.2);
  std::vector<double> points;
  for (std::size_t i = 0; i < count * dims; ++i)
    points.push_back(i % 11 == 5 ? std::numeric_limits<double>::quiet_NaN() : uniform(random));
  return points;
}

inline void append_matches(const Matches& matches, std::vector<std::int64_t>& to) {
  to.insert(to.end(), matches.offsets.begin(), matches.offsets.end());
  to.insert(to.end(), matches.ids.data(), matches.ids.data() + matches.ids.size);
}

// Everything the tree answers, in one list.
template <class T>
std::vector<std::int64_t> answers(Tree<T>& tree) {
  constexpr std::size_t kPoints = 24;
  const std::vector<double> points = make_points(kPoints, tree.dims());
  std::vector<std::int64_t> all;
  for (std::size_t level = 1; level <= tree.height(); ++level) {
    append_matches(tree.match(points.data(), kPoints, {.level = level, .sort = true}), all);
    const std::vector<std::int64_t> estimates = tree.estimate(points.data(), kPoints, level);
    all.insert(all.end(), estimates.begin(), estimates.end());
  }
  append_matches(tree.match(points.data(), kPoints, {.order = Order::kFifo, .level = 1, .threads = 2}), all);
  const std::vector<std::int64_t> counts = tree.count(points.data(), kPoints, 1);
  all.insert(all.end(), counts.begin(), counts.end());
  std::vector<double> low(4 * tree.dims(), 0.3);
  std::vector<double> high(4 * tree.dims(), 0.6);
  std::fill(low.begin(), low.begin() + static_cast<std::ptrdiff_t>(tree.dims()), -kInf);
  std::fill(high.end() - static_cast<std::ptrdiff_t>(tree.dims()), high.end(), kInf);
  for (const BoxRelation relation : {BoxRelation::kIntersecting, BoxRelation::kCovering, BoxRelation::kCovered})
    append_matches(tree.query(relation, BoxView<double>{low.data(), high.data(), 4, tree.dims()}), all);
  return all;
}

inline std::vector<std::int64_t> answers(const AnyTree& tree) {
  return std::visit([](const auto& typed) { return answers(*typed); }, tree);
}

template <class T>
void expect_same(Tree<T>& tree, const AnyTree& loaded) {
  REQUIRE(std::holds_alternative<std::shared_ptr<Tree<T>>>(loaded));
  Tree<T>& other = *std::get<std::shared_ptr<Tree<T>>>(loaded);
  CHECK(other.size() == tree.size());
  CHECK(other.dims() == tree.dims());
  CHECK(other.height() == tree.height());
  CHECK(other.params() == tree.params());
  CHECK(other.next_id() == tree.next_id());
  CHECK(other.tuner()->to_bytes() == tree.tuner()->to_bytes());
  CHECK(to_bytes(other) == to_bytes(tree));
  CHECK(answers(other) == answers(tree));
  CHECK_NOTHROW(other.check());
}

// The text of the FormatError that `work` throws; empty if it throws none.
inline std::string format_error(const std::function<void()>& work) {
  try {
    work();
  } catch (const FormatError& error) {
    return error.what();
  }
  return "";
}

inline int system_error_code(const std::function<void()>& work) {
  try {
    work();
  } catch (const std::system_error& error) {
    CHECK(error.code().category() == std::generic_category());
    return error.code().value();
  }
  return 0;
}

inline FileHeader header_of(const Blob& blob) {
  FileHeader header;
  std::memcpy(&header, blob.data(), sizeof header);
  return header;
}

inline void put_header(Blob& blob, const FileHeader& header) { std::memcpy(blob.data(), &header, sizeof header); }

// Makes the checksums right again, as a forger would.
inline void seal(Blob& blob) {
  FileHeader header = header_of(blob);
  const std::uint64_t parts = FileSections(header).parts;
  if (parts > blob.size()) return;
  header.parts_checksum = checksum(std::span<const std::byte>(blob).subspan(parts));
  put_header(blob, header);
  header.head_checksum =
      checksum(std::span<const std::byte>(blob).subspan(kHeadChecksumFrom, parts - kHeadChecksumFrom));
  put_header(blob, header);
}

// A directory of its own that goes away with the test.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "pubmatch-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~Folder() { fs::remove_all(path_); }
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
  }

 private:
  fs::path path_;
};

inline void write_blob(const std::string& path, const Blob& blob) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(blob.data()), static_cast<std::streamsize>(blob.size()));
  REQUIRE(file.good());
}

inline Blob read_blob(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Blob blob(text.size());
  std::transform(text.begin(), text.end(), blob.begin(), [](char c) { return static_cast<std::byte>(c); });
  return blob;
}

}  // namespace pubmatch::test
