/* base.c - what the error codes say. See dwire/base.h. */

#include "dwire/base.h"

struct error {
    const char *name, *text, *section;
};

#define DW_ERROR_ROW(code, text, section) {#code, text, section},
static const struct error errors[] = {DW_ERRORS(DW_ERROR_ROW)};
#undef DW_ERROR_ROW

static const struct error *find(int code)
{
    static const struct error success = {"DW_OK", "success", ""};
    static const struct error unknown = {"unknown error", "unknown error", ""};
    if (code >= 0)
        return &success;
    unsigned i = (unsigned)(-1 - code);
    return i < DW_ERROR_COUNT ? &errors[i] : &unknown;
}

const char *dw_error_text(int code)
{
    return find(code)->text;
}

const char *dw_error_name(int code)
{
    return find(code)->name;
}

const char *dw_error_section(int code)
{
    return find(code)->section;
}
