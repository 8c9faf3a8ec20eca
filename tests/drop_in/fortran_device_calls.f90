! Calls of Fortran's that are MPI's whatever their size, on device buffers.

! To and from a packed buffer on the device, and an operator on it.
subroutine packing(wrong)
  use mpi_f08
  use device
  implicit none
  integer, intent(inout) :: wrong
  integer :: position
  integer(MPI_ADDRESS_KIND) :: place
  integer(c_int) :: host(n)

  call fill(7)
  position = 0
  call MPI_Pack(out, n / 2, MPI_INTEGER, in, 4 * n, position, MPI_COMM_WORLD)
  if (position /= 4 * (n / 2)) wrong = wrong + 1
  call came(n / 2, 7, "pack", wrong)
  call fill(8)
  position = 0
  call MPI_Unpack(out, 4 * n, position, in, n, MPI_INTEGER, MPI_COMM_WORLD)
  call came(n, 8, "unpack", wrong)
  call fill(9)
  place = 0
  call MPI_Pack_external("external32  ", out, n, MPI_INTEGER, in, 4_MPI_ADDRESS_KIND * n, place)
  host = 0
  place = 0
  call MPI_Unpack_external("external32", in, 4_MPI_ADDRESS_KIND * n, place, host, n, MPI_INTEGER)
  if (any(host /= 9) .or. place /= 4 * n) wrong = wrong + 1
  call fill(10)
  call MPI_Reduce_local(out, in, n, MPI_INTEGER, MPI_SUM)
  call came(n, 9, "reduce_local", wrong)
end subroutine

! Messages that were matched before.
subroutine matched(wrong)
  use mpi
  use device
  implicit none
  integer, intent(inout) :: wrong
  integer :: rank, ranks, next, before, ierror, message, requests(2), status(MPI_STATUS_SIZE)

  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  next = mod(rank + 1, ranks)
  before = mod(rank + ranks - 1, ranks)
  call fill(rank)
  call MPI_Isend(out, n, MPI_INTEGER, next, 8, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Mprobe(before, 8, MPI_COMM_WORLD, message, status, ierror)
  call MPI_Mrecv(in, n, MPI_INTEGER, message, status, ierror)
  if (message /= MPI_MESSAGE_NULL .or. status(MPI_SOURCE) /= before) wrong = wrong + 1
  call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
  call came(n, before, "mrecv", wrong)
  call fill(rank)
  call MPI_Isend(out, n, MPI_INTEGER, next, 9, MPI_COMM_WORLD, requests(1), ierror)
  call MPI_Mprobe(before, 9, MPI_COMM_WORLD, message, MPI_STATUS_IGNORE, ierror)
  call MPI_Imrecv(in, n, MPI_INTEGER, message, requests(2), ierror)
  call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
  call came(n, before, "imrecv", wrong)
end subroutine

! Blocks of their own types to one rank, and in place to all.
subroutine blocks(wrong)
  use mpi_f08
  use device
  implicit none
  integer, intent(inout) :: wrong
  integer :: rank, ranks, before
  integer, allocatable :: sends(:), receives(:), zeros(:)
  type(MPI_Datatype), allocatable :: types(:)
  type(MPI_Datatype) :: five
  type(MPI_Request) :: request

  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  before = mod(rank + ranks - 1, ranks)
  allocate(sends(ranks), receives(ranks), zeros(ranks), types(ranks))
  sends = 0
  receives = 0
  zeros = 0
  types = MPI_INTEGER
  sends(mod(rank + 1, ranks) + 1) = n
  receives(before + 1) = n
  call fill(rank)
  call MPI_Alltoallw(out, sends, zeros, types, in, receives, zeros, types, MPI_COMM_WORLD)
  call came(n, before, "alltoallw", wrong)
  call fill(rank)
  call MPI_Ialltoallw(out, sends, zeros, types, in, receives, zeros, types, MPI_COMM_WORLD, request)
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call came(n, before, "ialltoallw", wrong)
  ! Of a type that the program frees before the end.
  call MPI_Type_contiguous(5, MPI_INTEGER, five)
  call MPI_Type_commit(five)
  types = five
  sends = sends / 5
  receives = receives / 5
  call fill(rank)
  call MPI_Ialltoallw(out, sends, zeros, types, in, receives, zeros, types, MPI_COMM_WORLD, request)
  call MPI_Type_free(five)
  types = MPI_INTEGER
  call MPI_Wait(request, MPI_STATUS_IGNORE)
  call came(n, before, "ialltoallw of a freed type", wrong)
  sends = 0
  receives = 0
  sends(rank + 1) = 1
  receives(rank + 1) = 1
  call MPI_Alltoallw(MPI_IN_PLACE, sends, zeros, types, in, receives, zeros, types, MPI_COMM_WORLD)
  call came(n, before, "alltoallw in place", wrong)
end subroutine

! Around a grid of one dimension, where everybody hears from both sides, each half the buffer.
subroutine neighbours(wrong)
  use mpi
  use device
  implicit none
  integer, intent(inout) :: wrong
  integer, parameter :: half = n / 2
  integer :: ranks, grid, ierror, request, counts(2), places(2), types(2), way
  integer(MPI_ADDRESS_KIND) :: bytes(2)

  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., grid, ierror)
  counts = half
  places = [0, half]
  bytes = [0, 4 * half]
  types = MPI_INTEGER
  do way = 1, 10
    call fill(way)
    request = MPI_REQUEST_NULL
    select case (way)
    case (1)
      call MPI_Neighbor_allgather(out, half, MPI_INTEGER, in, half, MPI_INTEGER, grid, ierror)
    case (2)
      call MPI_Neighbor_allgatherv(out, half, MPI_INTEGER, in, counts, places, MPI_INTEGER, grid, ierror)
    case (3)
      call MPI_Neighbor_alltoall(out, half, MPI_INTEGER, in, half, MPI_INTEGER, grid, ierror)
    case (4)
      call MPI_Neighbor_alltoallv(out, counts, places, MPI_INTEGER, in, counts, places, MPI_INTEGER, grid, ierror)
    case (5)
      call MPI_Neighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, grid, ierror)
    case (6)
      call MPI_Ineighbor_allgather(out, half, MPI_INTEGER, in, half, MPI_INTEGER, grid, request, ierror)
    case (7)
      call MPI_Ineighbor_allgatherv(out, half, MPI_INTEGER, in, counts, places, MPI_INTEGER, grid, request, &
                                    ierror)
    case (8)
      call MPI_Ineighbor_alltoall(out, half, MPI_INTEGER, in, half, MPI_INTEGER, grid, request, ierror)
    case (9)
      call MPI_Ineighbor_alltoallv(out, counts, places, MPI_INTEGER, in, counts, places, MPI_INTEGER, grid, &
                                   request, ierror)
    case default
      call MPI_Ineighbor_alltoallw(out, counts, bytes, types, in, counts, bytes, types, grid, request, ierror)
    end select
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call came(n, way, "from neighbours", wrong)
  end do
  call MPI_Comm_free(grid, ierror)
end subroutine
