// A program that knows MPI only, rehearsed as rank 3 of 16 by RONDO_VIRTUAL. What it expects is
// what one process can be told: who is there, its own data where they belong, and a clock that goes
// on by predicted times.

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "drop_in/check.h"
#include "drop_in/persistent_names.h"

using namespace drop_in_test;

namespace {

void collectives() {
  const std::vector<int> in{1, 2, 3, 4};
  std::vector<int> out(4, -1);
  MPI_Allreduce(in.data(), out.data(), 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(out == in, "a reduction is of this rank's own data");
  std::vector<int> all(16, -1);
  const int mine = 7;
  MPI_Allgather(&mine, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD);
  expect(all[3] == 7, "its own block is in its place");
  expect(all[0] == -1, "others' blocks are left alone");
  int word = 5;
  MPI_Bcast(&word, 1, MPI_INT, 15, MPI_COMM_WORLD);
  expect(word == 5, "what a root that is not there sends is left alone");
  MPI_Barrier(MPI_COMM_WORLD);
}

void messages() {
  std::vector<char> buffer(1 << 20, 'x');
  MPI_Status status;
  const int bytes = static_cast<int>(buffer.size());
  double start = MPI_Wtime();
  MPI_Recv(buffer.data(), bytes, MPI_CHAR, 11, 4, MPI_COMM_WORLD, &status);
  const double took = MPI_Wtime() - start;
  int count = 0;
  MPI_Get_count(&status, MPI_CHAR, &count);
  expect(status.MPI_SOURCE == 11 && status.MPI_TAG == 4 && count == bytes, "a receive's status");
  // 1 MiB over 10 GB/s is 105 us, whatever planning takes.
  expect(took > 100e-6 && took < 5e-3, "the clock goes on by a message's time");
  MPI_Send(buffer.data(), bytes, MPI_CHAR, 2, 4, MPI_COMM_WORLD);
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Irecv(buffer.data(), 100, MPI_CHAR, 2, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(buffer.data(), 200, MPI_CHAR, 4, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, statuses);
  MPI_Get_count(&statuses[0], MPI_CHAR, &count);
  expect(statuses[0].MPI_SOURCE == 2 && count == 100, "a request's status");
  MPI_Sendrecv(buffer.data(), 10, MPI_CHAR, 0, 0, buffer.data() + 50, 10, MPI_CHAR, MPI_PROC_NULL,
               0, MPI_COMM_WORLD, &status);
  expect(status.MPI_SOURCE == MPI_PROC_NULL, "nobody's status");
}

void communicators() {
  MPI_Comm twin = MPI_COMM_NULL, host = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  int size = 0, place = 0;
  MPI_Comm_size(twin, &size);
  expect(size == 16, "a copy has as many ranks");
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &size);
  MPI_Comm_rank(host, &place);
  expect(size == 8 && place == 3, "the ranks of its host");
  MPI_Barrier(host);
  MPI_Barrier(twin);
  MPI_Comm_free(&twin);
  MPI_Comm_free(&host);
  MPI_Comm_size(MPI_COMM_SELF, &size);
  expect(size == 1, "MPI_COMM_SELF is this process");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm part = MPI_COMM_NULL, none = MPI_COMM_WORLD, pair = MPI_COMM_NULL;
  expect(MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &part) == MPI_SUCCESS,
         "MPI_Comm_split with the rule");
  if (part == MPI_COMM_NULL) return;
  MPI_Comm_size(part, &size);
  MPI_Comm_rank(part, &place);
  expect(size == 8 && place == 3, "the first eight ranks");
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, part);
  expect(sum == 1, "its own part of the sum");
  expect(MPI_Comm_split(MPI_COMM_WORLD, 5, 0, &pair) == MPI_SUCCESS, "a part again");
  MPI_Comm_free(&pair);
  expect(MPI_Comm_split(MPI_COMM_WORLD, MPI_UNDEFINED, 0, &none) != MPI_SUCCESS,
         "a rank without a color, which the rule gives one");
  MPI_Comm_free(&part);
  char byte = 0;
  expect(MPI_Send(&byte, 1, MPI_CHAR, 16, 0, MPI_COMM_WORLD) != MPI_SUCCESS, "no rank 16");
}

