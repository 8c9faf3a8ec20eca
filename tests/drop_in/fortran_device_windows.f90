! One-sided calls of Fortran's from and to device buffers; the windows are the host's memory.
module window
  use mpi
  use device
  implicit none
  integer(MPI_ADDRESS_KIND), parameter :: first = 0, bytes = 4 * n
  integer, asynchronous :: memory(n)
  integer :: rank, next, before, win, ierror
contains
  subroutine open_it()
    integer :: ranks
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
    call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
    next = mod(rank + 1, ranks)
    before = mod(rank + ranks - 1, ranks)
    memory = 100 + rank
    call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
  end subroutine

  ! On all ranks, before one goes on and changes it.
  subroutine holds(value, what, wrong)
    integer, intent(in) :: value
    character(*), intent(in) :: what
    integer, intent(inout) :: wrong
    if (any(memory /= value)) then
      print *, "wrong: ", what, memory(1), memory(n)
      wrong = wrong + 1
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
  end subroutine
end module

! Between fences.
subroutine fenced(wrong)
  use window
  implicit none
  integer, intent(inout) :: wrong
  call open_it()
  call MPI_Win_fence(0, win, ierror)
  call fill(rank)
  call MPI_Get(in, n, MPI_INTEGER, next, first, n, MPI_INTEGER, win, ierror)
  call MPI_Win_fence(0, win, ierror)
  call came(n, 100 + next, "get", wrong)
  call MPI_Put(out, n, MPI_INTEGER, next, first, n, MPI_INTEGER, win, ierror)
  call MPI_Win_fence(0, win, ierror)
  call holds(before, "put", wrong)
  call MPI_Accumulate(out, n, MPI_INTEGER, next, first, n, MPI_INTEGER, MPI_SUM, win, ierror)
  call MPI_Win_fence(0, win, ierror)
  call holds(2 * before, "accumulate", wrong)
  call fill(5)
  call MPI_Get_accumulate(out, n, MPI_INTEGER, in, n, MPI_INTEGER, next, first, n, MPI_INTEGER, MPI_REPLACE, win, &
                          ierror)
  call MPI_Win_fence(0, win, ierror)
  call came(n, 2 * rank, "get_accumulate", wrong)
  call holds(5, "get_accumulate", wrong)
  call fill(6)
  call MPI_Fetch_and_op(out, in, MPI_INTEGER, next, first, MPI_SUM, win, ierror)
  call MPI_Win_fence(0, win, ierror)
  call came(1, 5, "fetch_and_op", wrong)
  call fill(11)
  call MPI_Compare_and_swap(out, out, in, MPI_INTEGER, next, first, win, ierror)
  call MPI_Win_fence(0, win, ierror)
  call came(1, 11, "compare_and_swap", wrong)
  call MPI_Win_free(win, ierror)
  if (win /= MPI_WIN_NULL) wrong = wrong + 1
end subroutine

! By locks: what is flushed, unlocked or whose request has ended is there.
subroutine locked(wrong)
  use window
  implicit none
  integer, intent(inout) :: wrong
  integer :: request, way
  call open_it()
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  do way = 1, 5
    call fill(0)
    call MPI_Win_lock_all(0, win, ierror)
    call MPI_Get(in, n, MPI_INTEGER, next, first, n, MPI_INTEGER, win, ierror)
    select case (way)
    case (1)
      call MPI_Win_flush(next, win, ierror)
    case (2)
      call MPI_Win_flush_all(win, ierror)
    case (3)
      call MPI_Win_flush_local(next, win, ierror)
    case (4)
      call MPI_Win_flush_local_all(win, ierror)
    end select
    if (way < 5) call came(n, 100 + next, "get and flush", wrong)
    call MPI_Win_unlock_all(win, ierror)
    call came(n, 100 + next, "get and unlock_all", wrong)
  end do
  call fill(0)
  call MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win, ierror)
  call MPI_Get(in, n, MPI_INTEGER, next, first, n, MPI_INTEGER, win, ierror)
  call MPI_Win_unlock(next, win, ierror)
  call came(n, 100 + next, "get and unlock", wrong)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call fill(rank)
  call MPI_Win_lock_all(0, win, ierror)
  call MPI_Rget(in, n, MPI_INTEGER, next, first, n, MPI_INTEGER, win, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call came(n, 100 + next, "rget", wrong)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Rput(out, n, MPI_INTEGER, next, first, n, MPI_INTEGER, win, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call MPI_Win_flush(next, win, ierror)
  call MPI_Raccumulate(out, n, MPI_INTEGER, next, first, n, MPI_INTEGER, MPI_SUM, win, request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call MPI_Win_flush(next, win, ierror)
  call MPI_Rget_accumulate(out, n, MPI_INTEGER, in, n, MPI_INTEGER, next, first, n, MPI_INTEGER, MPI_REPLACE, win, &
                           request, ierror)
  call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
  call MPI_Win_unlock_all(win, ierror)
  call came(n, 2 * rank, "rput, raccumulate, rget_accumulate", wrong)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call holds(before, "rget_accumulate", wrong)
  call MPI_Win_free(win, ierror)
end subroutine

! By mpi_f08, between start and complete; and a window on a device is refused.
subroutine started(wrong)
  use mpi_f08
  use device
  implicit none
  integer, intent(inout) :: wrong
  integer :: rank, ranks, next, before, ierror, class
  integer, asynchronous :: memory(n)
  type(MPI_Win) :: win
  type(MPI_Comm) :: dup
  type(MPI_Group) :: all, to, from
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  memory = rank
  call MPI_Win_create(memory, 4_MPI_ADDRESS_KIND * n, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
  call MPI_Comm_group(MPI_COMM_WORLD, all)
  call MPI_Group_incl(all, 1, [next], to)
  call MPI_Group_incl(all, 1, [before], from)
  call fill(0)
  call MPI_Win_post(from, 0, win)
  call MPI_Win_start(to, 0, win)
  call MPI_Get(in, n, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, n, MPI_INTEGER, win)
  call MPI_Win_complete(win)
  call MPI_Win_wait(win)
  call came(n, next, "get between start and complete", wrong)
  call MPI_Win_free(win)
  call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win)
  call MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN)
  call MPI_Win_attach(win, out, 4_MPI_ADDRESS_KIND * n, ierror)
  call MPI_Error_class(ierror, class)
  if (class /= MPI_ERR_BUFFER) wrong = wrong + 1
  call MPI_Win_free(win)
  call MPI_Comm_dup(MPI_COMM_WORLD, dup)
  call MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN)
  call MPI_Win_create(out, 4_MPI_ADDRESS_KIND * n, 4, MPI_INFO_NULL, dup, win, ierror)
  call MPI_Error_class(ierror, class)
  if (class /= MPI_ERR_BUFFER) wrong = wrong + 1
  call MPI_Comm_free(dup)
end subroutine

! Debian's Open MPI makes no window of one rank.
subroutine windows(wrong)
  use mpi
  implicit none
  integer, intent(inout) :: wrong
  integer :: ranks, ierror
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  if (ranks < 2) return
  call fenced(wrong)
  call locked(wrong)
  call started(wrong)
end subroutine
