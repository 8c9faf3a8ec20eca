#include "drop_in/mpi/transfers.h"

namespace rondo::drop_in {

rondoResult_t Transfers::run(rondoComm_t comm, rondoStream_t stream) const {
  rondoGroupStart();
  for (const One& one : all_) {
    // What is wrong is said by the group's end.
    if (one.sends) {
      rondoSend(one.block.begin, one.block.bytes(), rondoUint8, one.peer, comm, stream);
    } else {
      rondoRecv(one.block.begin, one.block.bytes(), rondoUint8, one.peer, comm, stream);
    }
  }
  return rondoGroupEnd();
}

}  // namespace rondo::drop_in
