! Programs that know MPI only, rehearsed as rank 3 of 16: what MPI's one process would get wrong, as Fortran calls it
! by mpi and by mpi_f08.
module checks
  implicit none
  integer :: wrong = 0
contains
  subroutine check(right, what)
    logical, intent(in) :: right
    character(*), intent(in) :: what
    if (right) return
    print *, "wrong: ", what
    wrong = wrong + 1
  end subroutine
end module

subroutine by_mpi(name)
  use mpi
  use checks
  implicit none
  character(*), intent(in) :: name
  integer :: counts(16), places(16), types(16), more(16), ierror, request, message, copy, number, win, file, group
  integer :: status(MPI_STATUS_SIZE)
  integer(MPI_ADDRESS_KIND) :: base
  integer(MPI_OFFSET_KIND) :: at
  logical :: flag
  character :: in(10000), out(10000)

  in = "i"
  out = "o"
  counts = 0
  counts(8) = 2111
  counts(4) = 3
  places = 0
  places(8) = 100
  more = 0
  more(12) = 2112
  more(4) = 3
  types = MPI_CHARACTER
  call MPI_Alltoallw(in, counts, places, types, out, more, places, types, MPI_COMM_WORLD, ierror)
  call check(ierror == MPI_SUCCESS .and. all(out(1:3) == "i") .and. out(4) == "o", "an all-to-all of typed blocks")
  call MPI_Ialltoallw(in, counts, places, types, out, more, places, types, MPI_COMM_WORLD, request, ierror)
  call MPI_Wait(request, status, ierror)
  call MPI_Sendrecv_replace(in, 2113, MPI_CHARACTER, 8, 0, 12, 0, MPI_COMM_WORLD, status, ierror)
  call check(status(MPI_SOURCE) == 12, "an exchange in place")

  flag = .true.
  call MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, flag, status, ierror)
  call check(ierror /= MPI_SUCCESS .and. .not. flag, "no message is looked for")
  call MPI_Probe(5, 0, MPI_COMM_WORLD, status, ierror)
  call check(ierror /= MPI_SUCCESS, "nor waited for")
  call MPI_Improbe(5, 0, MPI_COMM_WORLD, flag, message, status, ierror)
  call check(ierror /= MPI_SUCCESS, "nor taken")
  call MPI_Mprobe(5, 0, MPI_COMM_WORLD, message, status, ierror)
  call check(ierror /= MPI_SUCCESS .and. message == MPI_MESSAGE_NULL, "nor waited for and taken")
  call MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, flag, status, ierror)
  call check(flag .and. status(MPI_SOURCE) == MPI_PROC_NULL, "nobody's message")

  call MPI_Comm_idup(MPI_COMM_WORLD, copy, request, ierror)
  call MPI_Wait(request, status, ierror)
  call MPI_Comm_size(copy, number, ierror)
  call check(number == 16, "a copy made by a non-blocking call")
  call MPI_Comm_compare(copy, MPI_COMM_SELF, number, ierror)
  call check(number == MPI_UNEQUAL, "one rank is not all")
  call MPI_Comm_free(copy, ierror)
  call MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, 5, 0, copy, ierror)
  call check(ierror /= MPI_SUCCESS, "no inter-communicator")
  call MPI_Comm_spawn("/bin/true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, copy, MPI_ERRCODES_IGNORE, ierror)
  call check(ierror /= MPI_SUCCESS, "nothing is spawned")
  call MPI_Comm_accept("nowhere", MPI_INFO_NULL, 0, MPI_COMM_WORLD, copy, ierror)
  call check(ierror /= MPI_SUCCESS, "nobody is accepted")
  call MPI_Comm_connect("nowhere", MPI_INFO_NULL, 0, MPI_COMM_WORLD, copy, ierror)
  call check(ierror /= MPI_SUCCESS, "nobody is connected to")

  call MPI_Win_allocate(8_MPI_ADDRESS_KIND, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierror)
  call check(ierror /= MPI_SUCCESS, "no window of all ranks")
  call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
  call check(ierror /= MPI_SUCCESS, "nor a dynamic one")

  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &
                     file, ierror)
  call check(ierror == MPI_SUCCESS, "a file is opened")
  if (ierror /= MPI_SUCCESS) return
  call MPI_File_get_group(file, group, ierror)
  call MPI_Group_size(group, number, ierror)
  call check(number == 16, "its ranks")
  call MPI_Group_free(group, ierror)
  call MPI_File_write_at(file, 12_MPI_OFFSET_KIND, in, 4, MPI_CHARACTER, status, ierror)
  call check(ierror == MPI_SUCCESS, "its own part of a file")
  call MPI_File_write_shared(file, in, 4, MPI_CHARACTER, status, ierror)
  call check(ierror /= MPI_SUCCESS, "no shared pointer")
  call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET, ierror)
  call check(ierror /= MPI_SUCCESS, "which is not moved")
  call MPI_File_get_position_shared(file, at, ierror)
  call check(ierror /= MPI_SUCCESS, "nor known")
  call MPI_File_close(file, ierror)
  call check(ierror == MPI_SUCCESS .and. file == MPI_FILE_NULL, "a file is closed")
