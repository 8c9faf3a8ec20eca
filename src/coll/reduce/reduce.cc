// Chooses among the CPU levels.

#include "coll/reduce/reduce.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

#include "coll/reduce/reduce_levels.h"

namespace rondo {
namespace {

constexpr CpuLevel kLevels[] = {CpuLevel::kPlain, CpuLevel::kAvx2, CpuLevel::kAvx512,
                                CpuLevel::kAvx512Vbmi};

#if defined(__x86_64__)
/// F16C: leaf 1, ECX bit 29. clang 14 does not know it by name. Asked once: in a virtual machine
/// each question takes tens of microseconds.
bool hasHalf() {
  static const bool has = [] {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c >> 29 & 1) != 0;
  }();
  return has;
}
#endif

bool supports(CpuLevel level) {
  switch (level) {
    case CpuLevel::kPlain:
      return true;
#if defined(__x86_64__)
    case CpuLevel::kAvx2:  // Asks the operating system, too, whether it saves the registers.
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && hasHalf();
    case CpuLevel::kAvx512:
      return supports(CpuLevel::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
             __builtin_cpu_supports("avx512vl");
    case CpuLevel::kAvx512Vbmi:
      return supports(CpuLevel::kAvx512) && __builtin_cpu_supports("avx512vbmi");
#endif
    default:
      return false;
  }
}

#if defined(__x86_64__)
/// "Enhanced REP MOVSB": leaf 7, EBX bit 9.
bool hasQuickStrings() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & (1u << 9)) != 0;
}

/// AMD's family 25, also where a hypervisor has made up the model's name.
bool isFamily25() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) == 0 || b != signature_AMD_ebx) return false;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  return (a >> 8 & 0xf) + (a >> 20 & 0xff) == 25;
}
#endif

std::string supportedNames() {
  std::string names;
  for (CpuLevel level : kLevels) {
    if (supports(level)) names += (names.empty() ? "" : ", ") + std::string(cpuLevelName(level));
  }
  return names;
}

}  // namespace

const char* cpuLevelName(CpuLevel level) {
  switch (level) {
    case CpuLevel::kPlain:
      return "plain";
    case CpuLevel::kAvx2:
      return "avx2";
    case CpuLevel::kAvx512:
      return "avx512";
    case CpuLevel::kAvx512Vbmi:
      return "avx512vbmi";
  }
  return "?";
}

CpuLevel chooseCpuLevel(const char* forced) {
  if (!forced || !*forced) {
    CpuLevel best = CpuLevel::kPlain;
    for (CpuLevel level : kLevels) {
      if (supports(level)) best = level;
    }
    return best;
  }
  for (CpuLevel level : kLevels) {
    if (std::string(forced) != cpuLevelName(level)) continue;
    if (supports(level)) return level;
    throw std::invalid_argument(
        "environment variable RONDO_CPU is \"" + std::string(forced) +
        "\", which this processor or operating system lacks; allowed: " + supportedNames());
  }
  throw std::invalid_argument("environment variable RONDO_CPU is \"" + std::string(forced) +
                              "\"; allowed: plain, avx2, avx512 or avx512vbmi");
}

size_t leastNearString() {
#if defined(__x86_64__)
  static const size_t least = isFamily25() ? 32768 : kLeastStringCopy;
  return least;
#else
  return kLeastStringCopy;
#endif
}

bool stringCopy(char* dst, const char* src, size_t bytes) {
#if defined(__x86_64__)
  static const bool quick = hasQuickStrings();
  if (!quick) return false;
  if (dst == src) return true;
  // Whole lines only are taken without being read: the part before the first one goes first.
  constexpr size_t kLine = 64;
  const size_t head = (kLine - reinterpret_cast<uintptr_t>(dst) % kLine) % kLine;
  if (head != 0) __builtin_memcpy(dst, src, kLine);
  dst += head;
  src += head;
  bytes -= head;
  __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(bytes) : : "memory");
  return true;
#else
  static_cast<void>(dst), static_cast<void>(src), static_cast<void>(bytes);
  return false;
#endif
}

void reduceScaled(const ReduceArgs& args, ReduceFn reduce, ScaleFn scale, size_t element) {
  // The scaled operand, piece by piece; with its source, another operand and the output a piece
  // stays in a first-level cache. Whole vectors, so that every piece is aligned as the first is.
  constexpr size_t kPiece = 8192;
  alignas(64) char product[kPiece];
  // Few ranks share a host; more than these operands pay for an allocation.
  constexpr int kFew = 64;
  const void* few[kFew];
  std::unique_ptr<const void*[]> many;
  if (args.n > kFew) many = std::make_unique<const void*[]>(static_cast<size_t>(args.n));
  const void** const in = many ? many.get() : few;

  const size_t step = kPiece / element;
  ReduceArgs piece = args;
  piece.in = in;
  piece.scaled = -1;
  for (size_t done = 0; done < args.count; done += step) {
    const size_t offset = done * element;
    piece.count = std::min(step, args.count - done);
    for (int k = 0; k < args.n; ++k) in[k] = static_cast<const char*>(args.in[k]) + offset;
    scale(product, in[args.scaled], args.scalar, piece.count);
    in[args.scaled] = product;
    piece.out0 = static_cast<char*>(args.out0) + offset;
    if (args.out1) piece.out1 = static_cast<char*>(args.out1) + offset;
    reduce(piece);
  }
}

ReduceFn findReduce(rondoDataType_t type, rondoRedOp_t op, CpuLevel level) {
#if defined(__x86_64__)
  if (level == CpuLevel::kAvx2) return findReduceAvx2(type, op);
  if (level == CpuLevel::kAvx512Vbmi) {
    const ReduceFn quicker = findReduceAvx512Vbmi(type, op);
    return quicker != nullptr ? quicker : findReduceAvx512(type, op);
  }
  if (level == CpuLevel::kAvx512) return findReduceAvx512(type, op);
#endif
  static_cast<void>(level);
  return findReducePlain(type, op);
}

ScaleFn findScale(rondoDataType_t type, CpuLevel level) {
#if defined(__x86_64__)
  if (level == CpuLevel::kAvx2) return findScaleAvx2(type);
  if (level == CpuLevel::kAvx512Vbmi) {
    const ScaleFn quicker = findScaleAvx512Vbmi(type);
    return quicker != nullptr ? quicker : findScaleAvx512(type);
  }
  if (level == CpuLevel::kAvx512) return findScaleAvx512(type);
#endif
  static_cast<void>(level);
  return findScalePlain(type);
}

CopyFn findCopy(CpuLevel level) {
#if defined(__x86_64__)
  if (level == CpuLevel::kAvx2) return findCopyAvx2();
  if (level >= CpuLevel::kAvx512) return findCopyAvx512();
#endif
  static_cast<void>(level);
  return findCopyPlain();
}

}  // namespace rondo
