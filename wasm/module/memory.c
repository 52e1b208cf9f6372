#include "memory.h"

#include <stdlib.h>

#include "budget.h"
#include "lgc.h"
#include "lstate.h"
#include "stop.h"

#define DEFAULT_LIMIT (256u << 20)

/* What Lua does by itself: it lets the heap double, then collects twice as fast as the program allocates. */
#define USUAL_PAUSE 200
#define USUAL_PACE 200
/* A pace at which a collection is over before a heap of the limit's size has grown by a quarter. */
#define FAST_PACE 500

static unsigned long long limit = DEFAULT_LIMIT;
/* What was in use after the last load. */
static unsigned long long loaded;
static unsigned long long used;
static int lifted;
/* What was in use after the last full collection that the limit made necessary. */
static unsigned long long after_collection;

void memory_set_limit(unsigned bytes) {
  limit = bytes ? bytes : DEFAULT_LIMIT;
}

size_t memory_used(void) {
  return (size_t)used;
}

/* What a block takes in truth: the C library adds 4 bytes and rounds up to 16. Lua's blocks are small, so this counts. */
static unsigned long long taken(size_t size) {
  return size ? ((unsigned long long)size + 4 + 15) & ~15ULL : 0;
}

/* A quarter above the limit is for the call that crosses it. What was loaded may be there already, and calls must still be possible. */
static unsigned long long ceiling(void) {
  unsigned long long usual = limit + limit / 4, after_load = loaded + limit / 16;
  return usual > after_load ? usual : after_load;
}

void *memory_allocate(void *ud, void *block, size_t old_size, size_t new_size) {
  (void)ud;
  used -= taken(old_size);
  if (new_size == 0) {
    free(block);
    return NULL;
  }
  if (new_size > old_size) {
    spend((long long)((new_size - old_size) >> 6));
    /* Lua code could catch an error and go on half done, so this is none. */
    if (!lifted && used + taken(new_size) > ceiling()) stop("the call needs more memory than the limit allows");
  }
  void *moved = realloc(block, new_size);
  if (!moved) stop("the host has no more memory");
  used += taken(new_size);
  return moved;
}

/* Lua's collector does not know the limit: its next collection must begin before the heap is there, not when it has doubled. */
static void keep_collector_ahead(global_State *g) {
  /* Lua counts the bytes it asked for. */
  unsigned long long begin = (limit - limit / 16) * g->totalbytes / used;
  unsigned long long pause = g->estimate ? begin * 100 / g->estimate : USUAL_PAUSE;
  if (pause >= USUAL_PAUSE) {
    g->gcpause = USUAL_PAUSE;
    g->gcstepmul = USUAL_PACE;
    return;
  }
  g->gcpause = pause < 105 ? 105 : (int)pause;
  g->gcstepmul = FAST_PACE;
  if (g->gcstate == GCSpause && g->GCthreshold > begin) g->GCthreshold = begin;
}

int memory_is_full(lua_State *L) {
  keep_collector_ahead(G(L));
  if (used <= limit) return 0;
  if (used >= after_collection + limit / 16) {
    /* A full collection looks at everything: there is one only when enough was allocated since the last. */
    lua_gc(L, LUA_GCCOLLECT, 0);
    after_collection = used;
  } else {
    /* What the callers gave back must not stay counted because refused calls allocate nothing: each call collects a little. */
    lua_gc(L, LUA_GCSTEP, (int)(limit >> 20) + 1);
  }
  return used > limit;
}

void memory_lift_limit(lua_State *L) {
  /* Garbage would stand in the way of what is made now. */
  if (used > limit) lua_gc(L, LUA_GCCOLLECT, 0);
  lifted = 1;
}

void memory_restore_limit(void) {
  lifted = 0;
}

void memory_settle(lua_State *L) {
  lua_gc(L, LUA_GCCOLLECT, 0);
  loaded = after_collection = used;
}
