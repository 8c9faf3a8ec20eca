! A Fortran program that knows MPI only: the module in old style and mpi_f08, with MPI_IN_PLACE.
! Every result is known.
subroutine old_style(wrong)
  use mpi
  implicit none
  integer, intent(inout) :: wrong
  integer :: rank, ranks, ierror, half, grid, i
  integer :: counts(64), displs(64), dims(1)
  logical :: periods(1)
  real :: x(1000), y(1000)
  double precision :: total
  complex :: c, csum
  logical :: mine, everyone
  integer, allocatable :: all(:)

  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  x = rank + 1
  call MPI_Allreduce(x, y, 1000, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (ierror /= MPI_SUCCESS .or. any(y /= ranks * (ranks + 1) / 2)) wrong = wrong + 1
  call MPI_Allreduce(MPI_IN_PLACE, x, 1000, MPI_REAL, MPI_MAX, MPI_COMM_WORLD, ierror)
  if (any(x /= ranks)) wrong = wrong + 1

  total = rank
  if (rank == ranks - 1) then
    call MPI_Reduce(MPI_IN_PLACE, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, ranks - 1, &
                    MPI_COMM_WORLD, ierror)
    if (total /= ranks * (ranks - 1) / 2) wrong = wrong + 1
  else
    call MPI_Reduce(total, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, ranks - 1, MPI_COMM_WORLD, &
                    ierror)
  end if
  c = cmplx(1, rank)
  call MPI_Allreduce(c, csum, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (csum /= cmplx(ranks, ranks * (ranks - 1) / 2)) wrong = wrong + 1
  mine = rank /= 0
  call MPI_Allreduce(mine, everyone, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierror)
  if (everyone .neqv. ranks > 1) wrong = wrong + 1

  allocate (all(ranks))
  all = -1
  all(rank + 1) = rank * rank
  call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INTEGER, MPI_COMM_WORLD, &
                     ierror)
  if (any(all /= [(i * i, i = 0, ranks - 1)])) wrong = wrong + 1
  counts = 1
  displs(1:ranks) = [(ranks - i, i = 1, ranks)]
  call MPI_Allgatherv(rank, 1, MPI_INTEGER, all, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, &
                      ierror)
  if (any(all /= [(ranks - i, i = 1, ranks)])) wrong = wrong + 1
  all = rank
  call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INTEGER, MPI_COMM_WORLD, ierror)
  if (any(all /= [(i, i = 0, ranks - 1)])) wrong = wrong + 1

  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), 0, half, ierror)
  i = 1
  call MPI_Allreduce(MPI_IN_PLACE, i, 1, MPI_INTEGER, MPI_SUM, half, ierror)
  if (i /= (ranks + 1 - mod(rank, 2)) / 2) wrong = wrong + 1
  call MPI_Comm_free(half, ierror)
  dims = ranks
  periods = .true.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, .false., grid, ierror)
  call MPI_Scan(1, i, 1, MPI_INTEGER, MPI_SUM, grid, ierror)
  if (i /= rank + 1) wrong = wrong + 1
  call MPI_Barrier(grid, ierror)
  call MPI_Comm_free(grid, ierror)
  call graphs(rank, ranks, wrong)
end subroutine

! Rings of all ranks, by each of MPI's ways to say so; and a grid that MPI is asked about.
subroutine graphs(rank, ranks, wrong)
  use mpi
  implicit none
  integer, intent(in) :: rank, ranks
  integer, intent(inout) :: wrong
  integer :: way, ring, i, ierror, sources, destinations, heard(2), told(2), weights(2), next, before
  integer :: dims(1), at(1)
  logical :: weighted, periods(1)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  do way = 1, 3
    select case (way)
    case (1)
      call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [before], MPI_UNWEIGHTED, 1, [next], MPI_UNWEIGHTED, &
                                          MPI_INFO_NULL, .false., ring, ierror)
    case (2)
      call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], [next], [7], MPI_INFO_NULL, .false., ring, ierror)
    case default
      call MPI_Graph_create(MPI_COMM_WORLD, ranks, [(i, i = 1, ranks)], [(mod(i, ranks), i = 1, ranks)], .false., &
                            ring, ierror)
    end select
    i = 0
    call MPI_Exscan(1, i, 1, MPI_INTEGER, MPI_SUM, ring, ierror)
    if (i /= rank) wrong = wrong + 1
    call MPI_Topo_test(ring, i, ierror)
    if (i /= merge(MPI_GRAPH, MPI_DIST_GRAPH, way == 3)) wrong = wrong + 1
    if (way < 3) then
      call MPI_Dist_graph_neighbors_count(ring, sources, destinations, weighted, ierror)
      call MPI_Dist_graph_neighbors(ring, 1, heard, weights, 1, told, weights, ierror)
      if (sources /= 1 .or. destinations /= 1 .or. (weighted .neqv. way == 2)) wrong = wrong + 1
      if (heard(1) /= before .or. told(1) /= next) wrong = wrong + 1
    else
      call MPI_Graph_neighbors(ring, rank, 1, told, ierror)
      if (told(1) /= next) wrong = wrong + 1
    end if
    call MPI_Comm_free(ring, ierror)
    if (ring /= MPI_COMM_NULL) wrong = wrong + 1
  end do
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring, ierror)
  call MPI_Cart_get(ring, 1, dims, periods, at, ierror)
  if (dims(1) /= ranks .or. .not. periods(1) .or. at(1) /= rank) wrong = wrong + 1
  call MPI_Cart_shift(ring, 0, 1, heard(1), told(1), ierror)
  if (heard(1) /= before .or. told(1) /= next) wrong = wrong + 1
  call MPI_Comm_free(ring, ierror)
