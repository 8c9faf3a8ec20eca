! Messages and collectives of Fortran's on device buffers. Knows MPI only; in old style and by mpi_f08.
subroutine old_style(wrong)
  use mpi
  use device
  implicit none
  integer, intent(inout) :: wrong
  integer :: rank, ranks, next, before, ierror, round, number, index
  integer :: requests(2), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 2)
  logical :: flag

  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)

  call fill(rank)
  call MPI_Sendrecv(out, n, MPI_INTEGER, next, 1, in, n, MPI_INTEGER, before, 1, MPI_COMM_WORLD, status, &
                    ierror)
  if (status(MPI_SOURCE) /= before) wrong = wrong + 1
  call came(n, before, "sendrecv", wrong)
  call fill(rank)
  call MPI_Irecv(in, n, MPI_INTEGER, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Send(out, n / 2, MPI_INTEGER, next, 2, MPI_COMM_WORLD, ierror)
  call MPI_Wait(requests(1), status, ierror)
  call MPI_Get_count(status, MPI_INTEGER, number, ierror)
  if (number /= n / 2 .or. requests(1) /= MPI_REQUEST_NULL) wrong = wrong + 1
  call came(n / 2, before, "irecv", wrong)
  call fill(rank)
  call MPI_Isend(out, n, MPI_INTEGER, next, 3, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Recv(in, n, MPI_INTEGER, before, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
  call came(n, before, "recv", wrong)

  call MPI_Recv_init(in, n, MPI_INTEGER, before, 4, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Ssend_init(out, n, MPI_INTEGER, next, 4, MPI_COMM_WORLD, requests(2), ierror)
  do round = 1, 5
    call fill(rank + round)
    if (round == 1) then
      call MPI_Start(requests(1), ierror)
      call MPI_Start(requests(2), ierror)
    else
      call MPI_Startall(2, requests, ierror)
    end if
    select case (round)
    case (1)
      call MPI_Waitall(2, requests, statuses, ierror)
    case (2)
      flag = .false.
      do while (.not. flag)
        call MPI_Testall(2, requests, flag, statuses, ierror)
      end do
    case (3)
      call MPI_Waitany(2, requests, index, status, ierror)
      call MPI_Waitany(2, requests, index, status, ierror)
    case (4)
      flag = .false.
      do while (.not. flag)
        call MPI_Request_get_status(requests(1), flag, status, ierror)
      end do
      call came(n, before + round, "what get_status has seen", wrong)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
    case default
      call MPI_Wait(requests(1), status, ierror)
      call MPI_Wait(requests(2), status, ierror)
    end select
    if (any(requests == MPI_REQUEST_NULL)) wrong = wrong + 1
    call came(n, before + round, "a persistent receive", wrong)
  end do
  call MPI_Request_free(requests(1), ierror)
  call MPI_Request_free(requests(2), ierror)

  ! MPI's, of which Fortran waits for the end.
  call fill(rank)
  call MPI_Iallreduce(out, in, n, MPI_INTEGER, MPI_SUM, MPI_COMM_SELF, requests(1), ierror)
  call MPI_Wait(requests(1), status, ierror)
  call came(n, rank, "a non-blocking collective of one rank", wrong)
end subroutine

subroutine new_style(wrong)
  use mpi_f08
  use device
  implicit none
  integer, intent(inout) :: wrong
  integer :: rank, ranks, next, before
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: status

  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  call fill(rank)
  call MPI_Irecv(in, n, MPI_INTEGER, before, 5, MPI_COMM_WORLD, requests(1))
  call MPI_Isend(out, n, MPI_INTEGER, next, 5, MPI_COMM_WORLD, requests(2))
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  call came(n, before, "irecv of mpi_f08", wrong)
  call fill(rank)
  call MPI_Sendrecv(out, n, MPI_INTEGER, next, 6, in, n, MPI_INTEGER, before, 6, MPI_COMM_WORLD, status)
  if (status%MPI_SOURCE /= before) wrong = wrong + 1
  call MPI_Sendrecv_replace(in, n, MPI_INTEGER, next, 7, before, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call came(n, mod(before + ranks - 1, ranks), "sendrecv of mpi_f08, and sendrecv_replace", wrong)
end subroutine

program fortran_device_test
  use mpi
  use device
  implicit none
  integer :: wrong, everywhere, ierror
  wrong = 0
  call MPI_Init(ierror)
  call make()
  call old_style(wrong)
  call new_style(wrong)
  call packing(wrong)
  call matched(wrong)
  call blocks(wrong)
  call neighbours(wrong)
  call files(wrong)
  call windows(wrong)
  call MPI_Allreduce(wrong, everywhere, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
  if (everywhere > 0) stop 1
end program
