// The programs of OSU's manner that measure a pair of ranks, or several at once (osu_pattern.cc).

#include "drop_in/osu_pattern.h"

namespace drop_in_test {
namespace {

class Pair {
 public:
  bool oneWay = false;  ///< Only the second ranks receive.

  /// The first half of the ranks each have one of the second half.
  Pair()
      : first_(rank < ranks / 2),
        other_(first_ ? rank + ranks / 2 : rank - ranks / 2),
        from_(options.places[first_ ? 0 : 1] == 'D', options.most),
        to_(options.places[first_ ? 0 : 1] == 'D', options.most) {}

  bool latency(size_t bytes) {
    const auto round = [&](int) {
      if (first_) send(bytes);
      receive(bytes);
      if (!first_) send(bytes);
    };
    setRounds(bytes, 10000, 1000, 100, 10);
    const double seconds = repeat(bytes, round);
    return print(bytes, seconds * 1e6 / 2);
  }

  /// The same by a request each, made once.
  bool persistentLatency(size_t bytes) {
    const int count = asInt(bytes / typeBytes());
    MPI_Request send, receive;
    MPI_Send_init(from_.data(), count, options.type, other_, 1, MPI_COMM_WORLD, &send);
    MPI_Recv_init(to_.data(), count, options.type, other_, 1, MPI_COMM_WORLD, &receive);
    const auto once = [](MPI_Request* request) {
      MPI_Start(request);
      MPI_Wait(request, MPI_STATUS_IGNORE);
    };
    const auto round = [&](int) {
      if (first_) once(&send);
      once(&receive);
      if (!first_) once(&send);
    };
    setRounds(bytes, 10000, 1000, 100, 10);
    const double seconds = repeat(bytes, round);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    return print(bytes, seconds * 1e6 / 2);
  }

  /// A window of 64 messages, and a short answer; or both at once.
  bool bandwidth(size_t bytes, bool both) {
    const int tag = 100 + rank, others = 100 + other_;
    const auto round = [&](int) {
      MPI_Request requests[2 * kWindow];
      int n = 0;
      const int count = asInt(bytes / typeBytes());
      for (int i = 0; i < kWindow && (both || !first_); ++i) {
        MPI_Irecv(to_.data(), count, options.type, other_, others, MPI_COMM_WORLD, &requests[n++]);
      }
      for (int i = 0; i < kWindow && (both || first_); ++i) {
        MPI_Isend(from_.data(), count, options.type, other_, tag, MPI_COMM_WORLD, &requests[n++]);
      }
      MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
      answer();
    };
    return printBandwidth(bytes, both, round);
  }

  bool persistentBandwidth(size_t bytes, bool both) {
    const int tag = 100 + rank, others = 100 + other_, count = asInt(bytes / typeBytes());
    MPI_Request requests[2 * kWindow];
    int n = 0;
    for (int i = 0; i < kWindow && (both || !first_); ++i) {
      MPI_Recv_init(to_.data(), count, options.type, other_, others, MPI_COMM_WORLD,
                    &requests[n++]);
    }
    for (int i = 0; i < kWindow && (both || first_); ++i) {
      MPI_Send_init(from_.data(), count, options.type, other_, tag, MPI_COMM_WORLD, &requests[n++]);
    }
    const auto round = [&](int) {
      MPI_Startall(n, requests);
      MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
      answer();
    };
    const bool right = printBandwidth(bytes, both, round);
    for (int i = 0; i < n; ++i) MPI_Request_free(&requests[i]);
    return right;
  }

 private:
  static constexpr int kWindow = 64;

  /// After a window.
  void answer() {
    if (first_) {
      MPI_Recv(answer_, 4, MPI_CHAR, other_, 200, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(from_.data(), 4, MPI_CHAR, other_, 200, MPI_COMM_WORLD);
    }
  }

  template <class Round>
  bool printBandwidth(size_t bytes, bool both, const Round& round) {
    setRounds(bytes, 100, 20, 10, 2);
    const double seconds = repeat(bytes, round);
    const double moved = static_cast<double>(bytes) * kWindow * (both ? 2 : 1) * (ranks / 2);
    return print(bytes, moved / 1e6 / seconds);
  }

  void send(size_t bytes) {
    if (options.copies) from_.down(bytes);
    MPI_Send(options.copies ? from_.host() : from_.data(), asInt(bytes / typeBytes()), options.type,
             other_, 1, MPI_COMM_WORLD);
  }
  void receive(size_t bytes) {
    MPI_Recv(options.copies ? to_.host() : to_.data(), asInt(bytes / typeBytes()), options.type,
             other_, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (options.copies) to_.up(bytes);
  }

  template <class Round>
  double repeat(size_t bytes, const Round& round) {
    double seconds = 0;
    wrong_ = 0;
    PMPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < rounds + skip; ++i) {
      if (options.checks) {
        for (size_t k = 0; k < bytes / typeBytes(); ++k) {
          put(from_.host(), k, valueOf(rank, 0, k, i));
          put(to_.host(), k, 99);
        }
        from_.up(bytes);
        to_.up(bytes);
        MPI_Barrier(MPI_COMM_WORLD);
      }
      const double begin = MPI_Wtime();
      round(i);
      if (i >= skip) seconds += MPI_Wtime() - begin;
      if (options.checks) check(bytes, i);
    }
    return seconds / rounds;
  }

  void check(size_t bytes, int round) {
    if (oneWay && first_) return;
    to_.down(bytes);
    for (size_t k = 0; k < bytes / typeBytes(); ++k) {
      wrong_ += get(to_.host(), k) != valueOf(other_, 0, k, round);
    }
  }

  bool print(size_t bytes, double value) {
    int all = 0;
    PMPI_Allreduce(&wrong_, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
      std::printf("%-10zu%14.2f", bytes, value);
      if (options.checks) std::printf("%14s", all == 0 ? "Pass" : "Fail");
      std::printf("\n");
      std::fflush(stdout);
    }
    return all == 0;
  }

  const bool first_;
  const int other_;
  Area from_, to_;
  char answer_[4] = {};
  int wrong_ = 0;
};

}  // namespace

bool isPair(const std::string& name) {
  const std::string what = name.substr(0, name.find("_persistent"));
  const bool two = what == "latency" || what == "bw" || what == "bibw";
  return two ? ranks == 2 : ranks % 2 == 0 && (name == "multi_lat" || name == "mbw_mr");
}

bool runPair(const std::string& name) {
  Pair pair;
  const std::string what = name.substr(0, name.find("_persistent"));
  const bool persistent = what != name, both = what == "bibw";
  pair.oneWay = what == "bw" || what == "mbw_mr";
  if (what == "latency" || what == "multi_lat") {
    return everySize([&](size_t bytes) {
      return persistent ? pair.persistentLatency(bytes) : pair.latency(bytes);
    });
  }
  return everySize([&](size_t bytes) {
    return persistent ? pair.persistentBandwidth(bytes, both) : pair.bandwidth(bytes, both);
  });
}

}  // namespace drop_in_test
