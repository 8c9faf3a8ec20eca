! Two device buffers, which host code cannot touch, for Fortran's tests: the driver is fake_driver.cc.
module device
  use iso_c_binding
  implicit none
  integer, parameter :: n = 5000
  interface
    integer(c_int) function cuMemAlloc(address, bytes) bind(C, name="cuMemAlloc_v2")
      import
      type(c_ptr), intent(out) :: address
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function cuMemcpyHtoD(address, host, bytes) bind(C, name="cuMemcpyHtoD_v2")
      import
      type(c_ptr), value :: address
      integer(c_int), intent(in) :: host(*)
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function cuMemcpyDtoH(host, address, bytes) bind(C, name="cuMemcpyDtoH_v2")
      import
      integer(c_int), intent(out) :: host(*)
      type(c_ptr), value :: address
      integer(c_size_t), value :: bytes
    end function
  end interface
  type(c_ptr) :: outAt, inAt
  ! Contiguous: the compiler makes no copy of what it hands on.
  integer(c_int), pointer, contiguous :: out(:), in(:)
contains
  subroutine make()
    if (cuMemAlloc(outAt, 4_c_size_t * n) /= 0 .or. cuMemAlloc(inAt, 4_c_size_t * n) /= 0) stop 77
    call c_f_pointer(outAt, out, [n])
    call c_f_pointer(inAt, in, [n])
  end subroutine

  ! What is to be sent, and nothing in what is to be received.
  subroutine fill(value)
    integer, intent(in) :: value
    integer(c_int) :: host(n)
    host = value
    if (cuMemcpyHtoD(outAt, host, 4_c_size_t * n) /= 0) stop 1
    host = -1
    if (cuMemcpyHtoD(inAt, host, 4_c_size_t * n) /= 0) stop 1
  end subroutine

  ! The first `number` have come, and the rest is as it was.
  subroutine came(number, value, what, wrong)
    integer, intent(in) :: number, value
    character(*), intent(in) :: what
    integer, intent(inout) :: wrong
    integer(c_int) :: host(n)
    if (cuMemcpyDtoH(host, inAt, 4_c_size_t * n) /= 0) stop 1
    if (all(host(1:number) == value) .and. all(host(number + 1:) == -1)) return
    print *, "wrong: ", what, host(1), host(n)
    wrong = wrong + 1
  end subroutine
end module
