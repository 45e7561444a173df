# sluice_embed(TABLE OUTPUT_VARIABLE file ...)
# Compiles files into a table `const sli_embedded TABLE[]` (base/embedded.h) and sets
# OUTPUT_VARIABLE to the generated C file. The files are watched: touching one rebuilds the table.
set(SLUICE_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_files.cmake)

function(sluice_embed table output_variable)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${table}.c)
  set(files)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    list(APPEND files ${file})
  endforeach()
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DTABLE=${table}" "-DOUTPUT=${output}" "-DFILES=${files}"
            -P ${SLUICE_EMBED_SCRIPT}
    DEPENDS ${files} ${SLUICE_EMBED_SCRIPT}
    VERBATIM)
  set(${output_variable} ${output} PARENT_SCOPE)
endfunction()
