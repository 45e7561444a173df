/*
 * cmocka for C++: its header speaks C.
 */
#ifndef KREF_TESTS_CMOCKA_H
#define KREF_TESTS_CMOCKA_H

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>

extern "C" {
#include <cmocka.h>
}

#endif
