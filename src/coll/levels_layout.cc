#include "coll/levels_layout.h"

#include <algorithm>

namespace rondo {

LevelsLayout LevelsLayout::of(const std::vector<int>& hostOf, int rank) {
  LevelsLayout layout;
  layout.rank = rank;
  layout.hostOf = hostOf;
  std::vector<int> members;  // of each host, so far
  for (const int host : hostOf) {
    if (host >= static_cast<int>(members.size())) members.resize(static_cast<size_t>(host) + 1);
    layout.placeOf.push_back(members[static_cast<size_t>(host)]++);
  }
  layout.hosts = static_cast<int>(members.size());
  const bool alike =
      std::all_of(members.begin(), members.end(), [&](int n) { return n == members.front(); });
  if (alike) layout.places = members.front();
  layout.host = hostOf[static_cast<size_t>(rank)];
  layout.place = layout.placeOf[static_cast<size_t>(rank)];
  layout.rail.resize(members.size());
  bool byHost = alike, byPlace = alike;
  const int ranks = static_cast<int>(hostOf.size());
  for (int r = 0; r < ranks; ++r) {
    const int host = hostOf[static_cast<size_t>(r)], place = layout.placeOf[static_cast<size_t>(r)];
    if (host == layout.host) layout.near.push_back(r);
    if (place == layout.place) layout.rail[static_cast<size_t>(host)] = r;
    byHost = byHost && r == host * layout.places + place;
    byPlace = byPlace && r == place * layout.hosts + host;
  }
  layout.order = byHost ? LevelsOrder::ByHost : byPlace ? LevelsOrder::ByPlace : LevelsOrder::Other;
  return layout;
}

}  // namespace rondo
