#include "budget.h"

#include "lua.h"

/* Lua asks once in so many instructions. */
#define INSTRUCTIONS 1000

#define UNLIMITED 0x7fffffffffffffffLL

long long budget_left = UNLIMITED;
static long long budget_of_a_call = UNLIMITED;

static void count(lua_State *L, lua_Debug *at) {
  (void)L;
  (void)at;
  spend(INSTRUCTIONS);
}

void budget_set(unsigned thousands) {
  budget_of_a_call = thousands ? (long long)thousands * 1000 : UNLIMITED;
}

void budget_begin(lua_State *L) {
  budget_left = budget_of_a_call;
  /* Setting the hook also starts its count anew, so that the same call is stopped at the same place however often it is repeated. */
  if (budget_of_a_call == UNLIMITED) {
    lua_sethook(L, NULL, 0, 0);
  } else {
    lua_sethook(L, count, LUA_MASKCOUNT, INSTRUCTIONS);
  }
}

void budget_end(void) {
  budget_left = UNLIMITED;
}
