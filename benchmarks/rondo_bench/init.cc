#include "init.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "api/rondo_mpi.h"
#include "commands.h"
#include "cuda_driver.h"
#include "errors.h"

namespace rondo::bench {
namespace {

using Clock = std::chrono::steady_clock;

double microsecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

/// An MPI communicator that is freed when it goes out of scope; this rank may not be in it.
class SubComm {
 public:
  SubComm(MPI_Comm of, int color) { MPI_Comm_split(of, color, 0, &comm_); }
  ~SubComm() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  SubComm(const SubComm&) = delete;
  SubComm& operator=(const SubComm&) = delete;
  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// This rank's CUDA context, current before its first communicator is made.
class EarlyContext {
 public:
  EarlyContext() {
    MPI_Comm host = MPI_COMM_NULL;
    int place = 0, devices = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &place);
    MPI_Comm_free(&host);
    cuda_.check(cuda_.deviceGetCount(&devices), "cuDeviceGetCount");
    if (devices == 0) return;  // the communicator says so
    cuda_.check(cuda_.deviceGet(&device_, place % devices), "cuDeviceGet");
    CuContext context = nullptr;
    cuda_.check(cuda_.primaryContextRetain(&context, device_), "cuDevicePrimaryCtxRetain");
    retained_ = true;
    cuda_.check(cuda_.contextSetCurrent(context), "cuCtxSetCurrent");
  }
  ~EarlyContext() {
    if (retained_) cuda_.primaryContextRelease(device_);
  }
  EarlyContext(const EarlyContext&) = delete;
  EarlyContext& operator=(const EarlyContext&) = delete;

 private:
  CudaDriver cuda_;
  CuDevice device_ = 0;
  bool retained_ = false;
};

/// One way to get a communicator: makes it, frees it, and returns the microseconds of the making.
struct Making {
  std::string library;
  std::function<double(MPI_Comm comm)> once;
};

double makeRondo(MPI_Comm comm) {
  rondoComm_t made = nullptr;
  const auto start = Clock::now();
  checkRondo(rondoCommInitMPI(&made, comm, nullptr), "rondoCommInitMPI", nullptr);
  const double usec = microsecondsSince(start);
  checkRondo(rondoCommDestroy(made), "rondoCommDestroy", nullptr);
  return usec;
}

double findRondo(MPI_Comm comm) {
  rondoComm_t found = nullptr;
  const auto start = Clock::now();
  checkRondo(rondoCommFromMPI(comm, &found), "rondoCommFromMPI", nullptr);
  return microsecondsSince(start);
}

double makeMpi(MPI_Comm comm) {
  MPI_Comm made = MPI_COMM_NULL;
  const auto start = Clock::now();
  MPI_Comm_dup(comm, &made);
  const double usec = microsecondsSince(start);
  MPI_Comm_free(&made);
  return usec;
}

int halfOf(MPI_Comm comm) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  return rank < (ranks + 1) / 2 ? 0 : 1;
}

/// The communicator that belongs to a new half dies with the half.
double splitRondo(MPI_Comm comm) {
  const SubComm half(comm, halfOf(comm));
  return findRondo(half.get());
}

double splitMpi(MPI_Comm comm) {
  MPI_Comm made = MPI_COMM_NULL;
  const int half = halfOf(comm);
  const auto start = Clock::now();
  MPI_Comm_split(comm, half, 0, &made);
  const double usec = microsecondsSince(start);
  MPI_Comm_free(&made);
  return usec;
}

class InitRun {
 public:
  InitRun(const Environment& environment, Output& output)
      : options_(environment.options()),
        session_(environment.session()),
        nccl_(environment.nccl()),
        output_(output) {}

  void run();

 private:
  void over(int ranks);
  void measure(const char* name, MPI_Comm comm, const std::vector<Making>& makings);
  std::vector<Making> chosen(const Making& rondo, const Making& mpi) const;
  int rounds(double usec, MPI_Comm comm) const;
  Row row(const std::string& name, const std::string& library, MPI_Comm comm,
          const std::vector<double>& usec) const;

