// MPI_THREAD_MULTIPLE: one thread makes collectives on a communicator that is of use for Rondo only
// after some of them, another one makes communicators of its group (MPI_Comm_create_group), in no
// order with the first but that of its tags. Ranks must decide alike who runs the new ones.
// Usage: mpirun -n N -x LD_PRELOAD=... create_group_test

#include <chrono>
#include <thread>

#include "drop_in/check.h"

using namespace drop_in_test;

namespace {

constexpr int kRounds = 40, kGroups = 60, kBarriers = 64, kChildren = 10;

void barriers(MPI_Comm comm) {
  for (int i = 0; i < kBarriers; ++i) {
    MPI_Barrier(comm);
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
}

/// How many sums were wrong.
int groups(MPI_Comm parent, MPI_Group group) {
  int wrong = 0;
  for (int i = 0; i < kGroups; ++i) {
    MPI_Comm comm = MPI_COMM_NULL;
    int sum = -1;
    MPI_Comm_create_group(parent, group, i, &comm);
    MPI_Barrier(comm);
    MPI_Allreduce(&i, &sum, 1, MPI_INT, MPI_SUM, comm);
    wrong += sum != ranks * i ? 1 : 0;
    MPI_Comm_free(&comm);
  }
  return wrong;
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv, true);
  MPI_Group group;
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  // The first children are Rondo's at once.
  for (int i = 0; i < kChildren; ++i) {
    MPI_Comm child = duplicate();
    MPI_Comm_free(&child);
  }
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm parent = duplicate();
    std::thread other(barriers, parent);
    expect(groups(parent, group) == 0, "sums of groups");
    other.join();
    MPI_Comm_free(&parent);
  }
  MPI_Group_free(&group);
  return finish();
}
