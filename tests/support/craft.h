/* craft.h - message headers made by hand, so that they can be wrong: fields
 * that dw_begin would refuse, fields twice, unknown ones. */

#ifndef TESTS_CRAFT_H
#define TESTS_CRAFT_H

#include "dwire/message.h"
#include "text.h"

/* Starts one: the fixed part, and the array of fields open. */
void craft_begin(dw_writer *w, const dw_header *header, uint32_t body_len);

/* Adds a field: of type s, o or g; of type u; as it stands in header, if set. */
void craft_string(dw_writer *w, uint8_t field, const char *type, const char *value);
void craft_uint32(dw_writer *w, uint8_t field, uint32_t value);
void craft_fields(dw_writer *w, const dw_header *header);

/* Ends it and adds its bytes to out, up to where the body starts. */
void craft_finish(dw_writer *w, text *out);

/* All of it: the header of a message without a body. */
void craft_header(text *out, const dw_header *header);

/* Whether this value of a field is one that the specification reserves. */
bool craft_reserved(uint8_t field, const char *value);

#endif