  const Options& options_;
  const Session& session_;
  const Nccl* const nccl_;
  Output& output_;
};

void InitRun::run() {
  if (options_.library == Library::kRondo) {
    output_.add({row("init_first", "rondo", session_.mpi(), {session_.firstInitUsec()})});
  }
  for (int ranks = 2; ranks < session_.ranks(); ranks *= 2) over(ranks);
  over(session_.ranks());
}

void InitRun::over(int ranks) {
  const int color = session_.rank() < ranks ? 0 : MPI_UNDEFINED;
  const SubComm sub(session_.mpi(), color);
  if (color == 0) {
    std::vector<Making> makings = chosen({"rondo", makeRondo}, {"mpi", makeMpi});
    if (nccl_ != nullptr) {
      makings.push_back(
          {peerName(options_.peer), [this](MPI_Comm of) { return nccl_->makeOne(of); }});
    }
    measure("init_later", sub.get(), makings);
    if (ranks > 1) {
      measure("init_split", sub.get(), chosen({"rondo", splitRondo}, {"mpi", splitMpi}));
    }
    if (options_.library == Library::kRondo) {
      findRondo(sub.get());  // the one that makes it
      measure("init_cached", sub.get(), {{"rondo", findRondo}});
    }
  }
  session_.barrier();
}

std::vector<Making> InitRun::chosen(const Making& rondo, const Making& mpi) const {
  if (options_.library == Library::kMpi) return {mpi};
  if (options_.peer == Peer::kMpi) return {rondo, mpi};
  return {rondo};
}

/// As many as the budget holds, judged by one of them; the same on all ranks of `comm`.
int InitRun::rounds(double usec, MPI_Comm comm) const {
  if (options_.iterations) return *options_.iterations;
  MPI_Allreduce(MPI_IN_PLACE, &usec, 1, MPI_DOUBLE, MPI_MAX, comm);
  constexpr double kFewest = 8;
  constexpr double kMost = 200;
  return static_cast<int>(
      std::clamp(options_.budgetSeconds * 1e6 / std::max(usec, 1.0), kFewest, kMost));
}

void InitRun::measure(const char* name, MPI_Comm comm, const std::vector<Making>& makings) {
  double probe = 0;
  for (const Making& making : makings) probe = std::max(probe, making.once(comm));
  const int total = rounds(probe, comm);
  std::vector<std::vector<double>> usec(makings.size());
  for (int i = 0; i < total; ++i) {
    output_.progress().show(name, i, total);
    for (size_t m = 0; m < makings.size(); ++m) {
      MPI_Barrier(comm);
      usec[m].push_back(makings[m].once(comm));
    }
  }
  std::vector<Row> rows;
  for (size_t m = 0; m < makings.size(); ++m) {
    rows.push_back(row(name, makings[m].library, comm, usec[m]));
  }
  output_.add(std::move(rows));
}

Row InitRun::row(const std::string& name, const std::string& library, MPI_Comm comm,
                 const std::vector<double>& usec) const {
  Row row;
  row.collective = name;
  row.library = library;
  MPI_Comm_size(comm, &row.ranks);
  row.type = "none";
  row.op = "none";
  row.iterations = usec.size();
  row.usec = summarizeOverRanks(usec, AcrossRanks::kMean, comm);
  return row;
}

}  // namespace

void measureInit(const Environment& environment, Output& output) {
  InitRun(environment, output).run();
}

int runInit(const Options& options) {
  if (options.memory == MemoryKind::kRondo) {
    throw UsageError("--memory rondo: init has no buffers; allowed are host and device");
  }
  std::optional<EarlyContext> context;
  if (options.memory == MemoryKind::kDevice) context.emplace();
  const Environment environment(options);
  RunInfo info = describe(environment, options.memory == MemoryKind::kDevice
                                           ? "creation of communicators with devices"
                                           : "communicator creation");
  info.manyBenchmarks = true;
  for (auto& [name, text] : info.facts) {
    if (name == "meeting") text = "MPI_Barrier";
  }
  Output output(environment, info);
  measureInit(environment, output);
  return output.finish();
}

}  // namespace rondo::bench
