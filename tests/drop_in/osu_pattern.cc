// Our own programs that make the calls of the OSU micro-benchmarks 7.x in their order, with their
// options, sizes, repetitions and barriers, on host or device buffers, and check what arrives. For
// machines to which OSU's own cannot be brought; osu.sh runs those. The name that it is called by
// says which: osu_allreduce, ..., osu_iallreduce, ..., osu_allreduce_persistent, ..., osu_latency,
// osu_bw, osu_bibw, of several pairs osu_multi_lat, osu_mbw_mr, with threads or children
// osu_latency_mt, osu_latency_mp, and osu_neighbor_allgather, ..., osu_ineighbor_alltoallw.
//   osu_allreduce [-d cuda] [-c] [-i ITERATIONS] [-x WARM-UPS] [-u BEFORE A CHECKED ONE]
//                 [-m LEAST:MOST] [-T mpi_char | mpi_int | mpi_float] [-z]
//   osu_latency   the same, then H or D for each of the two ranks
// -z: by hand, copies to the host, MPI's call there, copies back, as a program must whose MPI knows
// no device memory; to be run without the layer.

#include <mpi.h>
#if MPI_VERSION < 4 && defined(OPEN_MPI)
#include <mpi-ext.h>
#endif
#include <unistd.h>

#include <functional>

#include "drop_in/osu_pattern.h"

using namespace drop_in_test;

namespace {

/// When a call is done: at its return, at a wait, at a wait after a start.
enum class Mode { AtOnce, Later, Persistent };

/// A call on a send and a receive buffer, or what begins one or makes its request.
using Start = std::function<void(const void*, void*, size_t, MPI_Request*)>;

enum class Sends { One, Each };  ///< One block to all, or one to each.
enum class Gets { Nothing, Own, All, Sum, SumPart, Roots };

/// What a collective does, as its validation sees it.
struct Pattern {
  Sends sends;
  Gets gets;
  bool sendsAtRootOnly = false, getsAtRootOnly = false, inOneBuffer = false;
  Start start = {};
};

size_t number() { return static_cast<size_t>(ranks); }

/// Blocks of the send and of the receive buffer on this rank.
size_t blocksSent(const Pattern& p) {
  if (p.sendsAtRootOnly && rank != 0) return 0;
  return p.sends == Sends::Each ? number() : 1;
}
size_t blocksGot(const Pattern& p) {
  if (p.getsAtRootOnly && rank != 0) return 0;
  return p.gets == Gets::All ? number() : p.gets == Gets::Nothing ? 0 : 1;
}

std::vector<int> partsOf(size_t count) {
  std::vector<int> parts(number());
  for (size_t r = 0; r < number(); ++r) {
    parts[r] = asInt(count / number()) + (r < count % number() ? 1 : 0);
  }
  return parts;
}

/// Values wrong in what this rank received.
int wrongOnes(const Pattern& p, const char* got, size_t count, int round) {
  int wrong = 0;
  const auto sumAt = [&](size_t place) {
    int sum = 0;
    for (int r = 0; r < ranks; ++r) sum += valueOf(r, 0, place, round);
    return sum;
  };
  if (p.gets == Gets::SumPart) {
    const std::vector<int> parts = partsOf(count);
    size_t first = 0;
    for (int r = 0; r < rank; ++r) first += static_cast<size_t>(parts[static_cast<size_t>(r)]);
    for (size_t i = 0; i < static_cast<size_t>(parts[static_cast<size_t>(rank)]); ++i) {
      wrong += get(got, i) != sumAt(first + i);
    }
    return wrong;
  }
  const size_t blocks = blocksGot(p);
  for (size_t b = 0; b < blocks; ++b) {
    for (size_t i = 0; i < count; ++i) {
      const int to = p.sends == Sends::Each ? rank : 0;
      const int from = p.gets == Gets::All ? asInt(b) : 0;
      const int expected = p.gets == Gets::Sum ? sumAt(i) : valueOf(from, to, i, round);
      wrong += get(got, b * count + i) != expected;
    }
  }
  return wrong;
}

class Collective {
 public:
  Collective(const Pattern& pattern, Mode mode)
      : p_(pattern),
        later_(mode == Mode::Later),
        persistent_(mode == Mode::Persistent),
        from_(options.device, std::max<size_t>(1, blocksSent(p_)) * options.most),
        to_(options.device, std::max<size_t>(1, blocksGot(p_)) * options.most),
        spare_(options.device, std::max<size_t>(1, blocksGot(p_)) * options.most) {}

