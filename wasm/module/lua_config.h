/*
 * What differs from the stock configuration of Lua 5.1. `cargo xtask wasm` includes this file at the end of luaconf.h.
 *
 * WebAssembly has 32-bit pointers and longs. Lua takes its integer types from them, so a plain build would silently give
 * other results than Lua on a server: `string.format('%d', 2^40)` would be cut to 32 bits. Everything here makes the module compute
 * what Lua computes on x86-64.
 */
#ifndef LOCKLESS_LUA_CONFIG_H
#define LOCKLESS_LUA_CONFIG_H

#include <stdint.h>
#include <stdlib.h>

#include "numbers.h"

/* Positions and counts that C functions take from Lua. */
#undef LUA_INTEGER
#define LUA_INTEGER long long

/* What %d, %x and their like print. */
#undef LUA_INTFRMLEN
#undef LUA_INTFRM_T
#define LUA_INTFRMLEN "ll"
#define LUA_INTFRM_T long long

/* `tonumber('0xffffffffff')` and `tonumber(text, base)`. */
#define strtoul strtoull

/* A cast of a double that does not fit is undefined in C, and compilers make use of that. */
#undef lua_number2int
#undef lua_number2integer
#define lua_number2int(i, d) ((i) = number_to_int(d))
#define lua_number2integer(i, d) ((i) = number_to_integer(d))

/* Text and numbers, with short ways for what is common. */
#undef lua_number2str
#undef lua_str2number
#define lua_number2str(s, n) number_to_text(s, n)
#define lua_str2number(s, p) number_from_text(s, p)

/* WebAssembly has no longjmp. The host throws and catches instead: see protected.c. */
struct lua_State;
int protected_call(void (*f)(struct lua_State *, void *), struct lua_State *L, void *ud);
_Noreturn void protected_throw(void);
#undef LUAI_THROW
#undef LUAI_TRY
#undef luai_jmpbuf
#define luai_jmpbuf int
#define LUAI_THROW(L, c) protected_throw()
#define LUAI_TRY(L, c, a)                                                                                                       \
  if (protected_call(f, L, ud) && (c)->status == 0) (c)->status = -1;

#endif
