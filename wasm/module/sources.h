/* The Lua texts inside the module; `cargo xtask wasm` writes sources.c from the files. */
#ifndef LOCKLESS_SOURCES_H
#define LOCKLESS_SOURCES_H

#include <stddef.h>

struct source {
  const char *name;
  const char *text;
  size_t size;
};

/* The chunks in the order they run, each with the table they share as its argument. The last returns what the module calls. */
extern const struct source chunks[];
extern const size_t chunks_count;

/* The library of Functions. */
extern const struct source library;

#endif
