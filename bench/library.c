/* library.c - the list of the libraries under test. */

#include "library.h"

#include <string.h>

extern const library library_dwire, library_limit, library_raw;
extern const library library_libdbus, library_sdbus, library_gdbus;

const library *const libraries[] = {
    &library_dwire,   &library_limit, &library_raw,
#ifdef HAVE_LIBDBUS
    &library_libdbus,
#endif
#ifdef HAVE_SDBUS
    &library_sdbus,
#endif
#ifdef HAVE_GDBUS
    &library_gdbus,
#endif
};
const size_t n_libraries = sizeof libraries / sizeof libraries[0];

const char *const missing_libraries[] = {
#ifndef HAVE_LIBDBUS
    "libdbus",
#endif
#ifndef HAVE_SDBUS
    "sd-bus",
#endif
#ifndef HAVE_GDBUS
    "gdbus",
#endif
    NULL};

const library *library_find(const char *name)
{
    for (size_t i = 0; i < n_libraries; i++)
        if (strcmp(libraries[i]->name, name) == 0)
            return libraries[i];
    return NULL;
}

bool library_does(const library *lib, workload_kind kind)
{
    switch (kind) {
    case MARSHAL: return lib->marshal.open != NULL;
    case UNMARSHAL: return lib->unmarshal.open != NULL;
    case SEND: return lib->send.open != NULL;
    case STREAM: return lib->link.stream != NULL;
    case CALL:
    case CALL_BUS: return lib->link.call != NULL;
    }
    return false;
}
