# SLUICE_HDF5_NAME: what the dynamic loader calls the HDF5 library. The program does not link it, but
# loads it under this name when a file needs it (sim/calib/hdf5_library.h).
list(GET HDF5_LINK_LIBRARIES 0 hdf5_file)
if(NOT CMAKE_OBJDUMP)
  message(FATAL_ERROR "objdump is needed to read the SONAME of ${hdf5_file}; CMAKE_OBJDUMP says where it is")
endif()
execute_process(COMMAND ${CMAKE_OBJDUMP} -p ${hdf5_file}
  RESULT_VARIABLE hdf5_result OUTPUT_VARIABLE hdf5_headers ERROR_VARIABLE hdf5_complaint)
if(NOT hdf5_result EQUAL 0)
  message(FATAL_ERROR "cannot read the SONAME of ${hdf5_file}: ${CMAKE_OBJDUMP}: ${hdf5_result} ${hdf5_complaint}")
endif()
if(NOT hdf5_headers MATCHES "SONAME +([^ \n]+)")
  message(FATAL_ERROR "${hdf5_file} has no SONAME: a shared HDF5 library is needed")
endif()
set(SLUICE_HDF5_NAME ${CMAKE_MATCH_1})
