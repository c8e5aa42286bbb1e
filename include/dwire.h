/* dwire.h - a D-Bus wire library: the umbrella header.
 *
 * dwire turns C values into D-Bus messages and back, and moves them over unix
 * sockets. It needs nothing but libc. Each part has a header of its own, from
 * the ground floor up; every part knows only the ones above it in this list. */

#ifndef DWIRE_H
#define DWIRE_H

#define DW_VERSION_MAJOR 0
#define DW_VERSION_MINOR 1
#define DW_VERSION_PATCH 0
#define DW_VERSION       "0.1.0"

#include "dwire/base.h"       /* error codes, string views, limits, allocator */
#include "dwire/signature.h"  /* check and iterate; size and alignment of each type */
#include "dwire/names.h"      /* UTF-8, object paths, interface, member, error and bus names */
#include "dwire/writer.h"     /* C values into bytes */
#include "dwire/reader.h"     /* bytes into C values */
#include "dwire/message.h"    /* headers: begin, finish, frame, parse, check */
#include "dwire/address.h"    /* server addresses */
#include "dwire/auth.h"       /* the SASL exchange, without I/O */
#include "dwire/connection.h" /* sockets: the only part that makes system calls */
#include "dwire/bus.h"        /* short forms of what every program on a bus does */

#endif
