/* service.h - a service by dwire, for others to call. What fails here fails the
 * test, or ends the process that serves. */

#ifndef TESTS_SERVICE_H
#define TESTS_SERVICE_H

#include "dwire/connection.h"
#include "peer.h"

/* Answers a call with its own values, read and written with the typed functions. */
int answer_echo(dw_conn *c, const dw_message *call);

/* Serves until the connection ends, whatever the object path: the methods Echo,
 * Say and Fail of peer.h, a property Level, introspection. Returns what ended it. */
int service_run(dw_conn *c);

#endif
