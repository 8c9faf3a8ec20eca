#pragma once
// What a process is asked to find out from other hosts.

#include "coll/status_report.h"
#include "p2p/place_board.h"

namespace rondo::status {

/// Lets process `pid` ask the hosts of its communicators' other ranks, and waits for their answers,
/// for at most 2 s. Does nothing to a process that has none of other hosts; of one that cannot ask
/// the answer says why.
FarSurvey surveyFrom(int pid);
/// The same by way of its board, which it serves. Others may ask meanwhile: their answers are as
/// good.
FarSurvey askBy(PlaceBoard& board, int pid);

}  // namespace rondo::status
