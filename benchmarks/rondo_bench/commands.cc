#include "commands.h"

#include "collective_allreduce.h"

namespace rondo::bench {
namespace {

constexpr Command kCommands[] = {
    {"allreduce", "Every rank gets the reduction of all ranks' buffers.", runAllReduce},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

}  // namespace rondo::bench
