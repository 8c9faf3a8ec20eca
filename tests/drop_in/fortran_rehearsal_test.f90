! A program that knows MPI only, rehearsed as rank 3 of 16: a grid, a graph, groups and persistent messages, as
! Fortran makes them.
program fortran_rehearsal_test
  use mpi
  implicit none
  integer :: rank, ranks, grid, row, graph, world, odd, part, wrong, ierror
  integer :: up, down, at(2), sizes(2), number, sources, destinations, i, requests(2), statuses(MPI_STATUS_SIZE, 2)
  logical :: periods(2), weighted
  character :: border(4 * 555), halo(4 * 555)

  wrong = 0
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  if (rank /= 3 .or. ranks /= 16) stop 1

  call MPI_Cart_create(MPI_COMM_WORLD, 2, [4, 4], [.false., .true.], .false., grid, ierror)
  call MPI_Cart_get(grid, 2, sizes, periods, at, ierror)
  call check(all(sizes == 4) .and. periods(2) .and. .not. periods(1) .and. all(at == [0, 3]), "the grid")
  call MPI_Cart_shift(grid, 0, 1, up, down, ierror)
  call check(up == MPI_PROC_NULL .and. down == 7, "its neighbours")
  call MPI_Cart_rank(grid, [2, -1], number, ierror)
  call check(number == 11, "a rank by its coordinates")
  call MPI_Neighbor_alltoall(border, 555, MPI_CHARACTER, halo, 555, MPI_CHARACTER, grid, ierror)
  call MPI_Cart_sub(grid, [.true., .false.], row, ierror)
  call MPI_Comm_size(row, number, ierror)
  call check(number == 4, "a column of the grid")
  call MPI_Comm_free(row, ierror)

  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [2, 15], MPI_UNWEIGHTED, 1, [4], MPI_UNWEIGHTED, &
                                      MPI_INFO_NULL, .false., graph, ierror)
  call MPI_Dist_graph_neighbors_count(graph, sources, destinations, weighted, ierror)
  call check(sources == 2 .and. destinations == 1 .and. .not. weighted, "the graph")
  call MPI_Comm_free(graph, ierror)

  call MPI_Comm_group(MPI_COMM_WORLD, world, ierror)
  call MPI_Group_size(world, number, ierror)
  call check(number == 16, "the group of all")
  call MPI_Group_range_incl(world, 1, reshape([1, 15, 2], [3, 1]), odd, ierror)
  call MPI_Group_rank(odd, number, ierror)
  call check(number == 1, "its place among odd ranks")
  call MPI_Comm_create(MPI_COMM_WORLD, odd, part, ierror)
  call MPI_Comm_size(part, number, ierror)
  call check(number == 8, "the communicator of odd ranks")
  call MPI_Comm_free(part, ierror)
  call MPI_Group_free(odd, ierror)
  call MPI_Group_free(world, ierror)

  call MPI_Recv_init(halo, 777, MPI_CHARACTER, 11, 1, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Send_init(border, 10, MPI_CHARACTER, 11, 1, MPI_COMM_WORLD, requests(2), ierror)
  do i = 1, 3
    call MPI_Startall(2, requests, ierror)
    call MPI_Waitall(2, requests, statuses, ierror)
    call check(statuses(MPI_SOURCE, 1) == 11, "a persistent receive")
  end do
  call MPI_Finalize(ierror)
  if (wrong > 0) stop 1
contains
  subroutine check(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (right) return
    print *, "wrong: ", what
    wrong = wrong + 1
  end subroutine
end program
