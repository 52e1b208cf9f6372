/*
 * How much work one call may do, in Lua instructions. Functions written in C, which can work for long within a single instruction,
 * say what they did with `spend`.
 */
#ifndef LOCKLESS_BUDGET_H
#define LOCKLESS_BUDGET_H

#include "stop.h"

/* What is left; negative when the call must stop. */
extern long long budget_left;

static inline void spend(long long instructions) {
  budget_left -= instructions;
  if (__builtin_expect(budget_left < 0, 0)) stop("the call did more work than its budget allows");
}

struct lua_State;

/* The bound for each further call, in thousands of instructions; 0 for none. */
void budget_set(unsigned thousands);

/* Begins a call: it has the whole budget. */
void budget_begin(struct lua_State *L);

/* Ends it: what the module does on its own account is not counted. */
void budget_end(void);

#endif
