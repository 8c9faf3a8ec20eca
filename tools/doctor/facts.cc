#include "doctor/facts.h"

namespace rondo::doctor {

namespace {

/// Both directions of the conversion name each field once.
template <class Visit>
void eachField(auto& f, Visit visit) requires requires {
  f.quotaCpus;
}
{
  visit("rank", f.rank);
  visit("job", f.job);
  visit("host", f.host);
  visit("kernel", f.kernel);
  visit("env", f.env);
  visit("rondoVersion", f.rondoVersion);
  visit("libraryVersion", f.libraryVersion);
  visit("libraryPath", f.libraryPath);
  visit("mpiVersion", f.mpiVersion);
  visit("ucxVersion", f.ucxVersion);
  visit("cpus", f.cpus);
  visit("onlineCpus", f.onlineCpus);
  visit("numaNodes", f.numaNodes);
  visit("numaBalancing", f.numaBalancing);
  visit("quotaCpus", f.quotaCpus);
  visit("quotaFile", f.quotaFile);
  visit("hugePages", f.hugePages);
  visit("hugePagesDefrag", f.hugePagesDefrag);
  visit("ptraceScope", f.ptraceScope);
  visit("memlock", f.memlock);
  visit("descriptors", f.descriptors);
  visit("shmBytes", f.shmBytes);
  visit("shmFree", f.shmFree);
  visit("gpus", f.gpus);
  visit("nvidiaDriver", f.nvidiaDriver);
  visit("openDriver", f.openDriver);
  visit("peermem", f.peermem);
  visit("rdmaDevices", f.rdmaDevices);
  visit("iommuGroups", f.iommuGroups);
  visit("iommuPassthrough", f.iommuPassthrough);
  visit("acsBridges", f.acsBridges);
  visit("acsUnread", f.acsUnread);
  visit("pairs", f.pairs);
  visit("ofiComponent", f.ofiComponent);
  visit("ompiParams", f.ompiParams);
  visit("interfaces", f.interfaces);
  visit("reach", f.reach);
}

template <class Visit>
void eachField(auto& pair, Visit visit) requires requires {
  pair.verified;
}
{
  visit("from", pair.from);
  visit("to", pair.to);
  visit("access", pair.access);
  visit("verified", pair.verified);
  visit("why", pair.why);
}

template <class Visit>
void eachField(auto& reach, Visit visit) requires requires {
  reach.address;
}
{
  visit("to", reach.to);
  visit("address", reach.address);
  visit("ok", reach.ok);
  visit("why", reach.why);
}

void write(nlohmann::json& json, const auto& value) {
  json = nlohmann::json::object();
  eachField(value, [&](const char* name, const auto& field) { json[name] = field; });
}

void read(const nlohmann::json& json, auto& value) {
  eachField(value, [&](const char* name, auto& field) {
    if (const auto at = json.find(name); at != json.end()) at->get_to(field);
  });
}

}  // namespace

void to_json(nlohmann::json& json, const PeerPair& pair) { write(json, pair); }
void from_json(const nlohmann::json& json, PeerPair& pair) { read(json, pair); }
void to_json(nlohmann::json& json, const Reach& reach) { write(json, reach); }
void from_json(const nlohmann::json& json, Reach& reach) { read(json, reach); }

void to_json(nlohmann::json& json, const Facts& facts) { write(json, facts); }
void from_json(const nlohmann::json& json, Facts& facts) { read(json, facts); }

}  // namespace rondo::doctor
