#include "base/program_memory.h"

#include <pthread.h>
#include <unistd.h>

#include <cstdint>

namespace rondo {
namespace {

uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

/// What brk has given since this library was loaded. What it gave before is not known to be its.
const uintptr_t heapBegin = number(sbrk(0));

struct Stack {
  uintptr_t low = 0, high = 0;
};

Stack askStack() {
  Stack stack;
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return stack;
  void* low = nullptr;
  size_t bytes = 0;
  if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
    stack = {number(low), number(low) + bytes};
  }
  pthread_attr_destroy(&attributes);
  return stack;
}

}  // namespace

bool inHeapOrStack(const void* address) {
  static thread_local const Stack stack = askStack();
  const uintptr_t at = number(address), frame = number(__builtin_frame_address(0));
  // A program that has stacks of its own making is not on the thread's.
  if (stack.low <= frame && frame <= at && at < stack.high) return true;
  return heapBegin <= at && at < number(sbrk(0));
}

}  // namespace rondo