/// Persistent requests: a message that comes, one that goes, and where MPI has it an all-reduce.
void persistents() {
  std::vector<char> buffer(1 << 20, 'x');
  std::vector<int> in(1024, 2), out(1024, -1);
  const int bytes = static_cast<int>(buffer.size());
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Datatype byte;
  MPI_Type_contiguous(1, MPI_CHAR, &byte);
  MPI_Type_commit(&byte);
  MPI_Recv_init(buffer.data(), bytes, byte, 11, 4, MPI_COMM_WORLD, &requests[0]);
  MPI_Ssend_init(buffer.data(), 100, MPI_CHAR, 4, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Type_free(&byte);
  int number = 2;
#if defined(INIT)
  INIT(Allreduce)
  (in.data(), out.data(), 1024, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
   &requests[number++]);
#endif
  for (int round = 0; round < 3; ++round) {
    MPI_Status statuses[3];
    std::fill(out.begin(), out.end(), -1);
    const double begin = MPI_Wtime();
    MPI_Startall(number, requests);
    MPI_Waitall(number, requests, statuses);
    const double took = MPI_Wtime() - begin;
    expect(took > 100e-6 && took < 5e-3, "the clock goes on by a start's time");
    int count = 0;
    MPI_Get_count(&statuses[0], MPI_CHAR, &count);
    expect(statuses[0].MPI_SOURCE == 11 && statuses[0].MPI_TAG == 4 && count == bytes,
           "a persistent receive's status");
    expect(number < 3 || out == in, "a persistent reduction is of this rank's own data");
    for (int i = 0; i < number; ++i) expect(requests[i] != MPI_REQUEST_NULL, "inactive, not null");
  }
  MPI_Start(&requests[1]);
  MPI_Request_free(&requests[1]);
  expect(requests[1] == MPI_REQUEST_NULL, "a message's request may be freed while it is active");
  if (number == 3) MPI_Request_free(&requests[2]);
  MPI_Comm twin;
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  MPI_Send_init(buffer.data(), 1, MPI_CHAR, 9, 0, twin, &requests[1]);
  MPI_Comm_free(&twin);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  expect(MPI_Start(&requests[1]) != MPI_SUCCESS, "a start on a communicator that is freed");
#if defined(INIT)
  const int code =
      INIT(Bcast)(in.data(), 4, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  expect(code != MPI_SUCCESS, "a request of no type");
#endif
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  for (const int i : {0, 1}) MPI_Request_free(&requests[i]);
}

int sumOf(MPI_Comm comm) {
  int one = 1, sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  return sum;
}

void isOf(MPI_Comm comm, int size, int place, const char* what) {
  int n = -1, me = -1;
  MPI_Comm_size(comm, &n);
  MPI_Comm_rank(comm, &me);
  expect(n == size && me == place, what);
  expect(sumOf(comm) == 1, what);
}

void grids() {
  const int sizes[] = {4, 4}, periods[] = {0, 1};
  MPI_Comm grid = MPI_COMM_NULL, row = MPI_COMM_NULL, copy = MPI_COMM_NULL, none = MPI_COMM_WORLD;
  MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 1, &grid);
  isOf(grid, 16, 3, "a grid of all ranks");
  int kind = 0, dimensions = 0, at[2] = {9, 9}, up = 9, down = 9, left = 9, right = 9, who = -1;
  MPI_Topo_test(grid, &kind);
  MPI_Cartdim_get(grid, &dimensions);
  MPI_Cart_coords(grid, 3, 2, at);
  expect(kind == MPI_CART && dimensions == 2 && at[0] == 0 && at[1] == 3, "its place on the grid");
  MPI_Cart_shift(grid, 0, 1, &up, &down);
  MPI_Cart_shift(grid, 1, 1, &left, &right);
  expect(up == MPI_PROC_NULL && down == 7 && left == 2 && right == 0, "its neighbours");
  at[0] = 2, at[1] = -1;
  MPI_Cart_rank(grid, at, &who);
  expect(who == 11, "a rank by its coordinates, one of them around the end");
  char byte = 0;
  MPI_Sendrecv(&byte, 1, MPI_CHAR, down, 0, &byte, 0, MPI_CHAR, up, 0, grid, MPI_STATUS_IGNORE);
  // Three neighbours, and nobody above.
  std::vector<char> border(4 << 20), halo(4 << 20, 'h');
  MPI_Request request;
  MPI_Neighbor_alltoall(border.data(), 1 << 20, MPI_CHAR, halo.data(), 1 << 20, MPI_CHAR, grid);
  const int counts[] = {1, 2, 3, 4}, places[] = {0, 1, 3, 6};
  MPI_Ineighbor_allgatherv(border.data(), 3, MPI_CHAR, halo.data(), counts, places, MPI_CHAR, grid,
                           &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
#if defined(INIT)
  // Again, by a persistent request, three times.
  INIT(Neighbor_allgatherv)
  (border.data(), 5, MPI_CHAR, halo.data(), counts, places, MPI_CHAR, grid, MPI_INFO_NULL,
   &request);
  for (int start = 0; start < 3; ++start) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
#endif
  expect(halo[0] == 'h', "what neighbours send is left alone");
  MPI_Comm_dup(grid, &copy);
  MPI_Topo_test(copy, &kind);
  expect(kind == MPI_CART, "a copy of a grid is one");
  const int columns[] = {1, 0};
  MPI_Cart_sub(grid, columns, &row);
  isOf(row, 4, 0, "a column of the grid");
  MPI_Cart_shift(row, 0, 1, &up, &down);
  expect(up == MPI_PROC_NULL && down == 1, "its neighbours in the column");
  const int lesser[] = {3}, flat[] = {0}, most[] = {17};
  MPI_Cart_create(MPI_COMM_WORLD, 1, lesser, flat, 0, &none);
  expect(none == MPI_COMM_NULL, "a rank beyond the grid's end");
  expect(MPI_Cart_create(MPI_COMM_WORLD, 1, most, flat, 0, &none) != MPI_SUCCESS, "17 places");
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  at[0] = 4;
  expect(MPI_Cart_rank(copy, at, &who) != MPI_SUCCESS, "coordinates beyond the end");
  expect(MPI_Graphdims_get(copy, &who, &who) != MPI_SUCCESS, "a grid is no graph");
  for (MPI_Comm* each : {&grid, &row, &copy}) MPI_Comm_free(each);
}

void graphs() {
  // 0 - 1 - 2 - 3 - 0.
  const int index[] = {2, 4, 6, 8}, edges[] = {1, 3, 0, 2, 1, 3, 0, 2};
  MPI_Comm ring = MPI_COMM_NULL, near = MPI_COMM_NULL;
  MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &ring);
  isOf(ring, 4, 3, "a graph of four ranks");
  int number = 0, who[2] = {9, 9};
  MPI_Graph_neighbors_count(ring, 3, &number);
  MPI_Graph_neighbors(ring, 3, 2, who);
  expect(number == 2 && who[0] == 0 && who[1] == 2, "its neighbours in the graph");
  const int from[] = {2, 15}, to[] = {4}, weights[] = {5, 6};
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, weights, 1, to, weights, MPI_INFO_NULL, 0,
                                 &near);
  isOf(near, 16, 3, "a graph of neighbours");
  int in = 0, out = 0, weighted = 0, target = 0, heavy[2] = {0, 0}, light = 0;
  MPI_Dist_graph_neighbors_count(near, &in, &out, &weighted);
  MPI_Dist_graph_neighbors(near, 2, who, heavy, 1, &target, &light);
  expect(in == 2 && out == 1 && weighted && who[1] == 15 && target == 4, "whom it hears and tells");
  expect(heavy[1] == 6 && light == 5, "their weights");
  MPI_Comm_free(&ring);
  MPI_Comm_free(&near);
}

