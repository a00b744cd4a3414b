// Index files that were damaged or forged: found out, or harmless.
#include <doctest/doctest.h>

#include "file_fixtures.hpp"

using namespace pubmatch;
using namespace pubmatch::test;

TEST_CASE("checksum: no change of one byte goes unseen, nor one of length") {
  std::mt19937_64 random(1);
  Blob bytes(203);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  const std::uint64_t right = checksum(bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    for (unsigned change = 1; change < 256; ++change) {
      bytes[i] ^= static_cast<std::byte>(change);
      CHECK_MESSAGE(checksum(bytes) != right, "byte ", i, " ^ ", change);
      bytes[i] ^= static_cast<std::byte>(change);
    }
  bytes.push_back(std::byte{0});
  CHECK(checksum(bytes) != right);
  CHECK(checksum({}) != checksum(std::span(bytes).last(1)));
}

TEST_CASE("checksum: pieces give the same as the whole") {
  Blob bytes(1000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  Checksum pieces;
  for (std::size_t at = 0; at < bytes.size(); at += 3 * Checksum::kStep)
    pieces.add(std::span(bytes).subspan(at, std::min(3 * Checksum::kStep, bytes.size() - at)));
  CHECK(pieces.value() == checksum(bytes));
}

TEST_CASE("file: one flipped byte anywhere is found") {
  for (const Recipe& recipe : {kRecipes[2], kRecipes[9]}) {
    INFO(recipe.name);
    Blob blob = to_bytes(*make_tree<float>(recipe));
    std::size_t missed = 0;
    for (std::size_t i = 0; i < blob.size(); ++i) {
      const std::byte flip{static_cast<unsigned char>(1u << (i % 8))};
      blob[i] ^= flip;
      missed += format_error([&] { from_bytes(blob); }).empty() ? 1 : 0;
      blob[i] ^= flip;
    }
    CHECK(missed == 0);
    CHECK_NOTHROW(from_bytes(blob));
  }
}

TEST_CASE("file: cut short anywhere, or too long") {
  Blob blob = to_bytes(*make_tree<double>(kRecipes[9]));
  std::size_t missed = 0;
  for (std::size_t length = 0; length < blob.size(); ++length)
    missed += format_error([&] { from_bytes(std::span(blob).first(length)); }).empty() ? 1 : 0;
  CHECK(missed == 0);
  blob.push_back(std::byte{0});
  CHECK(format_error([&] { from_bytes(blob); }).starts_with("too long: "));
}

TEST_CASE("file: errors say what is wrong") {
  const Blob blob = to_bytes(*make_tree<float>(kRecipes[3]));
  const std::string size = std::to_string(blob.size());
  const auto error = [](Blob bytes) { return format_error([&] { from_bytes(bytes); }); };
  CHECK(error({}) == "not a pubmatch index file: it is empty");
  CHECK(error(Blob(5000, std::byte{'x'})) == "not a pubmatch index file");
  CHECK(error(Blob(blob.begin(), blob.end() - 1)) ==
        "truncated: " + std::to_string(blob.size() - 1) + " of " + size + " bytes");
  CHECK(error(Blob(blob.begin(), blob.begin() + 20)) == "truncated: 20 of 192 bytes");
  Blob newer = blob;
  newer[8] = std::byte{7};
  CHECK(error(newer) == "written by a newer release (format 7; this one reads 1)");
  CHECK(error(Blob(newer.begin(), newer.begin() + 20)) == "written by a newer release (format 7; this one reads 1)");
  Blob flipped = blob;
  flipped.back() ^= std::byte{1};
  CHECK(error(flipped) == "checksum mismatch in the nodes");
  flipped = blob;
  flipped[200] ^= std::byte{1};
  CHECK(error(flipped) == "checksum mismatch in the head");
}

TEST_CASE("file: a header that lies, with checksums made right, is refused") {
  for (const std::size_t which : {3, 5}) {
    const Blob blob = to_bytes(*make_tree<float>(kRecipes[which]));
    const auto refused = [&](auto&& lie) {
      Blob forged = blob;
      FileHeader header = header_of(forged);
      lie(header);
      put_header(forged, header);
      seal(forged);
      return !format_error([&] { from_bytes(forged); }).empty();
    };
    CHECK_FALSE(refused([](FileHeader&) {}));
    for (const std::uint32_t dims : {0u, 1u, 256u, 0xffffffffu}) CHECK(refused([&](FileHeader& h) { h.dims = dims; }));
    for (const std::uint32_t bytes : {0u, 2u, 8u, 16u}) CHECK(refused([&](FileHeader& h) { h.scalar_bytes = bytes; }));
    for (const std::uint32_t group : {0u, 513u, 0xffffffffu}) CHECK(refused([&](FileHeader& h) { h.group = group; }));
    for (const std::uint32_t capacity : {0u, 3u, 513u, 0xffffffffu}) {
      CHECK(refused([&](FileHeader& h) { h.layout_node_capacity = capacity; }));
      CHECK(refused([&](FileHeader& h) { h.layout_leaf_capacity = capacity; }));
    }
    for (const std::uint32_t target : {0u, 513u}) CHECK(refused([&](FileHeader& h) { h.layout_leaf_target = target; }));
    for (const std::uint32_t buckets : {0u, 3u, 129u})
      CHECK(refused([&](FileHeader& h) { h.layout_buckets = buckets; }));
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
      CHECK(refused([&](FileHeader& h) { h.cuts_bytes = bytes; }));
      CHECK(refused([&](FileHeader& h) { h.tuner_bytes = bytes; }));
      CHECK(refused([&](FileHeader& h) { h.node_count = bytes; }));
      CHECK(refused([&](FileHeader& h) { h.file_bytes = bytes; }));
      CHECK(refused([&](FileHeader& h) { h.size = bytes; }));
    }
    CHECK(refused([](FileHeader& h) { h.active_bytes += 1; }));
    CHECK(refused([](FileHeader& h) { h.active_bytes = ~std::uint64_t{0}; }));
    CHECK(refused([](FileHeader& h) { h.next_id = -1; }));
    CHECK(refused([](FileHeader& h) { h.next_id = std::numeric_limits<std::int64_t>::max(); }));
    CHECK(refused([](FileHeader& h) { h.packed_size = ~std::uint64_t{0}; }));
    CHECK(refused([](FileHeader& h) { h.updates = ~std::uint64_t{0}; }));
    CHECK(refused([](FileHeader& h) { h.fill = std::numeric_limits<double>::quiet_NaN(); }));
    CHECK(refused([](FileHeader& h) { h.buckets = 1000; }));
    CHECK(refused([](FileHeader& h) { h.node_kernel = 3; }));
    CHECK(refused([](FileHeader& h) { h.split = 2; }));
    CHECK(refused([](FileHeader& h) { h.layout_split = 2; }));
    CHECK(refused([](FileHeader& h) { h.layout_dynamic = 2; }));
    CHECK(refused([](FileHeader& h) { h.layout_bitmap ^= 1; }));
    CHECK(refused([](FileHeader& h) { h.layout_bitmap += 2; }));
  }
}

TEST_CASE("file: a directory that lies, with checksums made right, is refused") {
  for (const std::size_t which : {3, 5, 7, 8}) {
    INFO(kRecipes[which].name);
    const Blob blob = to_bytes(*make_tree<double>(kRecipes[which]));
    const FileHeader header = header_of(blob);
    REQUIRE(header.node_count > 2);
    const auto refused = [&](std::size_t node, auto&& lie) {
      Blob forged = blob;
      std::byte* at = forged.data() + FileSections(header).directory + node * sizeof(NodeRecord);
      NodeRecord record;
      std::memcpy(&record, at, sizeof record);
      lie(record);
      std::memcpy(at, &record, sizeof record);
      seal(forged);
      return format_error([&] { from_bytes(forged); }).starts_with("directory: ");
    };
    for (const std::size_t node : {std::size_t{0}, std::size_t{1}, static_cast<std::size_t>(header.node_count - 1)}) {
      for (const int change : {-1, 1, 4, 1000}) {
        const auto changed = [&](std::uint16_t value) { return static_cast<std::uint16_t>(value + change); };
        CHECK(refused(node, [&](NodeRecord& r) { r.count = changed(r.count); }));
        CHECK(refused(node, [&](NodeRecord& r) { r.live = changed(r.live); }));
        CHECK(refused(node, [&](NodeRecord& r) { r.stride = changed(r.stride); }));
        CHECK(refused(node, [&](NodeRecord& r) { r.active = changed(r.active); }));
        CHECK(refused(node, [&](NodeRecord& r) { r.height = static_cast<std::uint8_t>(r.height + change); }));
      }
      CHECK(refused(node, [&](NodeRecord& r) { r.flags ^= 4; }));
    }
  }
}

TEST_CASE("file: cuts and active dimensions that lie are refused") {
  const Blob blob = to_bytes(*make_tree<double>(kRecipes[7]));
  const FileHeader header = header_of(blob);
  const FileSections sections(header);
  const auto error = [&](std::uint64_t at, auto value) {
    Blob forged = blob;
    std::memcpy(forged.data() + at, &value, sizeof value);
    seal(forged);
    return format_error([&] { from_bytes(forged); });
  };
  const std::uint64_t fine = sections.cuts + (header.dims + 7) / 8 * 8;
  CHECK(error(sections.cuts, std::uint8_t{127}) == "cuts: dimension 0 has 127");
  CHECK(error(sections.cuts, std::uint8_t{5}).starts_with("cuts: "));
  CHECK(error(fine, kInf) == "cuts: dimension 0: not ascending");
  CHECK(error(fine + 8, -1.0) == "cuts: dimension 0: not ascending");
  CHECK(error(fine + 8, std::numeric_limits<double>::quiet_NaN()) == "cuts: dimension 0: not ascending");
  const std::uint64_t last_coarse = sections.cuts + header.cuts_bytes - 1;
  CHECK(error(last_coarse, std::uint8_t{255}) == "cuts: dimension 19: coarse buckets do not follow the fine ones");
  CHECK(error(sections.active, std::uint8_t{255}).ends_with(": misplaced active dimension 255"));
  CHECK(error(sections.active + 1, std::uint8_t{0}).ends_with(": misplaced active dimension 0"));
  CHECK(error(sections.tuner, std::uint8_t{0}).starts_with("tuner: "));
}

TEST_CASE_TEMPLATE("file: forged heads are refused or harmless", T, float, double) {
  std::size_t accepted = 0;
  for (const std::size_t which : {2, 5, 8, 9}) {
    INFO(kRecipes[which].name);
    const Blob blob = to_bytes(*make_tree<T>(kRecipes[which]));
    const std::uint64_t head = FileSections(header_of(blob)).parts;
    std::mt19937_64 random(which);
    for (int round = 0; round < 1000; ++round) {
      Blob forged = blob;
      for (std::uint64_t changes = random() % 3 + 1; changes > 0; --changes)
        forged[16 + random() % (head - 16)] = static_cast<std::byte>(random() % 2 == 0 ? random() : random() % 4);
      seal(forged);
      try {
        answers(from_bytes(forged));
        ++accepted;
      } catch (const FormatError&) {
      }
    }
  }
  CHECK(accepted > 0);  // else the searches were never tried
}

// Bytes that mean the worst: all bits set, NaN, dimensions that are none, or anything.
template <class T>
void damage_parts(Blob& blob, std::mt19937_64& random, int how) {
  const std::uint64_t parts = FileSections(header_of(blob)).parts;
  for (std::uint64_t i = parts; i < blob.size(); ++i) {
    if (how == 0) blob[i] = std::byte{0xff};
    if (how == 1) blob[i] = static_cast<std::byte>(random());
    if (how == 2 && random() % 64 == 0) blob[i] = static_cast<std::byte>(random());
  }
  if (how == 3) std::fill(blob.begin() + static_cast<std::ptrdiff_t>(parts), blob.end(), std::byte{0});
  if (how == 4)  // bounds that contain everything, wherever they lie
    for (std::uint64_t i = parts; i + sizeof(T) <= blob.size(); i += sizeof(T)) {
      const T bound = i / sizeof(T) % 2 == 0 ? T(-kInf) : T(kInf);
      std::memcpy(blob.data() + i, &bound, sizeof bound);
    }
}

// What a damaged tree makes of updates does not matter, as long as nothing is touched that is not its own.
template <class T>
void update(Tree<T>& tree) {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> uniform(0, 1);
  constexpr std::size_t kBoxes = 200;
  std::vector<T> lower, upper;
  for (std::size_t i = 0; i < kBoxes * tree.dims(); ++i) {
    lower.push_back(static_cast<T>(uniform(random)));
    upper.push_back(lower.back() + T{0.25});
  }
  std::vector<std::int64_t> ids;
  for (std::int64_t id = -10; id < 90; ++id) ids.push_back(id);
  ids.push_back(-1);
  ids.push_back(0xffffffff);
  try {
    tree.erase(ids.data(), ids.size());
    for (std::size_t i = 0; i < kBoxes; i += 20)
      tree.insert({lower.data() + i * tree.dims(), upper.data() + i * tree.dims(), 20, tree.dims()}, nullptr);
  } catch (const std::exception& error) {
    MESSAGE(error.what());
  }
}

TEST_CASE_TEMPLATE("file: damaged nodes are found by the checksum, and harmless without it", T, float, double) {
  const Folder folder;
  const std::string path = folder / "index";
  std::mt19937_64 random(5);
  for (const Recipe& recipe : kRecipes)
    for (int how = 0; how < 5; ++how) {
      INFO(recipe.name);
      INFO(how);
      Blob blob = to_bytes(*make_tree<T>(recipe));
      const Blob right = blob;
      damage_parts<T>(blob, random, how);
      if (blob == right) continue;
      write_blob(path, blob);
      for (const bool mmap : {true, false}) {
        CHECK(format_error([&] { load(path, mmap, true); }) == "checksum mismatch in the nodes");
        const AnyTree loaded = load(path, mmap, false);
        CHECK_NOTHROW(answers(loaded));
        Tree<T>& tree = *std::get<std::shared_ptr<Tree<T>>>(loaded);
        if (how < 2 && recipe.size > 0) CHECK_THROWS_AS(tree.check(), CorruptIndexError);
        update(tree);
        CHECK_NOTHROW(answers(loaded));
      }
    }
}

TEST_CASE("file: without verification a flipped head is still found") {
  const Folder folder;
  const std::string path = folder / "index";
  const Blob blob = to_bytes(*make_tree<float>(kRecipes[8]));
  const std::uint64_t head = FileSections(header_of(blob)).parts;
  for (std::uint64_t i = 0; i < head; i += 7) {
    Blob flipped = blob;
    flipped[i] ^= std::byte{64};
    write_blob(path, flipped);
    CHECK_MESSAGE(!format_error([&] { load(path, true, false); }).empty(), "byte ", i);
  }
}
