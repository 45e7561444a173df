# How a floor of the house is built: warnings, determinism flags, sanitizers, links.

add_library(sluice_options INTERFACE)
target_compile_options(sluice_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Wvla
  # The same bits from every compiler and level: no fused multiply-add, no fast-math.
  -ffp-contract=off)
if(SLUICE_WERROR)
  target_compile_options(sluice_options INTERFACE -Werror)
endif()
if(SLUICE_SANITIZE)
  target_compile_options(sluice_options INTERFACE
    -fsanitize=${SLUICE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(sluice_options INTERFACE -fsanitize=${SLUICE_SANITIZE})
endif()
target_compile_definitions(sluice_options INTERFACE _POSIX_C_SOURCE=200809L)
target_include_directories(sluice_options INTERFACE ${PROJECT_SOURCE_DIR}/sim/include)

# sluice_floor(NAME SOURCES a.c ... [FLOORS lower ...] [LINKS target ...])
# FLOORS are the lower floors whose headers this one includes as "floor/noun.h".
function(sluice_floor name)
  cmake_parse_arguments(ARG "" "" "SOURCES;FLOORS;LINKS" ${ARGN})
  add_library(sluice_${name} STATIC ${ARG_SOURCES})
  target_include_directories(sluice_${name} PRIVATE ${PROJECT_SOURCE_DIR}/sim)
  list(TRANSFORM ARG_FLOORS PREPEND sluice_)
  target_link_libraries(sluice_${name} PUBLIC sluice_options ${ARG_FLOORS} PRIVATE ${ARG_LINKS})
endfunction()
