! The ways in which mpi_f08 learns of a request's end, on a persistent collective of Rondo's: what says that it is
! done says so when it is. Open MPI 4.1 has such collectives as MPIX_; its MPI_Request_get_status of mpi_f08 never
! says that one is done, without the layer neither.
program fortran_ends_test
  use mpi_f08
  use mpi_f08_ext
  implicit none
  integer, parameter :: n = 200000, ways = 4, rounds = 4
  integer, asynchronous :: own(n), sums(n)
  integer :: rank, ranks, i, way, round, wrong, all
  type(MPI_Request) :: request
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  own = [(mod(i, 1000) + rank, i = 1, n)]
  wrong = 0
  do way = 1, ways
    call MPIX_Allreduce_init(own, sums, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    do round = 1, rounds
      sums = -1
      call MPI_Barrier(MPI_COMM_WORLD)
      if (rank == mod(round, ranks)) call pass_time()
      call MPI_Start(request)
      do while (.not. has_ended(way))
      end do
      wrong = wrong + count(sums /= [(ranks * mod(i, 1000) + ranks * (ranks - 1) / 2, i = 1, n)])
      call MPI_Wait(request, MPI_STATUS_IGNORE)
    end do
    call MPI_Request_free(request)
  end do
  call MPI_Allreduce(wrong, all, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print *, ranks, "ranks,", all, "wrong"
  call MPI_Finalize()
  if (all /= 0) error stop 1
contains
  logical function has_ended(way)
    integer, intent(in) :: way
    type(MPI_Request) :: requests(1)
    type(MPI_Status) :: statuses(1)
    integer :: which, ended, indices(1)
    requests(1) = request
    has_ended = .false.
    select case (way)
      case (1)
        call MPI_Test(request, has_ended, MPI_STATUS_IGNORE)
      case (2)
        call MPI_Testall(1, requests, has_ended, MPI_STATUSES_IGNORE)
      case (3)
        call MPI_Testany(1, requests, which, has_ended, MPI_STATUS_IGNORE)
      case (4)
        call MPI_Testsome(1, requests, ended, indices, statuses)
        has_ended = ended /= 0
    end select
  end function

  subroutine pass_time()
    double precision :: until
    until = MPI_Wtime() + 0.01d0
    do while (MPI_Wtime() < until)
    end do
  end subroutine
end program
