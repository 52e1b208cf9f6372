#ifndef LOCKLESS_WORDS_H
#define LOCKLESS_WORDS_H

struct lua_State;

/* `words(...)`: the arguments as a list of strings, and their number; nil and the number when one is neither a string nor a number. */
int words_pack(struct lua_State *L);

#endif
