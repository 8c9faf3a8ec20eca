#pragma once
// Copies of arguments that the program may change or free while a persistent request is there.

#include <mpi.h>

#include <memory>
#include <vector>

#include "drop_in/mpi/layout.h"

namespace rondo::drop_in {

/// A type that outlives the program's handle.
class LastingType {
 public:
  /// `used`: MPI looks at it on this rank.
  explicit LastingType(MPI_Datatype type, bool used = true)
      : copy_(std::make_shared<KeptType>()), type_(used ? copy_->keep(type) : type) {}
  operator MPI_Datatype() const { return type_; }

 private:
  std::shared_ptr<KeptType> copy_;
  MPI_Datatype type_;
};

/// A type for each block.
class LastingTypes {
 public:
  LastingTypes(const MPI_Datatype* types, int size) {
    for (int i = 0; i < size; ++i) {
      kept_.emplace_back(types[i]);
      types_.push_back(kept_.back());
    }
  }
  operator const MPI_Datatype*() const { return types_.data(); }

 private:
  std::vector<LastingType> kept_;
  std::vector<MPI_Datatype> types_;
};

/// Counts or places; NULL stays NULL.
template <class Number>
class Lasting {
 public:
  Lasting(const Number* numbers, int size)
      : all_(numbers == nullptr ? std::vector<Number>()
                                : std::vector<Number>(numbers, numbers + size)) {}
  operator const Number*() const { return all_.empty() ? nullptr : all_.data(); }

 private:
  std::vector<Number> all_;
};
using LastingNumbers = Lasting<int>;

}  // namespace rondo::drop_in
