#pragma once
// What is wrong with the environment, before a job finds out.

#include <string>

#include "base/options.h"

namespace rondo {

/// Why a job would refuse to make a communicator with the value that the environment gives to this
/// row of optionTable(), in the job's own words; empty: it would not. Knows of no ranks: not
/// whether theirs differ, nor how many groups RONDO_GROUPS has to name.
std::string faultOf(const OptionRow& row);

}  // namespace rondo
