#pragma once
// What one rank knows of its machine and of itself, in plain values: made by reading a tree of
// files, sent to rank 0 as JSON, and replaceable value by value, so that tests need no such
// machine.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace rondo::doctor {

/// One pair of this process's GPUs.
struct PeerPair {
  int from = 0, to = 0;
  bool access = false;    ///< The driver allows it.
  bool verified = false;  ///< A copy arrived as it was sent.
  std::string why;        ///< Otherwise.
};

/// One way between two hosts, tried by a connection.
struct Reach {
  std::string to;       ///< Host.
  std::string address;  ///< With the port, as a sentence has it.
  bool ok = false;
  std::string why;  ///< Otherwise.
};

/// -1 is "unlimited" or "not known" in numbers; an empty text is "not known".
struct Facts {
  int rank = 0;
  bool job = false;  ///< Started by an MPI launcher.
  std::string host;
  std::string kernel;
  std::map<std::string, std::string> env;  ///< OMPI_MCA_*, RONDO_*, UCX_*.
  int rondoVersion = 0;                    ///< The doctor's own.
  /// What the loader finds for programs; 0: nothing.
  int libraryVersion = 0;
  std::string libraryPath;
  std::string mpiVersion;
  std::string ucxVersion;

  std::vector<int> cpus;  ///< Where this rank may run.
  int onlineCpus = -1;
  int numaNodes = -1;
  int numaBalancing = -1;
  double quotaCpus = -1;  ///< CPUs' worth of time that the control group allows.
  std::string quotaFile;
  std::string hugePages, hugePagesDefrag;  ///< The word in brackets.
  int ptraceScope = -1;

  int64_t memlock = -1;      ///< Bytes, soft limit.
  int64_t descriptors = -1;  ///< Soft limit.
  int64_t shmBytes = -1, shmFree = -1;

  std::vector<std::string> gpus;  ///< PCI addresses.
  std::string nvidiaDriver;
  bool openDriver = false;  ///< Its kernel modules are the open ones, which have dma-buf.
  bool peermem = false;     ///< nvidia_peermem is loaded.
  std::vector<std::string> rdmaDevices;
  int iommuGroups = 0;
  bool iommuPassthrough = false;
  std::vector<std::string> acsBridges;  ///< That send traffic between their devices upwards.
  bool acsUnread = false;               ///< Bridges show no more than 64 bytes to this user.
  std::vector<PeerPair> pairs;

  bool ofiComponent = false;                      ///< Open MPI has btl/ofi.
  std::map<std::string, std::string> ompiParams;  ///< Of its files and the environment.
  std::vector<std::string> interfaces;            ///< Up, with an address, but loopback.
  std::vector<Reach> reach;
};

void to_json(nlohmann::json& json, const PeerPair& pair);
void from_json(const nlohmann::json& json, PeerPair& pair);
void to_json(nlohmann::json& json, const Reach& reach);
void from_json(const nlohmann::json& json, Reach& reach);
void to_json(nlohmann::json& json, const Facts& facts);
void from_json(const nlohmann::json& json, Facts& facts);

/// Reads what stands in files under `root` ("/" for this machine); values in ROOT/facts.json
/// replace what was found. Throws std::exception where that is no JSON.
Facts readFacts(const std::string& root);

/// Settings that this user has given Open MPI in HOME/.openmpi, which go before the machine's.
void readUserParams(const std::string& home, Facts* facts);

/// What stands in no file: this process's environment, limits of space, interfaces, versions.
void addProcessFacts(Facts* facts);

}  // namespace rondo::doctor
