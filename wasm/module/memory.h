/* The memory of the Lua machine: counted, limited, and collected in time. */
#ifndef LOCKLESS_MEMORY_H
#define LOCKLESS_MEMORY_H

#include <stddef.h>

struct lua_State;

/* Takes the limit in bytes; 0 is the default. */
void memory_set_limit(unsigned bytes);

/* Lua's allocator. */
void *memory_allocate(void *ud, void *block, size_t old_size, size_t new_size);

size_t memory_used(void);

/* Before a call: collects what it can when memory is short. Returns whether more is in use than the limit allows. */
int memory_is_full(struct lua_State *L);

/*
 * For what the module does on its own account, saving and loading: a machine above its limit must be able to do both, or what it holds
 * is lost with it. Between these two only the host bounds the memory.
 */
void memory_lift_limit(struct lua_State *L);
void memory_restore_limit(void);

/* After a load: what it replaced is given back, and what it made may stay even where that takes more than it did when it was saved. */
void memory_settle(struct lua_State *L);

#endif
