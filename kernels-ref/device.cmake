# The kernels by nvcc: one object with code for each architecture, once a kernel.
#
# What ptxas says about registers lies beside it, and so do the PTX and the machine code of each
# architecture, which the tests read. CUDA is no language of the project: nvcc is called as it is, so a
# machine without it needs nothing, and its tests say that they were skipped.
find_program(KREF_NVCC nvcc PATHS ENV CUDA_HOME ENV CUDA_PATH /usr/local/cuda PATH_SUFFIXES bin)
set(kref_architectures 80 90 100)
set(kref_device_dir ${CMAKE_CURRENT_BINARY_DIR}/device)

if(NOT KREF_NVCC)
  return()
endif()

# Only nvcc knows where its headers and libraries lie: what stands in PATH may be a link or a script.
execute_process(COMMAND ${KREF_NVCC} --dryrun -c ${CMAKE_CURRENT_SOURCE_DIR}/cuda/gemm.cu
  OUTPUT_VARIABLE kref_dry_run ERROR_VARIABLE kref_dry_run)
# kref_folders(RESULT LETTER): the folders that nvcc hands to its host compiler by -I or -L
function(kref_folders result letter)
  string(REGEX MATCHALL "-${letter}[^\" ]+" folders "${kref_dry_run}")
  list(TRANSFORM folders REPLACE "^-${letter}" "")
  set(${result} ${folders} PARENT_SCOPE)
endfunction()
kref_folders(kref_cuda_includes I)
kref_folders(kref_cuda_libraries L)
list(FILTER kref_cuda_libraries EXCLUDE REGEX "/stubs$")
find_path(KREF_CUDA_INCLUDE cuda_runtime.h HINTS ${kref_cuda_includes})
find_library(KREF_CUDA_RUNTIME cudart_static HINTS ${kref_cuda_libraries})
find_library(KREF_CUBLASLT cublasLt HINTS ${kref_cuda_libraries})
if(NOT KREF_CUDA_INCLUDE OR NOT KREF_CUDA_RUNTIME)
  message(STATUS "no kernels by nvcc: ${KREF_NVCC} names no folder with cuda_runtime.h and cudart_static")
  return()
endif()

set(kref_defines)
if(KREF_CUBLASLT AND EXISTS ${KREF_CUDA_INCLUDE}/cublasLt.h)
  list(APPEND kref_defines -DKREF_CUBLASLT)
endif()

set(generate)
foreach(architecture IN LISTS kref_architectures)
  list(APPEND generate -gencode arch=compute_${architecture},code=sm_${architecture})
endforeach()
set(objects)
foreach(kernel IN LISTS kref_kernels)
  set(object ${kref_device_dir}/${kernel}.o)
  add_custom_command(OUTPUT ${object}
    COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/tests/compile_device.sh ${kref_device_dir} ${kernel}
            ${KREF_NVCC} -std=c++17 -I${CMAKE_CURRENT_SOURCE_DIR} ${kref_defines} ${generate}
            --threads 2
            -Werror all-warnings -Xcompiler -Wall,-Wextra
            -c ${CMAKE_CURRENT_SOURCE_DIR}/cuda/${kernel}.cu -o ${object}
            -MD -MF ${object}.d
    DEPENDS cuda/${kernel}.cu tests/compile_device.sh
    DEPFILE ${object}.d
    COMMENT "nvcc ${kernel}.cu"
    VERBATIM)
  list(APPEND objects ${object})
endforeach()
add_custom_target(kref_device_objects ALL DEPENDS ${objects})
set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_library(kref_kernels_device STATIC ${objects})
set_target_properties(kref_kernels_device PROPERTIES LINKER_LANGUAGE CXX)
target_compile_definitions(kref_kernels_device INTERFACE KREF_ON_DEVICE)
target_include_directories(kref_kernels_device SYSTEM INTERFACE ${KREF_CUDA_INCLUDE})
target_link_libraries(kref_kernels_device INTERFACE
  kref_options ${KREF_CUDA_RUNTIME} ${CMAKE_DL_LIBS} rt pthread)
if(kref_defines)
  # Only who calls the library has to load it.
  target_link_options(kref_kernels_device INTERFACE -Wl,--as-needed)
  target_link_libraries(kref_kernels_device INTERFACE ${KREF_CUBLASLT})
endif()
