/* convert.h - values between dwire and libdbus, by the iterators of both. */

#ifndef TESTS_CONVERT_H
#define TESTS_CONVERT_H

#include <dbus/dbus.h>

#include "dwire/message.h"
#include "support/text.h"

/* Appends the values that the reader has left, which are of that signature.
 * Arrays of fixed-size elements in one call where whole is set. */
void convert_values(dw_reader *r, DBusMessageIter *to, const char *signature, bool whole);

/* The text of the values of a message, as walk.h writes it. */
void convert_text(text *out, DBusMessage *m);

#endif
