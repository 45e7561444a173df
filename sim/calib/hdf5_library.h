/*
 * The HDF5 library, loaded when the first file needs it.
 *
 * Floor calib, internal. Nothing but files of measurements in HDF5 needs it, and Debian's brings 30
 * more libraries along, to read over HTTP: linked, they took five sixths of the time of every
 * start. So the program does not link it; the compiler still checks each call against its header.
 */
#ifndef SLUICE_CALIB_HDF5_LIBRARY_H
#define SLUICE_CALIB_HDF5_LIBRARY_H

#include <hdf5.h>

/* The header's constants open the library first; sli_hdf5_load has done so. */
#undef H5OPEN
#define H5OPEN
#undef H5CHECK
#define H5CHECK

/* Functions, and variables that hold types and classes. */
#define SLI_HDF5_SYMBOLS(DO)                                                                       \
    DO(H5Aclose)                                                                                   \
    DO(H5Acreate2)                                                                                 \
    DO(H5Aexists)                                                                                  \
    DO(H5Aget_type)                                                                                \
    DO(H5Aopen)                                                                                    \
    DO(H5Aread)                                                                                    \
    DO(H5Awrite)                                                                                   \
    DO(H5Dclose)                                                                                   \
    DO(H5Dcreate2)                                                                                 \
    DO(H5Dget_space)                                                                               \
    DO(H5Dget_type)                                                                                \
    DO(H5Dopen2)                                                                                   \
    DO(H5Dread)                                                                                    \
    DO(H5Dwrite)                                                                                   \
    DO(H5Eget_auto2)                                                                               \
    DO(H5Eset_auto2)                                                                               \
    DO(H5Fclose)                                                                                   \
    DO(H5Fcreate)                                                                                  \
    DO(H5Fopen)                                                                                    \
    DO(H5Gclose)                                                                                   \
    DO(H5Gcreate2)                                                                                 \
    DO(H5Gopen2)                                                                                   \
    DO(H5Lexists)                                                                                  \
    DO(H5Literate)                                                                                 \
    DO(H5Pclose)                                                                                   \
    DO(H5Pcreate)                                                                                  \
    DO(H5Pset_obj_track_times)                                                                     \
    DO(H5Sclose)                                                                                   \
    DO(H5Screate)                                                                                  \
    DO(H5Screate_simple)                                                                           \
    DO(H5Sget_simple_extent_dims)                                                                  \
    DO(H5Sget_simple_extent_ndims)                                                                 \
    DO(H5Tclose)                                                                                   \
    DO(H5Tcopy)                                                                                    \
    DO(H5Tget_class)                                                                               \
    DO(H5Tget_cset)                                                                                \
    DO(H5Tget_size)                                                                                \
    DO(H5Tis_variable_str)                                                                         \
    DO(H5Tset_cset)                                                                                \
    DO(H5Tset_size)                                                                                \
    DO(H5free_memory)                                                                              \
    DO(H5open)                                                                                     \
    DO(H5P_CLS_DATASET_CREATE_ID_g)                                                                \
    DO(H5P_CLS_GROUP_CREATE_ID_g)                                                                  \
    DO(H5T_C_S1_g)                                                                                 \
    DO(H5T_NATIVE_DOUBLE_g)                                                                        \
    DO(H5T_NATIVE_INT64_g)

/* A pointer to each, under its name. */
typedef struct sli_hdf5 {
#define SLI_HDF5_MEMBER(symbol) __typeof__(symbol) *symbol;
    SLI_HDF5_SYMBOLS(SLI_HDF5_MEMBER)
#undef SLI_HDF5_MEMBER
} sli_hdf5;

/* Loads the library of that name, once a process however often it is asked, and opens it. NULL when
 * it is there, else why not, in a text that may be one of the dynamic loader: it lasts until that
 * is called again. */
const char *sli_hdf5_load(const char *name, sli_hdf5 *library);

#endif
