#include "drop_in/mpi/runs.h"

#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include "base/error.h"
#include "drop_in/mpi/layout.h"

namespace rondo::drop_in {
namespace {

struct Free {
  void operator()(unsigned char* memory) const { std::free(memory); }
};

void append(Run run, std::vector<Run>* runs) {
  if (!runs->empty() &&
      runs->back().begin + static_cast<ptrdiff_t>(runs->back().bytes) == run.begin) {
    runs->back().bytes += run.bytes;
  } else {
    runs->push_back(run);
  }
}

/// Of one element: where MPI unpacks ones into zeros.
std::vector<Run> runsOf(MPI_Datatype type, size_t size) {
  MPI_Aint lower = 0, reach = 0;
  PMPI_Type_get_true_extent(type, &lower, &reach);
  const auto length = static_cast<size_t>(reach);
  if (length <= size || size > INT_MAX) return {{lower, length}};
  const std::vector<unsigned char> ones(size, 0xff);
  // Pages that no element lies in are never touched.
  const std::unique_ptr<unsigned char, Free> image(
      static_cast<unsigned char*>(std::calloc(length, 1)));
  if (image == nullptr) throw std::bad_alloc();
  int position = 0;
  if (PMPI_Unpack(ones.data(), static_cast<int>(size), &position, image.get() - lower, 1, type,
                  MPI_COMM_SELF) != MPI_SUCCESS) {
    throw Error(rondoMpiError, "MPI_Unpack failed");
  }
  std::vector<Run> runs;
  const unsigned char* const begin = image.get();
  const unsigned char* const end = begin + length;
  for (const unsigned char* at = begin; at != end;) {
    const void* const first = std::memchr(at, 0xff, static_cast<size_t>(end - at));
    if (first == nullptr) break;
    const auto* const from = static_cast<const unsigned char*>(first);
    const void* const behind = std::memchr(from, 0, static_cast<size_t>(end - from));
    at = behind == nullptr ? end : static_cast<const unsigned char*>(behind);
    runs.push_back({lower + (from - begin), static_cast<size_t>(at - from)});
  }
  return runs;
}

}  // namespace

void addRuns(MPI_Datatype type, size_t count, ptrdiff_t at, std::vector<Run>* runs) {
  const Layout layout = layoutOf(type);
  if (count == 0 || layout.size == 0) return;
  if (layout.dense) return append({at, count * layout.size}, runs);
  const std::vector<Run> one = runsOf(type, layout.size);
  for (size_t i = 0; i < count; ++i) {
    const ptrdiff_t place = at + static_cast<ptrdiff_t>(i) * layout.extent;
    for (const Run& run : one) append({place + run.begin, run.bytes}, runs);
  }
}

}  // namespace rondo::drop_in
