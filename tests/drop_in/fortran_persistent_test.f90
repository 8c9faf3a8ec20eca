! Persistent collectives of Fortran's on device buffers, started and ended by Fortran: Rondo's where all ranks
! are in the communicator, MPI's elsewhere. Open MPI 4.1 has them as MPIX_.
module persistent
  use mpi
  use device
  implicit none
  external :: MPIX_Allreduce_init, MPIX_Reduce_init, MPIX_Scan_init, MPIX_Exscan_init, &
              MPIX_Reduce_scatter_block_init, MPIX_Reduce_scatter_init, MPIX_Bcast_init, MPIX_Allgather_init, &
              MPIX_Allgatherv_init, MPIX_Gather_init, MPIX_Gatherv_init, MPIX_Scatter_init, &
              MPIX_Scatterv_init, MPIX_Alltoall_init, MPIX_Alltoallv_init, MPIX_Alltoallw_init, &
              MPIX_Neighbor_allgather_init, MPIX_Neighbor_allgatherv_init, MPIX_Neighbor_alltoall_init, &
              MPIX_Neighbor_alltoallv_init, MPIX_Neighbor_alltoallw_init
  integer, parameter :: kinds = 21, half = n / 2
  integer :: comm, grid, rank, ranks, m, request, ierror
  integer :: halves(2) = half, middle(2) = [0, half]
  integer(MPI_ADDRESS_KIND) :: far(2) = [0, 4 * half]
  integer, allocatable :: counts(:), places(:), bytes(:), types(:)
