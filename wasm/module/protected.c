/*
 * Lua's errors, thrown and caught by the host.
 *
 * `lua_try` calls back into `lua_call_protected`; when the host's own exception comes out of that, which only `lua_throw` makes, it
 * returns 1. Every other trap is not for Lua to catch: it ends the whole call.
 */
#include "lua.h"

__attribute__((import_module("env"), import_name("lua_try"))) int host_try(void (*f)(struct lua_State *, void *),
                                                                           struct lua_State *L, void *ud);
__attribute__((import_module("env"), import_name("lua_throw"), noreturn)) void host_throw(void);

__asm__(".globaltype __stack_pointer, i32\n");

/* The stack of what C keeps in memory, which the host does not unwind. */
static inline void *stack_pointer(void) {
  void *p;
  __asm__ volatile("global.get __stack_pointer\n\tlocal.set %0" : "=r"(p));
  return p;
}

static inline void set_stack_pointer(void *p) {
  __asm__ volatile("local.get %0\n\tglobal.set __stack_pointer" ::"r"(p) : "memory");
}

/* Returns whether an error was thrown. */
int protected_call(void (*f)(struct lua_State *, void *), struct lua_State *L, void *ud) {
  void *before = stack_pointer();
  if (!host_try(f, L, ud)) return 0;
  set_stack_pointer(before);
  return 1;
}

_Noreturn void protected_throw(void) {
  host_throw();
}

__attribute__((export_name("lua_call_protected"))) void lua_call_protected(void (*f)(struct lua_State *, void *),
                                                                           struct lua_State *L, void *ud) {
  f(L, ud);
}