/// Edges that any rank may give, where RONDO_VIRTUAL_GRAPH says what the others do.
void edges() {
  const char* const others = std::getenv("RONDO_VIRTUAL_GRAPH");
  const bool known = others != nullptr && *others != '\0';
  const bool whole = known && std::string(others) == "whole";
  const int sources[] = {3, 15}, degrees[] = {2, 1}, destinations[] = {4, 7, 3};
  const int weights[] = {5, 6, 8};
  MPI_Comm graph = MPI_COMM_NULL, none = MPI_COMM_NULL;
  const auto make = [&](int number, MPI_Comm* made) {
    return MPI_Dist_graph_create(MPI_COMM_WORLD, number, sources, degrees, destinations, weights,
                                 MPI_INFO_NULL, 0, made);
  };
  expect((make(2, &none) == MPI_SUCCESS) == whole, "edges of two ranks");
  if (none != MPI_COMM_NULL) MPI_Comm_free(&none);
  expect((make(1, &graph) == MPI_SUCCESS) == known, "edges of its own");
  if (graph == MPI_COMM_NULL) return;
  if (whole) {
    MPI_Comm_free(&graph);
    make(2, &graph);
  }
  isOf(graph, 16, 3, "a graph of edges");
  int in = 0, out = 0, weighted = 0, from[2] = {9, 9}, to[2] = {9, 9}, heavy[2], light[2];
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  MPI_Dist_graph_neighbors(graph, 2, from, heavy, 2, to, light);
  expect(in == (whole ? 1 : 2) && out == 2 && weighted, "how many it hears and tells");
  expect(to[0] == 4 && to[1] == 7 && light[1] == 6, "whom it tells");
  expect(whole ? from[0] == 15 && heavy[0] == 8 : from[1] == 7 && heavy[1] == 6, "whom it hears");
  std::vector<char> border(2 * 4321), halo(2 * 4321);
  MPI_Neighbor_alltoall(border.data(), 4321, MPI_CHAR, halo.data(), 4321, MPI_CHAR, graph);
  MPI_Comm_free(&graph);
  const int beyond = 16, one = 1;
  expect(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, sources, &one, &beyond, MPI_UNWEIGHTED,
                               MPI_INFO_NULL, 0, &graph) != MPI_SUCCESS,
         "no rank 16 in a graph");
}

