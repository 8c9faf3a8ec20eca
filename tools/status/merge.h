#pragma once
// Records of several hosts as one trace: their clocks are brought together by what the calls
// themselves say.

#include <string>
#include <vector>

namespace rondo::status {

/// A file that RONDO_RECORD or rondo-status --record wrote.
struct RecordFile {
  std::string name;  ///< For sentences.
  std::string text;
};

struct Merged {
  std::string trace;    ///< As flightTrace().
  std::string summary;  ///< A line for each clock: how far it is ahead of the first one's.
};

/// Files of one host share its clock. Between hosts no collective ends before the last rank that it
/// needs has begun it: each one that both hosts recorded bounds how far one clock is ahead of the
/// other, from both sides, and all together within the time of a short call. Hosts without a common
/// collective are set beside the others by their wall clocks. Throws Error that names the file.
Merged mergeRecords(const std::vector<RecordFile>& files);

}  // namespace rondo::status