contains
  ! The communicator, blocks of `m` for its ranks, and their neighbours on a ring.
  subroutine on(which)
    integer, intent(in) :: which
    integer :: i
    comm = which
    call MPI_Comm_rank(comm, rank, ierror)
    call MPI_Comm_size(comm, ranks, ierror)
    m = n / ranks
    counts = [(m, i = 1, ranks)]
    places = [((i - 1) * m, i = 1, ranks)]
    bytes = 4 * places
    types = [(MPI_INTEGER, i = 1, max(2, ranks))]
    call MPI_Cart_create(comm, 1, [ranks], [.true.], .false., grid, ierror)
  end subroutine

  subroutine init(kind)
    integer, intent(in) :: kind
    select case (kind)
    case (1)
      call MPIX_Allreduce_init(out, in, n, MPI_INTEGER, MPI_SUM, comm, MPI_INFO_NULL, request, ierror)
    case (2)
      call MPIX_Reduce_init(out, in, n, MPI_INTEGER, MPI_SUM, 0, comm, MPI_INFO_NULL, request, ierror)
    case (3)
      call MPIX_Scan_init(out, in, n, MPI_INTEGER, MPI_SUM, comm, MPI_INFO_NULL, request, ierror)
    case (4)
      call MPIX_Exscan_init(out, in, n, MPI_INTEGER, MPI_SUM, comm, MPI_INFO_NULL, request, ierror)
    case (5)
      call MPIX_Reduce_scatter_block_init(out, in, m, MPI_INTEGER, MPI_SUM, comm, MPI_INFO_NULL, &
                request, ierror)
    case (6)
      call MPIX_Reduce_scatter_init(out, in, counts, MPI_INTEGER, MPI_SUM, comm, MPI_INFO_NULL, request, ierror)
    case (7)
      if (rank == 0) call MPIX_Bcast_init(out, n, MPI_INTEGER, 0, comm, MPI_INFO_NULL, request, ierror)
      if (rank > 0) call MPIX_Bcast_init(in, n, MPI_INTEGER, 0, comm, MPI_INFO_NULL, request, ierror)
    case (8)
      call MPIX_Allgather_init(out, m, MPI_INTEGER, in, m, MPI_INTEGER, comm, MPI_INFO_NULL, request, ierror)
    case (9)
      call MPIX_Allgatherv_init(out, m, MPI_INTEGER, in, counts, places, MPI_INTEGER, comm, &
                MPI_INFO_NULL, request, ierror)
    case (10)
      call MPIX_Gather_init(out, m, MPI_INTEGER, in, m, MPI_INTEGER, 0, comm, MPI_INFO_NULL, request, ierror)
    case (11)
      call MPIX_Gatherv_init(out, m, MPI_INTEGER, in, counts, places, MPI_INTEGER, 0, comm, &
                MPI_INFO_NULL, request, ierror)
    case (12)
      call MPIX_Scatter_init(out, m, MPI_INTEGER, in, m, MPI_INTEGER, 0, comm, MPI_INFO_NULL, request, ierror)
    case (13)
      call MPIX_Scatterv_init(out, counts, places, MPI_INTEGER, in, m, MPI_INTEGER, 0, comm, &
                MPI_INFO_NULL, request, ierror)
    case (14)
      call MPIX_Alltoall_init(out, m, MPI_INTEGER, in, m, MPI_INTEGER, comm, MPI_INFO_NULL, request, ierror)
    case (15)
      call MPIX_Alltoallv_init(out, counts, places, MPI_INTEGER, in, counts, places, MPI_INTEGER, &
                comm, MPI_INFO_NULL, request, ierror)
    case (16)
      call MPIX_Alltoallw_init(out, counts, bytes, types, in, counts, bytes, types, comm, &
                MPI_INFO_NULL, request, ierror)
    case (17)
      call MPIX_Neighbor_allgather_init(out, half, MPI_INTEGER, in, half, MPI_INTEGER, grid, &
                MPI_INFO_NULL, request, ierror)
    case (18)
      call MPIX_Neighbor_allgatherv_init(out, half, MPI_INTEGER, in, halves, middle, MPI_INTEGER, &
                grid, MPI_INFO_NULL, request, ierror)
    case (19)
      call MPIX_Neighbor_alltoall_init(out, half, MPI_INTEGER, in, half, MPI_INTEGER, grid, &
                MPI_INFO_NULL, request, ierror)
    case (20)
      call MPIX_Neighbor_alltoallv_init(out, halves, middle, MPI_INTEGER, in, halves, middle, &
                MPI_INTEGER, grid, MPI_INFO_NULL, request, ierror)
    case default
      call MPIX_Neighbor_alltoallw_init(out, halves, far, types, in, halves, far, types, grid, &
                MPI_INFO_NULL, request, ierror)
    end select
  end subroutine

  ! How many of the first elements come to this rank, and how often what all of them have.
  subroutine comes(kind, number, times)
    integer, intent(in) :: kind
    integer, intent(out) :: number, times
    number = m * ranks
    times = 1
    select case (kind)
    case (1:4)
      number = n
      times = ranks
      if (kind == 3) times = rank + 1
      if (kind == 4) times = rank
    case (5:6)
      number = m
      times = ranks
    case (7, 17:)
      number = n
    case (12:13)
      number = m
    end select
    ! What is the root's alone, what only the others get, and what is before the first.
    if (any(kind == [2, 10, 11]) .and. rank > 0) number = 0
    if (any(kind == [4, 7]) .and. rank == 0) number = 0
  end subroutine

  ! Ends the request, in another way each time; `other` is active too.
  subroutine end_by(way, other)
    integer, intent(in) :: way
    integer, intent(inout) :: other
    integer :: requests(2), index, number, indices(2), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
    logical :: flag
    flag = .false.
    requests = [request, other]
    select case (way)
    case (1)
      call MPI_Wait(requests(1), status, ierror)
      call MPI_Wait(requests(2), status, ierror)
    case (2)
      call MPI_Waitall(2, requests, statuses, ierror)
    case (3)
      do while (.not. flag)
        call MPI_Testall(2, requests, flag, MPI_STATUSES_IGNORE, ierror)
      end do
    case (4)
      call MPI_Waitany(2, requests, index, status, ierror)
      call MPI_Waitany(2, requests, index, status, ierror)
    case (5)
      call MPI_Waitsome(2, requests, number, indices, statuses, ierror)
      if (number < 2) call MPI_Waitsome(2, requests, number, indices, statuses, ierror)
    case default
      do while (.not. flag)
        call MPI_Request_get_status(requests(1), flag, status, ierror)
      end do
      do while (requests(2) /= MPI_REQUEST_NULL)
        call MPI_Test(requests(2), flag, status, ierror)
      end do
      call MPI_Test(requests(1), flag, status, ierror)
    end select
    if (requests(1) /= request .or. requests(2) /= MPI_REQUEST_NULL) stop 2
  end subroutine

  subroutine every_kind(wrong)
    integer, intent(inout) :: wrong
    integer :: kind, way, number, times, other
    do kind = 1, kinds
      call init(kind)
      do way = 1, 6
        call fill(way)
        call MPI_Ibarrier(comm, other, ierror)
        call MPI_Start(request, ierror)
        call end_by(way, other)
        call comes(kind, number, times)
        call came(number, way * times, "a persistent collective", wrong)
      end do
      call MPI_Request_free(request, ierror)
    end do
    call MPI_Comm_free(grid, ierror)
  end subroutine
end module

program fortran_persistent_test
  use persistent
  implicit none
  integer :: wrong, everywhere
  wrong = 0
  call MPI_Init(ierror)
  call make()
  call on(MPI_COMM_SELF)
  call every_kind(wrong)
  call on(MPI_COMM_WORLD)
  call every_kind(wrong)
  call MPI_Allreduce(wrong, everywhere, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  if (everywhere > 0) stop 1
end program