  /// False: what arrived is wrong.
  bool measure(size_t bytes) {
    count_ = bytes / typeBytes();
    setRounds(bytes, 1000, 100, 200, 10);
    int wrong = 0;
    if (persistent_) p_.start(from_.data(), to_.data(), count_, &made_);
    PMPI_Barrier(MPI_COMM_WORLD);
    double seconds = 0;
    for (int i = 0; i < rounds + skip; ++i) {
      prepare(i);
      const double begin = MPI_Wtime();
      call(to_);
      const double end = MPI_Wtime();
      MPI_Barrier(MPI_COMM_WORLD);
      wrong += check(i);
      if (i >= skip) seconds += end - begin;
    }
    if (persistent_) MPI_Request_free(&made_);
    const double latency = seconds / rounds;
    Overlap overlap;
    if (later_) {
      for (int i = 0; i < rounds + skip; ++i) {
        prepare(i);
        const Overlap one = callAndCompute(latency);
        MPI_Barrier(MPI_COMM_WORLD);
        wrong += check(i);
        if (i >= skip) overlap += one;
      }
    }
    return print(bytes, latency, overlap, wrong);
  }

 private:
  struct Overlap {
    double whole = 0, compute = 0;
    void operator+=(const Overlap& other) {
      whole += other.whole;
      compute += other.compute;
    }
  };

  Area& result() { return p_.inOneBuffer ? from_ : to_; }