end subroutine

subroutine by_mpi_f08()
  use mpi_f08
  use, intrinsic :: iso_c_binding, only: c_ptr
  use checks
  implicit none
  type(MPI_Comm) :: grid, row, copy
  type(MPI_Datatype) :: types(16)
  type(MPI_Message) :: message
  type(MPI_Request) :: request
  type(MPI_Status) :: status
  type(MPI_Win) :: win
  type(c_ptr) :: base
  integer :: counts(16), places(16), more(16), sizes(2), at(2), number, ierror
  logical :: flag, periods(2)
  character :: in(10000), out(10000)

  in = "i"
  out = "o"
  counts = 0
  counts(8) = 2211
  more = 0
  places = 0
  types = MPI_CHARACTER
  call MPI_Alltoallw(in, counts, places, types, out, more, places, types, MPI_COMM_WORLD)
  call MPI_Comm_idup(MPI_COMM_WORLD, copy, request)
  call MPI_Wait(request, status)
  call MPI_Comm_size(copy, number)
  call check(number == 16, "f08: a copy made by a non-blocking call")
  call MPI_Comm_free(copy)
  flag = .true.
  call MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, flag, status, ierror)
  call check(ierror /= MPI_SUCCESS .and. .not. flag, "f08: no message is looked for")
  call MPI_Improbe(5, 0, MPI_COMM_WORLD, flag, message, status, ierror)
  call check(ierror /= MPI_SUCCESS, "f08: nor taken")
  call MPI_Probe(5, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
  call check(ierror /= MPI_SUCCESS, "f08: nor waited for")
  call MPI_Win_allocate(8_MPI_ADDRESS_KIND, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierror)
  call check(ierror /= MPI_SUCCESS, "f08: no window of all ranks")
  call MPI_Win_allocate_shared(8_MPI_ADDRESS_KIND, 1, MPI_INFO_NULL, MPI_COMM_WORLD, base, win, ierror)
  call check(ierror /= MPI_SUCCESS, "f08: nor a shared one")

  ! Calls with LOGICALs go another way through mpi_f08 than all others.
  call MPI_Cart_create(MPI_COMM_WORLD, 2, [4, 4], [.false., .true.], .false., grid, ierror)
  call check(ierror == MPI_SUCCESS, "f08: a grid")
  if (ierror /= MPI_SUCCESS) return
  call MPI_Comm_size(grid, number)
  call check(number == 16, "f08: its ranks")
  call MPI_Cart_get(grid, 2, sizes, periods, at)
  call check(all(sizes == 4) .and. periods(2) .and. .not. periods(1) .and. all(at == [0, 3]), "f08: its shape")
  call MPI_Cart_sub(grid, [.true., .false.], row)
  call MPI_Comm_size(row, number)
  call check(number == 4, "f08: a column of it")
  call MPI_Comm_free(row)
  call MPI_Comm_free(grid)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [2, 15], MPI_UNWEIGHTED, 1, [4], MPI_UNWEIGHTED, &
                                      MPI_INFO_NULL, .false., grid)
  call MPI_Dist_graph_neighbors_count(grid, at(1), number, flag)
  call check(at(1) == 2 .and. number == 1 .and. .not. flag, "f08: a graph")
  call MPI_Comm_free(grid)
end subroutine

program fortran_rehearsal_calls_test
  use mpi
  use checks
  implicit none
  integer :: rank, ranks, ierror
  character(4096) :: name

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  if (rank /= 3 .or. ranks /= 16) stop 1
  call get_command_argument(1, name)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
  call by_mpi(trim(name))
  call by_mpi_f08()
  call MPI_Finalize(ierror)
  if (wrong > 0) stop 1
end program
