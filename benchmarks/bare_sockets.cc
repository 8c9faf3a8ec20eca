// What a TCP connection without a library gives an all-reduce of two ranks, in turn with MPI's: the
// limit that docs/tried.md argues with. Each rank sends the half that the other sums, sums its own,
// and sends the result.
// Usage: tests/testbed/hosts 2 mpirun -n 2 --host h0,h1 --mca btl tcp,self bare_sockets ADDRESS
//        SECONDS KIB[,KIB...]
// ADDRESS: IPv4, of rank 0's host. Rank 0 prints for each size the medians in us of each way of
// sending, and of MPI:
//   whole     all in one send, received into place
//   pieces    pieces of 256 KiB, all sent before the first is received, into place
//   in turn   such pieces, sent and received in turn: at most two are ahead of what came
//   copied    in turn, received into other memory and copied twice, as with UCX's TCP
// Results are checked after every call, outside its time.

#include <arpa/inet.h>
#include <mpi.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

int rank = 0;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "bare_sockets: %s (%s)\n", what, std::strerror(errno));
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();
}

/// One connection between the two ranks.
int connection(const char* address) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  if (inet_pton(AF_INET, address, &at.sin_addr) != 1) fail("ADDRESS is no IPv4 address");
  int fd = socket(AF_INET, SOCK_STREAM, 0);
  socklen_t length = sizeof at;
  if (rank == 0) {
    if (bind(fd, reinterpret_cast<sockaddr*>(&at), length) != 0 || listen(fd, 1) != 0) fail("bind");
    getsockname(fd, reinterpret_cast<sockaddr*>(&at), &length);
  }
  MPI_Bcast(&at, sizeof at, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    const int listener = fd;
    fd = accept(listener, nullptr, nullptr);
    close(listener);
  } else if (connect(fd, reinterpret_cast<sockaddr*>(&at), length) != 0) {
    fail("connect");
  }
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

enum Way { kWhole, kPieces, kInTurn, kCopied, kWays };
constexpr const char* kNames[] = {"whole", "pieces", "in turn", "copied"};
constexpr size_t kPiece = 256u << 10;

class Exchange {
 public:
  explicit Exchange(int fd) : fd_(fd), first_(kPiece), second_(kPiece) {}

  /// `bytes` each way at once.
  void run(Way way, const char* out, char* in, size_t bytes) {
    size_t sent = 0, got = 0;
    const bool ahead = way == kWhole || way == kPieces;
    const size_t most = way == kWhole ? bytes : kPiece;
    while (sent < bytes || got < bytes) {
      // In turn: no further ahead than what came, by two pieces.
      if (sent < bytes && (ahead || sent < got + 2 * kPiece)) {
        const size_t end = std::min(bytes, (sent / most + 1) * most);
        sent += moved(send(fd_, out + sent, end - sent, MSG_DONTWAIT));
      }
      if (got == bytes) continue;
      const size_t end = std::min(bytes, (got / most + 1) * most), begin = got / kPiece * kPiece;
      if (way != kCopied) {
        got += moved(recv(fd_, in + got, end - got, MSG_DONTWAIT));
        continue;
      }
      got += moved(recv(fd_, first_.data() + (got - begin), end - got, MSG_DONTWAIT));
      if (got != end || end == begin) continue;
      std::memcpy(second_.data(), first_.data(), end - begin);
      std::memcpy(in + begin, second_.data(), end - begin);
    }
  }

 private:
  static size_t moved(ssize_t n) {
    if (n > 0) return static_cast<size_t>(n);
    if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) fail("the connection is gone");
    return 0;
  }
  int fd_;
  std::vector<char> first_, second_;
};

double median(std::vector<double>& times) {
  const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

struct Call {
  std::vector<float> src, dst, other;
  explicit Call(size_t bytes) : src(bytes / 4), dst(bytes / 4), other(bytes / 8) {
    for (size_t i = 0; i < src.size(); ++i) src[i] = value(rank, i);
  }

  /// Whole numbers that tell ranks and places apart.
  static float value(int of, size_t i) {
    return static_cast<float>(i % 1021 + 1) + 2000.f * static_cast<float>(of);
  }
  void poison() {
    std::fill(dst.begin(), dst.end(), -1.f);
    std::fill(other.begin(), other.end(), -1.f);
  }
  void check(const char* way) const {
    for (size_t i = 0; i < dst.size(); ++i) {
      if (dst[i] == value(0, i) + value(1, i)) continue;
      std::fprintf(stderr, "bare_sockets: rank %d: %s: element %zu is %g, it should be %g\n", rank,
                   way, i, dst[i], value(0, i) + value(1, i));
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }

  void run(Exchange& exchange, Way way) {
    const size_t half = other.size();
    const size_t mine = rank == 0 ? 0 : half, theirs = half - mine;
    exchange.run(way, reinterpret_cast<char*>(&src[theirs]), reinterpret_cast<char*>(other.data()),
                 half * 4);
    for (size_t i = 0; i < half; ++i) dst[mine + i] = src[mine + i] + other[i];
    exchange.run(way, reinterpret_cast<char*>(&dst[mine]), reinterpret_cast<char*>(&dst[theirs]),
                 half * 4);
  }
  void mpi() {
    MPI_Allreduce(src.data(), dst.data(), static_cast<int>(src.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  }
};

void measure(Exchange& exchange, size_t bytes, double seconds) {
  Call call(bytes);
  std::array<std::vector<double>, kWays + 1> times;
  const double begin = MPI_Wtime();
  int more = 1;
  while (more != 0) {
    for (int who = 0; who <= kWays; ++who) {
      for (int k = 0; k < 3; ++k) {
        call.poison();
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        who == kWays ? call.mpi() : call.run(exchange, static_cast<Way>(who));
        double spent = (MPI_Wtime() - start) / 2 * 1e6;
        call.check(who == kWays ? "MPI" : kNames[who]);
        MPI_Allreduce(MPI_IN_PLACE, &spent, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (k > 0) times[static_cast<size_t>(who)].push_back(spent);
      }
    }
    more = MPI_Wtime() - begin < seconds ? 1 : 0;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  if (rank != 0) return;
  const double mpi = median(times[kWays]);
  std::printf("%zu KiB: MPI %.0f", bytes >> 10, mpi);
  for (size_t way = 0; way < kWays; ++way) {
    const double mine = median(times[way]);
    std::printf(", %s %.0f (%.2f)", kNames[way], mine, mine / mpi);
  }
  std::printf("\n");
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4 || ranks != 2) fail("usage: mpirun -n 2 bare_sockets ADDRESS SECONDS KIB[,KIB...]");
  Exchange exchange(connection(argv[1]));
  for (const char* at = argv[3]; *at != '\0';) {
    char* end = nullptr;
    const size_t kib = std::strtoull(at, &end, 10);
    if (end == at || kib == 0) fail("KIB is a list of numbers");
    measure(exchange, kib << 10, std::atof(argv[2]));
    at = *end == ',' ? end + 1 : end;
  }
  MPI_Finalize();
  return 0;
}
