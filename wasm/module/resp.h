/* RESP2: the command that comes in, the reply that goes out. */
#ifndef LOCKLESS_RESP_H
#define LOCKLESS_RESP_H

#include <stddef.h>

struct lua_State;

/* A request that is being read; nothing outside of it is ever looked at. */
struct request {
  const char *at;
  const char *end;
};

/* Reads the head of an array of bulk strings. Returns how many there are, or 0 with the reason in *problem. */
unsigned request_begin(struct request *request, const char *bytes, size_t size, const char **problem);

/* Reads the next bulk string: its length, or -1 with the reason in *problem; *text is where it begins. */
long request_next(struct request *request, const char **text, const char **problem);

/* Adds the value at a place of the stack to the result, in the model's form: number, string, false, {ok=}, {err=} or a list. */
void reply_add(struct lua_State *L, int place);

/* Adds an error line, on one line whatever it contains. */
void reply_add_error(const char *text, size_t size);

#endif
