#pragma once
// Which of a costs file's states a new communicator plans by.

#include <vector>

#include "coll/communicator.h"
#include "coll/costs_file.h"
#include "p2p/bootstrap.h"

namespace rondo {

/// Two ranks of rank 0's host look which state the machine is in, and rank 0's pick becomes
/// everybody's. Collective; only if rank 0's file has several (`states`, empty
/// elsewhere). Where there are no such two ranks, the first state stays.
void settleCosts(Bootstrap& boot, Communicator& comm, const std::vector<CostsState>& states,
                 const std::vector<int>& hostOf);

}  // namespace rondo
