/*
 * The bytes of a saved keyspace: a mark with the version, what the model writes, and a checksum.
 *
 * The model (redis/state.lua) decides what is written; here are its words. A text is its length in 4 bytes and its bytes, a number is a
 * double in 8, the lowest byte first; the checksum is the CRC-32 of everything before it.
 */
#ifndef LOCKLESS_STATE_H
#define LOCKLESS_STATE_H

#include <stddef.h>

struct lua_State;

/* `put(...)` writes texts and numbers. The first pass only counts, so that the result is made in one piece. */
int state_put(struct lua_State *L);
void state_begin_counting(void);
void state_begin_writing(void);
void state_finish(void);

/* `take_text()` and `take_number()` read them again; they raise an error where there is none. */
int state_take_text(struct lua_State *L);
int state_take_number(struct lua_State *L);

/* Whether these bytes are a whole state; if not, returns why. */
const char *state_open(const char *bytes, size_t size);

#endif
