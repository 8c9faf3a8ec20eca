// What the fake driver calls its errors (fake_driver.cc).

#include <cuda.h>

extern "C" {

CUresult cuGetErrorName(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY       ? "CUDA_ERROR_OUT_OF_MEMORY"
          : error == CUDA_ERROR_NOT_SUPPORTED     ? "CUDA_ERROR_NOT_SUPPORTED"
          : error == CUDA_ERROR_ECC_UNCORRECTABLE ? "CUDA_ERROR_ECC_UNCORRECTABLE"
                                                  : "CUDA_ERROR_OTHER";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY       ? "out of memory"
          : error == CUDA_ERROR_ECC_UNCORRECTABLE ? "uncorrectable ECC error encountered"
                                                  : "some other error";
  return CUDA_SUCCESS;
}

}  // extern "C"
