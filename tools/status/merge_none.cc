// Without nlohmann-json there is nothing that could read records.

#include "base/error.h"
#include "status/merge.h"

namespace rondo::status {

Merged mergeRecords(const std::vector<RecordFile>& files) {
  throw Error(rondoUnsupported,
              format("%d records cannot be merged: Rondo was built without nlohmann-json",
                     static_cast<int>(files.size())));
}

}  // namespace rondo::status