  void prepare(int round) {
    if (!options.checks) return;
    const size_t blocks = p_.inOneBuffer && rank != 0 ? 0 : blocksSent(p_);
    for (size_t b = 0; b < blocks; ++b) {
      const int to = p_.sends == Sends::Each ? asInt(b) : 0;
      for (size_t i = 0; i < count_; ++i) {
        put(from_.host(), b * count_ + i, valueOf(rank, to, i, round));
      }
    }
    const size_t sent = std::max<size_t>(1, blocksSent(p_)) * count_ * typeBytes();
    if (p_.inOneBuffer && rank != 0) std::memset(from_.host(), 99, sent);
    from_.up(sent);
    const size_t got = std::max<size_t>(1, blocksGot(p_)) * count_ * typeBytes();
    std::memset(to_.host(), 99, got);
    to_.up(got);
    for (int j = 0; j < options.before; ++j) {
      MPI_Barrier(MPI_COMM_WORLD);
      if (!p_.inOneBuffer && !persistent_) call(spare_);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

  void call(Area& to) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (options.copies) return callByCopies(to);
    if (persistent_) {
      MPI_Start(&made_);
      MPI_Wait(&made_, MPI_STATUS_IGNORE);
      return;
    }
    p_.start(from_.data(), to.data(), count_, &request);
    if (later_) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

  void callByCopies(Area& to) {
    MPI_Request request = MPI_REQUEST_NULL;
    const size_t block = count_ * typeBytes();
    if (!p_.inOneBuffer || rank == 0) from_.down(blocksSent(p_) * block);
    p_.start(from_.host(), to.host(), count_, &request);
    if (later_) MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!p_.inOneBuffer) to.up(blocksGot(p_) * block);
    if (p_.inOneBuffer && rank != 0) from_.up(block);
  }

  Overlap callAndCompute(double seconds) {
    MPI_Request request = MPI_REQUEST_NULL;
    const double begin = MPI_Wtime();
    const size_t block = count_ * typeBytes();
    if (options.copies) {
      if (!p_.inOneBuffer || rank == 0) from_.down(blocksSent(p_) * block);
      p_.start(from_.host(), to_.host(), count_, &request);
    } else {
      p_.start(from_.data(), to_.data(), count_, &request);
    }
    const double computing = MPI_Wtime();
    while (MPI_Wtime() - computing < seconds) {
    }
    const double computed = MPI_Wtime();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (options.copies && !p_.inOneBuffer) to_.up(blocksGot(p_) * block);
    if (options.copies && p_.inOneBuffer && rank != 0) from_.up(block);
    return {MPI_Wtime() - begin, computed - computing};
  }

  int check(int round) {
    if (!options.checks) return 0;
    const size_t got = std::max<size_t>(1, blocksGot(p_)) * count_ * typeBytes();
    result().down(got);
    return wrongOnes(p_, result().host(), count_, round);
  }

  bool print(size_t bytes, double latency, const Overlap& overlap, int mine) const {
    double least = 0, most = 0, sum = 0;
    double times[] = {overlap.whole / rounds, overlap.compute / rounds}, means[2] = {};
    MPI_Reduce(&latency, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
    MPI_Reduce(&latency, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&latency, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (later_) MPI_Reduce(times, means, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    int wrong = 0;
    MPI_Allreduce(&mine, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
      std::printf("%-10zu%14.2f%14.2f%14.2f", bytes, sum / ranks * 1e6, least * 1e6, most * 1e6);
      if (later_) {
        const double hidden = 100 - 100 * (means[0] - means[1]) / sum;
        std::printf("%14.2f%14.1f", means[0] / ranks * 1e6, std::max(0.0, hidden));
      }
      if (options.checks) std::printf("%14s", wrong == 0 ? "Pass" : "Fail");
      std::printf("\n");
      std::fflush(stdout);
    }
    PMPI_Barrier(MPI_COMM_WORLD);
    return wrong == 0;
  }

  const Pattern& p_;
  const bool later_, persistent_;
  MPI_Request made_ = MPI_REQUEST_NULL;
  Area from_, to_, spare_;
  size_t count_ = 0;
};

/// The same number for each rank, as the programs with a count for each have it.
class Even {
 public:
  Even(size_t count) : counts_(number(), asInt(count)), places_(number()) {
    for (size_t r = 0; r < number(); ++r) places_[r] = asInt(r * count);
  }
  const int* counts() const { return counts_.data(); }
  const int* places() const { return places_.data(); }

 private:
  std::vector<int> counts_, places_;
};

const Even& even(size_t count) {
  static Even last(0);
  if (last.counts()[0] != asInt(count)) last = Even(count);
  return last;
}

#if MPI_VERSION >= 4
#define RONDO_INIT(name) MPI_##name##_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define RONDO_INIT(name) MPIX_##name##_init
#else
#define RONDO_INIT(name) refuseInit
template <class... Args>
void refuseInit(Args...) {}
#endif

#define RONDO_BOTH(NAME, LATER, ...)                                       \
  if (mode == Mode::Persistent)                                            \
    RONDO_INIT(NAME)(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, request); \
  else if (mode == Mode::Later)                                            \
    MPI_##LATER(__VA_ARGS__, MPI_COMM_WORLD, request);                     \
  else                                                                     \
    MPI_##NAME(__VA_ARGS__, MPI_COMM_WORLD)

/// `name` without "osu_", the i of the non-blocking ones and "_persistent"; false: there is none.
bool findPattern(const std::string& name, Mode mode, Pattern* p) {
  const auto type = [] { return options.type; };
  if (name == "allreduce") {
    *p = {Sends::One, Gets::Sum};
    p->start = [=](const void* s, void* r, size_t n, MPI_Request* request) {
      RONDO_BOTH(Allreduce, Iallreduce, s, r, asInt(n), type(), MPI_SUM);
    };
  } else if (name == "reduce") {
    *p = {Sends::One, Gets::Sum, false, true};
    p->start = [=](const void* s, void* r, size_t n, MPI_Request* request) {
      RONDO_BOTH(Reduce, Ireduce, s, r, asInt(n), type(), MPI_SUM, 0);
    };
  } else if (name == "reduce_scatter") {
    *p = {Sends::One, Gets::SumPart};
    p->start = [=](const void* s, void* r, size_t n, MPI_Request* request) {
      static std::vector<int> parts;
      parts = partsOf(n);
      RONDO_BOTH(Reduce_scatter, Ireduce_scatter, s, r, parts.data(), type(), MPI_SUM);
    };
  } else if (name == "bcast") {
    *p = {Sends::One, Gets::Roots, false, false, true};
    p->start = [=](const void* s, void*, size_t n, MPI_Request* request) {
      RONDO_BOTH(Bcast, Ibcast, const_cast<void*>(s), asInt(n), type(), 0);
    };
  } else if (name == "allgather") {
    *p = {Sends::One, Gets::All};
    p->start = [=](const void* s, void* r, size_t n, MPI_Request* request) {
      RONDO_BOTH(Allgather, Iallgather, s, asInt(n), type(), r, asInt(n), type());
    };
  } else if (name == "alltoall") {
    *p = {Sends::Each, Gets::All};
    p->start = [=](const void* s, void* r, size_t n, MPI_Request* request) {
      RONDO_BOTH(Alltoall, Ialltoall, s, asInt(n), type(), r, asInt(n), type());
    };
  } else if (name == "gather") {
    *p = {Sends::One, Gets::All, false, true};
    p->start = [=](const void* s, void* r, size_t n, MPI_Request* request) {
      RONDO_BOTH(Gather, Igather, s, asInt(n), type(), r, asInt(n), type(), 0);
    };
  } else if (name == "scatter") {
    *p = {Sends::Each, Gets::Own, true};
    p->start = [=](const void* s, void* r, size_t n, MPI_Request* request) {
      RONDO_BOTH(Scatter, Iscatter, s, asInt(n), type(), r, asInt(n), type(), 0);
    };
  } else if (name == "allgatherv") {
    *p = {Sends::One, Gets::All};
    p->start = [=](const void* s, void* r, size_t n, MPI_Request* request) {
      const Even& e = even(n);
      RONDO_BOTH(Allgatherv, Iallgatherv, s, asInt(n), type(), r, e.counts(), e.places(), type());
    };
  } else if (name == "gatherv") {
    *p = {Sends::One, Gets::All, false, true};
    p->start = [=](const void* s, void* r, size_t n, MPI_Request* request) {
      const Even& e = even(n);
      RONDO_BOTH(Gatherv, Igatherv, s, asInt(n), type(), r, e.counts(), e.places(), type(), 0);
    };
  } else if (name == "scatterv") {
    *p = {Sends::Each, Gets::Own, true};
    p->start = [=](const void* s, void* r, size_t n, MPI_Request* request) {
      const Even& e = even(n);
      RONDO_BOTH(Scatterv, Iscatterv, s, e.counts(), e.places(), type(), r, asInt(n), type(), 0);
    };
  } else if (name == "alltoallv") {
    *p = {Sends::Each, Gets::All};
    p->start = [=](const void* s, void* r, size_t n, MPI_Request* request) {
      const Even& e = even(n);
      RONDO_BOTH(Alltoallv, Ialltoallv, s, e.counts(), e.places(), type(), r, e.counts(),
                 e.places(), type());
    };
  } else if (name == "alltoallw") {
    *p = {Sends::Each, Gets::All};
    p->start = [=](const void* s, void* r, size_t n, MPI_Request* request) {
      const Even& e = even(n);
      static std::vector<int> places;  // in bytes here
      static std::vector<MPI_Datatype> types;
      types.assign(number(), type());
      places.assign(e.places(), e.places() + number());
      for (int& place : places) place *= asInt(typeBytes());
      RONDO_BOTH(Alltoallw, Ialltoallw, s, e.counts(), places.data(), types.data(), r, e.counts(),
                 places.data(), types.data());
    };
  } else if (name == "barrier") {
    *p = {Sends::One, Gets::Nothing};
    p->start = [=](const void*, void*, size_t, MPI_Request* request) {
      if (mode == Mode::Later) {
        MPI_Ibarrier(MPI_COMM_WORLD, request);
      } else {
        MPI_Barrier(MPI_COMM_WORLD);
      }
    };
  } else {
    return false;
  }
  return name != "barrier" || mode != Mode::Persistent;
}

#undef RONDO_BOTH

[[noreturn]] void refuse(const std::string& what) {
  if (rank == 0) std::fprintf(stderr, "osu_pattern: %s\n", what.c_str());
  MPI_Finalize();
  std::exit(2);
}

void readOptions(int argc, char** argv) {
  for (int c; (c = getopt(argc, argv, "d:ci:x:u:m:T:z")) != -1;) {
    const std::string value = optarg == nullptr ? "" : optarg;
    if (c == 'd') options.device = value == "cuda";
    if (c == 'c') options.checks = true;
    if (c == 'z') options.copies = true;
    if (c == 'i') options.iterations = std::stoi(value);
    if (c == 'x') options.skip = std::stoi(value);
    if (c == 'u') options.before = std::stoi(value);
    if (c == 'm') {
      const size_t colon = value.find(':');
      options.least = colon == std::string::npos ? 1 : std::stoul(value.substr(0, colon));
      options.most = std::stoul(colon == std::string::npos ? value : value.substr(colon + 1));
    }
    if (c == 'T') {
      options.type = value == "mpi_int" ? MPI_INT : value == "mpi_float" ? MPI_FLOAT : MPI_CHAR;
    }
    if (c == '?') refuse("an option is unknown; allowed: -d -c -i -x -u -m -T -z");
  }
  for (int i = 0; i < 2 && optind + i < argc; ++i) options.places[i] = argv[optind + i][0];
  options.device |= options.places[0] == 'D' || options.places[1] == 'D';
}

}  // namespace

int main(int argc, char** argv) {
  const std::string path = argv[0], name = path.substr(path.rfind("osu_") + 4);
  start(&argc, &argv, name == "latency_mt");
  readOptions(argc, argv);
  if (options.device) useDevice();
  if (rank == 0) {
    std::printf("# osu_%s, %s%s, %d ranks\n", name.c_str(),
                options.device ? "device buffers" : "host buffers",
                options.copies ? ", copied by hand" : "", ranks);
  }
  Pattern pattern;
  const std::string ending = "_persistent", call = name.substr(0, name.find(ending));
  const Mode mode = call != name ? Mode::Persistent : name[0] == 'i' ? Mode::Later : Mode::AtOnce;
  if (mode == Mode::Persistent && options.copies)
    refuse("-z with persistent calls; allowed: without");
  bool right = false;
  if (findPattern(mode == Mode::Later ? call.substr(1) : call, mode, &pattern)) {
    Collective collective(pattern, mode);
    right = everySize([&](size_t bytes) { return collective.measure(bytes); });
  } else if (isOfNeighbours(name)) {
    right = runNeighbours(name);
  } else if (isOfThreads(name)) {
    right = runThreads(name);
  } else if (!isPair(name)) {
    refuse("there is no osu_" + name + " of " + std::to_string(ranks) +
           " ranks; allowed: two where a pair is measured, an even number for several");
  } else {
    right = runPair(name);
  }
  if (!right && rank == 0) std::printf("DATA VALIDATION ERROR\n");
  MPI_Finalize();
  return right ? 0 : 1;
}