end subroutine

subroutine new_style(wrong)
  use mpi_f08
  implicit none
  integer, intent(inout) :: wrong
  integer :: rank, ranks, i
  type(MPI_Comm) :: dup
  integer :: line(3)

  call MPI_Comm_dup(MPI_COMM_WORLD, dup)  ! no ierror
  call MPI_Comm_rank(dup, rank)
  call MPI_Comm_size(dup, ranks)
  line = [rank, 1, 2]
  call MPI_Allreduce(MPI_IN_PLACE, line, 3, MPI_INTEGER, MPI_SUM, dup)
  if (any(line /= ranks * [0, 1, 2] + [ranks * (ranks - 1) / 2, 0, 0])) wrong = wrong + 1
  i = rank
  call MPI_Bcast(i, 1, MPI_INTEGER, ranks - 1, dup)
  if (i /= ranks - 1) wrong = wrong + 1
  call MPI_Comm_free(dup)
end subroutine

! Five sums in all, ended by every routine that ends requests.
subroutine later(wrong)
  use mpi
  implicit none
  integer, intent(inout) :: wrong
  integer :: rank, ranks, ierror, i, index, number, one, requests(4), indices(4)
  integer :: status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 4), sums(4)
  integer, allocatable :: all(:)
  logical :: flag

  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  requests = MPI_REQUEST_NULL
  one = 1
  do i = 1, 3
    call MPI_Iallreduce(one, sums(i), 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(i), ierror)
  end do
  flag = .false.
  do while (.not. flag)
    call MPI_Request_get_status(requests(3), flag, status, ierror)
  end do
  flag = .false.
  do while (.not. flag)
    call MPI_Test(requests(3), flag, MPI_STATUS_IGNORE, ierror)
  end do
  if (requests(3) /= MPI_REQUEST_NULL .or. sums(3) /= ranks) wrong = wrong + 1
  call MPI_Waitany(4, requests, index, status, ierror)
  if (index < 1 .or. index > 2) wrong = wrong + 1
  call MPI_Waitsome(4, requests, number, indices, statuses, ierror)
  if (number /= 1 .or. indices(1) /= 3 - index) wrong = wrong + 1
  call MPI_Testsome(4, requests, number, indices, MPI_STATUSES_IGNORE, ierror)
  if (number /= MPI_UNDEFINED) wrong = wrong + 1
  call MPI_Testany(4, requests, index, flag, status, ierror)
  if (.not. flag .or. index /= MPI_UNDEFINED) wrong = wrong + 1
  if (any(sums(1:3) /= ranks)) wrong = wrong + 1

  sums(4) = rank
  call MPI_Iallreduce(MPI_IN_PLACE, sums(4), 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, requests(1), &
                      ierror)
  i = rank
  call MPI_Ibcast(i, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, requests(2), ierror)
  allocate (all(ranks))
  call MPI_Iallgather(rank, 1, MPI_INTEGER, all, 1, MPI_INTEGER, MPI_COMM_WORLD, requests(3), ierror)
  call MPI_Ibarrier(MPI_COMM_WORLD, requests(4), ierror)
  call MPI_Wait(requests(2), status, ierror)
  flag = .false.
  do while (.not. flag)
    call MPI_Testall(4, requests, flag, MPI_STATUSES_IGNORE, ierror)
  end do
  if (any(requests /= MPI_REQUEST_NULL)) wrong = wrong + 1
  if (sums(4) /= ranks - 1 .or. i /= ranks - 1 .or. any(all /= [(i, i = 0, ranks - 1)])) then
    wrong = wrong + 1
  end if
end subroutine

subroutine later_new_style(wrong)
  use mpi_f08
  implicit none
  integer, intent(inout) :: wrong
  integer :: rank, ranks
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: statuses(2)
  integer, asynchronous :: line(2), last

  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  line = [rank, 1]
  call MPI_Iallreduce(MPI_IN_PLACE, line, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1))
  call MPI_Iexscan(1, last, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, statuses)
  if (any(line /= [ranks * (ranks - 1) / 2, ranks])) wrong = wrong + 1
  if (rank > 0 .and. last /= rank) wrong = wrong + 1
end subroutine

program fortran_test
  use mpi
  implicit none
  integer :: ierror, wrong, rank

  wrong = 0
  call MPI_Init(ierror)
  call old_style(wrong)
  call new_style(wrong)
  call later(wrong)
  call later_new_style(wrong)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0) print '(i0, a)', wrong, ' wrong'
  call MPI_Finalize(ierror)
  if (wrong /= 0) error stop 1
end program
