// Index files: round trips, and what goes wrong on disk.
#include "pubmatch/file_format.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <csignal>

#include "file_fixtures.hpp"

using namespace pubmatch;
using namespace pubmatch::test;

TEST_CASE_TEMPLATE("file: every kind of tree survives the round trip", T, float, double) {
  const Folder folder;
  for (const Recipe& recipe : kRecipes) {
    INFO(recipe.name);
    const auto tree = make_tree<T>(recipe);
    expect_same(*tree, from_bytes(to_bytes(*tree)));
    const std::string path = folder / "index";
    save(*tree, path);
    CHECK(read_blob(path) == to_bytes(*tree));
    for (const bool mmap : {true, false})
      for (const bool verify : {true, false}) expect_same(*tree, load(path, mmap, verify));
  }
}

TEST_CASE("file: a tree without boxes that was never built") {
  Tree<double> tree(3, {});
  expect_same(tree, from_bytes(to_bytes(tree)));
}

TEST_CASE_TEMPLATE("file: a loaded tree takes updates and leaves its file alone", T, float, double) {
  const Folder folder;
  const std::string path = folder / "index";
  for (const Recipe& recipe : kRecipes) {
    INFO(recipe.name);
    const auto tree = make_tree<T>(recipe);
    save(*tree, path);
    const Blob before = read_blob(path);
    const AnyTree loaded = load(path, true, true);
    Tree<T>& other = *std::get<std::shared_ptr<Tree<T>>>(loaded);
    const std::vector<T> lower(300 * recipe.dims, T{0.25});
    const std::vector<T> upper(300 * recipe.dims, T{0.75});
    const std::vector<std::int64_t> doomed = {recipe.first_id, recipe.first_id + 3, recipe.first_id + 60};
    for (Tree<T>* each : {tree.get(), &other}) {
      each->insert({lower.data(), upper.data(), 300, recipe.dims}, nullptr);
      each->erase(doomed.data(), doomed.size());
      each->check();
    }
    CHECK(other.size() == tree->size());
    const std::vector<double> points = make_points(20, recipe.dims);
    CHECK(other.count(points.data(), 20, 1) == tree->count(points.data(), 20, 1));
    CHECK(read_blob(path) == before);
    expect_same(other, from_bytes(to_bytes(other)));
  }
}

TEST_CASE("file: without verification no node is touched") {
  const Folder folder;
  const std::string path = folder / "index";
  const Recipe large{"large", 30000, 12, 0, 0, kBitmap};
  save(*make_tree<float>(large), path);
  const auto resident_kb = [&] {
    std::ifstream maps("/proc/self/smaps");
    bool inside = false;
    for (std::string line; std::getline(maps, line);) {
      if (line.find(path) != std::string::npos) inside = true;
      if (inside && line.starts_with("Rss:")) return std::stoul(line.substr(4));
    }
    return 0ul;
  };
  {
    const AnyTree lazy = load(path, true, false);
    // Far from all: the system maps some pages around those it is asked for.
    CHECK(resident_kb() > 0);
    CHECK(resident_kb() * 1024 < fs::file_size(path) / 2);
  }
  const AnyTree whole = load(path, true, true);
  CHECK(resident_kb() * 1024 >= fs::file_size(path));
}

TEST_CASE("file: save replaces the old file wholly or not at all") {
  const Folder folder;
  const std::string path = folder / "index";
  const auto small = make_tree<float>(kRecipes[2]);
  const auto large = make_tree<float>(kRecipes[3]);
  save(*small, path);
  REQUIRE(::chmod(path.c_str(), 0640) == 0);
  const Blob before = read_blob(path);

  // A limit on file sizes stands for a full disk.
  rlimit old_limit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limit{20000, old_limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  const int code = system_error_code([&] { save(*large, path); });
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  std::signal(SIGXFSZ, old_handler);
  CHECK(code == EFBIG);
  CHECK(read_blob(path) == before);
  CHECK(folder.entries() == 1);

  const AnyTree mapped = load(path, true, true);
  save(*large, path);
  CHECK(read_blob(path) == to_bytes(*large));
  CHECK(folder.entries() == 1);
  CHECK((fs::status(path).permissions() & fs::perms::all) == fs::perms(0640));
  CHECK(answers(mapped) == answers(*small));  // the replaced file is still mapped
}

TEST_CASE("file: where save cannot write, and where it goes") {
  const Folder folder;
  const auto tree = make_tree<double>(kRecipes[4]);
  CHECK(system_error_code([&] { save(*tree, "/dev/full"); }) == ENOSPC);
  CHECK_NOTHROW(save(*tree, "/dev/null"));
  CHECK(system_error_code([&] { save(*tree, folder / "missing/index"); }) == ENOENT);
  CHECK(system_error_code([&] { save(*tree, folder / ""); }) == EISDIR);
  CHECK(system_error_code([&] { save(*tree, ""); }) == ENOENT);
  CHECK_THROWS_AS(save(*tree, std::string("a\0b", 3)), ArgumentError);
  CHECK(folder.entries() == 0);

  const std::string name(255, 'n');
  CHECK_NOTHROW(save(*tree, folder / name));
  fs::create_symlink(folder / name, folder / "link");
  save(*make_tree<double>(kRecipes[2]), folder / "link");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(read_blob(folder / name) == to_bytes(*make_tree<double>(kRecipes[2])));
}

TEST_CASE("file: what load cannot open, and what is no index") {
  const Folder folder;
  for (const bool mmap : {true, false}) {
    CHECK(system_error_code([&] { load(folder / "missing", mmap, true); }) == ENOENT);
    CHECK(system_error_code([&] { load(folder / "", mmap, true); }) == EISDIR);
    CHECK(format_error([&] { load("/dev/zero", mmap, true); }) == "not a pubmatch index file: not a regular file");
    write_blob(folder / "empty", {});
    CHECK(format_error([&] { load(folder / "empty", mmap, false); }) == "not a pubmatch index file: it is empty");
    const std::string pipe = folder / (mmap ? "pipe" : "pipe2");
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(format_error([&] { load(pipe, mmap, true); }) == "not a pubmatch index file: not a regular file");
    CHECK_THROWS_AS(load(std::string("a\0b", 3), mmap, true), ArgumentError);
  }
}
