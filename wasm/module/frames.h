#ifndef LOCKLESS_FRAMES_H
#define LOCKLESS_FRAMES_H

struct lua_State;

/* `getinfo(level)`: the part of debug.getinfo that error texts need: source, what and currentline, or nil. */
int frames_getinfo(struct lua_State *L);

#endif