void groups() {
  MPI_Group world, some, rest, twice;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  int size = 0, place = 0;
  MPI_Group_size(world, &size);
  MPI_Group_rank(world, &place);
  expect(size == 16 && place == 3, "the group of all ranks");
  int odd[1][3] = {{15, 1, -2}};
  MPI_Group_range_incl(world, 1, odd, &some);
  MPI_Comm part = MPI_COMM_NULL, other = MPI_COMM_WORLD, once = MPI_COMM_NULL;
  MPI_Comm_create(MPI_COMM_WORLD, some, &part);
  isOf(part, 8, 6, "odd ranks, from the last one on");
  MPI_Group_difference(world, some, &rest);
  MPI_Comm_create(MPI_COMM_WORLD, rest, &other);
  expect(other == MPI_COMM_NULL, "a rank outside of the group");
  const int chosen[] = {6, 0, 7};
  MPI_Group_incl(some, 3, chosen, &twice);
  MPI_Comm_create_group(part, twice, 0, &once);
  isOf(once, 3, 0, "three of them");
  const int asked[] = {0, 1, 2};
  int is[] = {9, 9, 9}, same = -1;
  MPI_Group_translate_ranks(twice, 3, asked, world, is);
  expect(is[0] == 3 && is[1] == 15 && is[2] == 1, "who they are");
  MPI_Group all;
  MPI_Group_union(some, rest, &all);
  MPI_Group_compare(all, world, &same);
  expect(same == MPI_SIMILAR, "the same ranks in another order");
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Group near, none;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_group(host, &near);
  expect(MPI_Group_union(near, world, &none) != MPI_SUCCESS, "groups that have nothing in common");
  for (MPI_Group* each : {&world, &some, &rest, &twice, &all, &near}) MPI_Group_free(each);
  for (MPI_Comm* each : {&part, &once, &host}) MPI_Comm_free(each);
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  expect(rank == 3 && ranks == 16, "this is rank 3 of 16");
  if (rank == 3) {
    collectives();
    messages();
    persistents();
    communicators();
    grids();
    graphs();
    edges();
    groups();
  }
  return finish();
}
