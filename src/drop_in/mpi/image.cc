#include "drop_in/mpi/image.h"

#include <algorithm>

#include "drop_in/mpi/device_memory.h"

namespace rondo::drop_in {

Image::Image(const Elements& elements, bool receives, bool filled) : elements_(elements) {
  MPI_Aint lower = 0, extent = 0;
  PMPI_Type_get_true_extent(elements.type, &lower, &extent);
  const ptrdiff_t last = static_cast<ptrdiff_t>(elements.count - 1) * elements.layout.extent;
  first_ = std::min<ptrdiff_t>(lower, lower + last);
  length_ = static_cast<size_t>(std::max<ptrdiff_t>(lower, lower + last) + extent - first_);
  bytes_ = stagingBytes(length_, elements.begin + first_);
  if (filled) refill();
  if (receives) addRuns(elements.type, elements.count, 0, &runs_);
}

void Image::refill() { copyFromDevice(bytes_.get(), elements_.begin + first_, length_); }

void Image::bringBack() { copyToDevice(elements_.begin, begin(), runs_); }

}  // namespace rondo::drop_in
