! A file of each rank's own, whose name begins with the program's argument, is written from a device buffer
! and read into one, by every call.
subroutine files(wrong)
  use mpi
  use device
  implicit none
  integer, intent(inout) :: wrong
  integer, parameter :: ways = 14
  integer(MPI_OFFSET_KIND), parameter :: nowhere = 0
  integer :: rank, file, way, ierror, request, number, status(MPI_STATUS_SIZE)
  character(200) :: argument, name

  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call get_command_argument(1, argument)
  write (name, "(a, i0)") trim(argument), rank
  call MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE + MPI_MODE_RDWR + MPI_MODE_DELETE_ON_CLOSE, &
                     MPI_INFO_NULL, file, ierror)
  if (ierror /= MPI_SUCCESS) wrong = wrong + 1
  do way = 1, ways
    call fill(way)
    call rewind_both()
    call write_by()
    call rewind_both()
    call read_by()
    call came(n, way, "from a file", wrong)
  end do
  call MPI_File_close(file, ierror)
contains
  subroutine rewind_both()
    call MPI_File_seek(file, nowhere, MPI_SEEK_SET, ierror)
    call MPI_File_seek_shared(file, nowhere, MPI_SEEK_SET, ierror)
    request = MPI_REQUEST_NULL
    status = -1
  end subroutine

  ! After the call, or the end of its request.
  subroutine is_whole()
    if (request /= MPI_REQUEST_NULL) call MPI_Wait(request, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, number, ierror)
    if (number == n) return
    print *, "wrong: status of a file's call", way, number
    wrong = wrong + 1
  end subroutine

  subroutine write_by()
    select case (way)
    case (1)
      call MPI_File_write(file, out, n, MPI_INTEGER, status, ierror)
    case (2)
      call MPI_File_write_all(file, out, n, MPI_INTEGER, status, ierror)
    case (3)
      call MPI_File_write_shared(file, out, n, MPI_INTEGER, status, ierror)
    case (4)
      call MPI_File_write_ordered(file, out, n, MPI_INTEGER, status, ierror)
    case (5)
      call MPI_File_write_at(file, nowhere, out, n, MPI_INTEGER, status, ierror)
    case (6)
      call MPI_File_write_at_all(file, nowhere, out, n, MPI_INTEGER, status, ierror)
    case (7)
      call MPI_File_iwrite(file, out, n, MPI_INTEGER, request, ierror)
    case (8)
      call MPI_File_iwrite_all(file, out, n, MPI_INTEGER, request, ierror)
    case (9)
      call MPI_File_iwrite_shared(file, out, n, MPI_INTEGER, request, ierror)
    case (10)
      call MPI_File_iwrite_at(file, nowhere, out, n, MPI_INTEGER, request, ierror)
    case (11)
      call MPI_File_iwrite_at_all(file, nowhere, out, n, MPI_INTEGER, request, ierror)
    case (12)
      call MPI_File_write_all_begin(file, out, n, MPI_INTEGER, ierror)
      call MPI_File_write_all_end(file, out, status, ierror)
    case (13)
      call MPI_File_write_ordered_begin(file, out, n, MPI_INTEGER, ierror)
      call MPI_File_write_ordered_end(file, out, status, ierror)
    case default
      call MPI_File_write_at_all_begin(file, nowhere, out, n, MPI_INTEGER, ierror)
      call MPI_File_write_at_all_end(file, out, status, ierror)
    end select
    call is_whole()
  end subroutine

  subroutine read_by()
    select case (way)
    case (1)
      call MPI_File_read(file, in, n, MPI_INTEGER, status, ierror)
    case (2)
      call MPI_File_read_all(file, in, n, MPI_INTEGER, status, ierror)
    case (3)
      call MPI_File_read_shared(file, in, n, MPI_INTEGER, status, ierror)
    case (4)
      call MPI_File_read_ordered(file, in, n, MPI_INTEGER, status, ierror)
    case (5)
      call MPI_File_read_at(file, nowhere, in, n, MPI_INTEGER, status, ierror)
    case (6)
      call MPI_File_read_at_all(file, nowhere, in, n, MPI_INTEGER, status, ierror)
    case (7)
      call MPI_File_iread(file, in, n, MPI_INTEGER, request, ierror)
    case (8)
      call MPI_File_iread_all(file, in, n, MPI_INTEGER, request, ierror)
    case (9)
      call MPI_File_iread_shared(file, in, n, MPI_INTEGER, request, ierror)
    case (10)
      call MPI_File_iread_at(file, nowhere, in, n, MPI_INTEGER, request, ierror)
    case (11)
      call MPI_File_iread_at_all(file, nowhere, in, n, MPI_INTEGER, request, ierror)
    case (12)
      call MPI_File_read_all_begin(file, in, n, MPI_INTEGER, ierror)
      call MPI_File_read_all_end(file, in, status, ierror)
    case (13)
      call MPI_File_read_ordered_begin(file, in, n, MPI_INTEGER, ierror)
      call MPI_File_read_ordered_end(file, in, status, ierror)
    case default
      call MPI_File_read_at_all_begin(file, nowhere, in, n, MPI_INTEGER, ierror)
      call MPI_File_read_at_all_end(file, in, status, ierror)
    end select
    call is_whole()
  end subroutine
end subroutine
