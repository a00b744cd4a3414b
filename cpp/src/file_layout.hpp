// What an index file looks like: little-endian, in sections that each begin at a multiple of 64 bytes.
//
//   header      FileHeader
//   cuts        per dimension one byte, the number of its fine cuts; all fine cuts as doubles (from the next multiple of
//               8 bytes on); for every fine bucket one byte, its coarse one
//   tuner       LevelTuner::to_bytes()
//   directory   one NodeRecord per node, breadth first from the root: the children of a node follow those of the node
//               before it
//   active      per bitmap node its active dimensions, one byte each, in the order of the directory
//   parts       the lines parts of all nodes, then the entries parts of all nodes, in the order of the directory
//
// The file says nothing twice. Who is whose child, where a section or a part begins and how long it is all follow from
// counts, so there is no offset that could point astray, and the length of the file must come out right.
//
// Parts are laid out as in memory (node.hpp), with leaves that have no room beyond the slots in use, and are used where
// they lie. Searches can bear any bytes in them; everything before them (the head) is checked before it is used.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "pubmatch/node.hpp"

namespace pubmatch {

static_assert(std::endian::native == std::endian::little, "parts are used in place, and files are little-endian");

inline constexpr std::array<char, 8> kFileMagic{'p', 'u', 'b', 'm', 'a', 't', 'c', 'h'};
inline constexpr std::uint32_t kFileFormat = 1;
inline constexpr std::size_t kSectionAlignment = 64;

struct FileHeader {
  std::array<char, 8> magic;
  std::uint32_t format;
  std::uint32_t header_bytes;
  std::uint64_t head_checksum;   // of everything from the next field to the end of the section `active`
  std::uint64_t parts_checksum;  // of the parts
  std::uint64_t file_bytes;
  std::uint64_t cuts_bytes;
  std::uint64_t tuner_bytes;
  std::uint64_t node_count;
  std::uint64_t active_bytes;
  std::uint64_t size;  // boxes
  std::int64_t next_id;
  std::uint64_t packed_size;  // boxes when the tree was bulk loaded
  std::uint64_t updates;      // inserts since then
  double fill;                // Params::fill
  std::uint32_t dims;
  std::uint32_t scalar_bytes;
  std::uint32_t group;
  // Params, then Layout.
  std::uint32_t node_capacity;
  std::uint32_t leaf_capacity;
  std::uint32_t buckets;
  std::uint32_t layout_node_capacity;
  std::uint32_t layout_leaf_capacity;
  std::uint32_t layout_leaf_target;
  std::uint32_t layout_buckets;
  std::uint8_t node_kernel;
  std::uint8_t split;
  std::uint8_t layout_bitmap;
  std::uint8_t layout_dynamic;
  std::uint8_t layout_split;
  std::array<std::uint8_t, 35> reserved;
};
static_assert(sizeof(FileHeader) == 192 && std::is_trivially_copyable_v<FileHeader>);

inline constexpr std::size_t kHeadChecksumFrom = offsetof(FileHeader, parts_checksum);

inline constexpr std::uint8_t kWideIds = 1;
inline constexpr std::uint8_t kUniform = 2;

struct NodeRecord {
  std::uint16_t count;
  std::uint16_t live;
  std::uint16_t stride;
  std::uint16_t active;
  std::uint8_t height;
  std::uint8_t flags;  // kWideIds, kUniform
  std::uint16_t reserved;
};
static_assert(sizeof(NodeRecord) == 12 && std::has_unique_object_representations_v<NodeRecord>);

inline std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment;
}

// Where the sections begin. The lengths in the header must each be less than 2^60.
struct FileSections {
  std::uint64_t cuts, tuner, directory, active, parts;

  explicit FileSections(const FileHeader& header) {
    cuts = aligned(sizeof(FileHeader));
    tuner = cuts + aligned(header.cuts_bytes);
    directory = tuner + aligned(header.tuner_bytes);
    active = directory + aligned(header.node_count * sizeof(NodeRecord));
    parts = active + aligned(header.active_bytes);
  }
};

// Lanes per array of bounds in inner nodes and compare leaves of the file.
inline std::uint16_t file_lanes(std::uint16_t count) { return static_cast<std::uint16_t>((count + 3) / 4 * 4); }

// In the file, room is never more than needed.
inline std::uint16_t file_room(const NodeRecord& record) {
  return record.height == 0 ? record.count : file_lanes(record.count);
}

inline PartSizes file_part_sizes(const FileHeader& header, const NodeRecord& record, std::uint32_t line_count) {
  NodeFacts facts;
  facts.room = file_room(record);
  facts.stride = record.stride;
  facts.line_count = line_count;
  facts.dims = header.dims;
  facts.scalar_bytes = header.scalar_bytes;
  facts.height = record.height;
  facts.bitmap = header.layout_bitmap != 0;
  facts.wide_ids = (record.flags & kWideIds) != 0;
  facts.uniform = (record.flags & kUniform) != 0;
  return part_sizes(facts);
}

}  // namespace pubmatch
