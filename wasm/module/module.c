/*
 * What the host calls. The contract is in docs/wasm.md.
 *
 * The functions of entry.lua that the exports use stay at the bottom of Lua's stack, at the places named here.
 */
#include <string.h>
#include <strings.h>

#include "budget.h"
#include "exports.h"
#include "frames.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"
#include "memory.h"
#include "resp.h"
#include "result.h"
#include "sources.h"
#include "state.h"
#include "words.h"

enum { FCALL = 1, COMMAND, PUBLISHED, SAVE, LOAD, KEPT = LOAD };

/* Microseconds since 1970 as a double are exact up to here: the year 2255. */
#define NOW_MAX 0x1p53

static lua_State *L;

static int panic(lua_State *state) {
  (void)state;
  stop("an error outside of every protected call");
}

static void set_function(lua_State *S, const char *name, lua_CFunction function) {
  lua_pushcfunction(S, function);
  lua_setfield(S, -2, name);
}

static void open_library(lua_State *S, const char *name, lua_CFunction open) {
  lua_pushcfunction(S, open);
  lua_pushstring(S, name);
  lua_call(S, 1, 0);
}

/* Runs inside a protected call: makes the model, the host and the library, and returns what the exports call. */
static int build(lua_State *S) {
  open_library(S, "", luaopen_base);
  open_library(S, LUA_TABLIBNAME, luaopen_table);
  open_library(S, LUA_STRLIBNAME, luaopen_string);
  open_library(S, LUA_MATHLIBNAME, luaopen_math);
  lua_newtable(S);
  set_function(S, "getinfo", frames_getinfo);
  set_function(S, "words", words_pack);
  set_function(S, "put", state_put);
  set_function(S, "take_text", state_take_text);
  set_function(S, "take_number", state_take_number);
  lua_pushnumber(S, *(const double *)lua_touserdata(S, 1));
  lua_setfield(S, -2, "now_us");
  lua_pushlstring(S, library.text, library.size);
  lua_setfield(S, -2, "library_text");
  int model = lua_gettop(S);
  for (size_t i = 0; i < chunks_count; i++) {
    lua_settop(S, model);
    if (luaL_loadbuffer(S, chunks[i].text, chunks[i].size, chunks[i].name)) return lua_error(S);
    lua_pushvalue(S, model);
    lua_call(S, 1, KEPT);
  }
  return KEPT;
}

/* Puts the error on top of the stack into the result as plain text. */
static void error_to_result(void) {
  size_t size;
  const char *text = lua_tolstring(L, -1, &size);
  if (text) {
    result_add(text, size);
  } else {
    result_add("an error that is no text", 24);
  }
}

EXPORT("start") int export_start(unsigned memory_limit, double now_us) {
  result_clear();
  if (L) {
    result_is("the machine was started before");
    return 1;
  }
  memory_set_limit(memory_limit);
  L = lua_newstate(memory_allocate, NULL);
  lua_atpanic(L, panic);
  lua_pushcfunction(L, build);
  lua_pushlightuserdata(L, &now_us);
  if (lua_pcall(L, 1, KEPT, 0) == 0) return 0;
  error_to_result();
  return 1;
}

/* Refuses the request with an error reply. */
static int refuse(const char *problem) {
  lua_settop(L, KEPT);
  result_clear();
  reply_add_error(problem, strlen(problem));
  return 0;
}

/* The number of keys, when it is plain digits and there are so many words; -1 otherwise. */
static long read_keys_count(const char *text, long size, long words) {
  long count = 0;
  if (size < 1 || size > 7 || (size > 1 && text[0] == '0')) return -1;
  for (long i = 0; i < size; i++) {
    if (text[i] < '0' || text[i] > '9') return -1;
    count = count * 10 + (text[i] - '0');
  }
  return count <= words ? count : -1;
}

/* Pushes the next `count` words of the request as a list; returns why that can not be done, or NULL. */
static const char *push_list(struct request *request, long count) {
  const char *text, *problem = NULL;
  lua_createtable(L, (int)count, 0);
  for (int i = 1; i <= count; i++) {
    long size = request_next(request, &text, &problem);
    if (size < 0) return problem;
    lua_pushlstring(L, text, (size_t)size);
    lua_rawseti(L, -2, i);
  }
  return NULL;
}

static int is_word(const char *text, long size, const char *word) {
  return size == (long)strlen(word) && strncasecmp(text, word, (size_t)size) == 0;
}

/* Pushes the function to call and its arguments; sets *count to how many. */
static const char *push_call(struct request *request, unsigned words, double now_us, int *count) {
  struct request rest = *request;
  const char *problem = NULL, *name, *function, *keys_text;
  long size = request_next(&rest, &name, &problem);
  if (size < 0) return problem;
  int read_only = is_word(name, size, "FCALL_RO");
  int full = memory_is_full(L);
  /* The call that matters for speed goes straight to its function; whatever is unusual about it is left to entry.lua. */
  if (words >= 3 && (read_only || is_word(name, size, "FCALL"))) {
    long function_size = request_next(&rest, &function, &problem);
    if (function_size < 0) return problem;
    long keys_size = request_next(&rest, &keys_text, &problem);
    if (keys_size < 0) return problem;
    long keys = read_keys_count(keys_text, keys_size, (long)words - 3);
    if (keys >= 0) {
      lua_pushvalue(L, FCALL);
      lua_pushnumber(L, now_us);
      lua_pushlstring(L, function, (size_t)function_size);
      problem = push_list(&rest, keys);
      if (!problem) problem = push_list(&rest, (long)words - 3 - keys);
      if (!problem && rest.at != rest.end) problem = "ERR Protocol error: more than one command";
      lua_pushboolean(L, read_only);
      lua_pushboolean(L, full);
      *count = 6;
      return problem;
    }
  }
  lua_pushvalue(L, COMMAND);
  lua_pushnumber(L, now_us);
  problem = push_list(request, (long)words);
  if (!problem && request->at != request->end) problem = "ERR Protocol error: more than one command";
  lua_pushboolean(L, full);
  *count = 3;
  return problem;
}

EXPORT("call") int export_call(const char *bytes, size_t size, double now_us) {
  struct request request;
  const char *problem = NULL;
  int count = 0;
  result_clear();
  if (!(now_us >= 0 && now_us <= NOW_MAX)) return refuse("ERR the clock is not a time in microseconds since 1970");
  unsigned words = request_begin(&request, bytes, size, &problem);
  if (!words) return refuse(problem);
  budget_begin(L);
  problem = push_call(&request, words, (double)(long long)now_us, &count);
  int failed = problem == NULL && lua_pcall(L, count, 1, 0);
  budget_end();
  if (problem) return refuse(problem);
  if (failed && !lua_istable(L, -1)) {
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    lua_pushfstring(L, "ERR internal error: %s", text ? text : "an error that is no text");
    text = lua_tolstring(L, -1, &length);
    reply_add_error(text, length);
  } else {
    reply_add(L, -1);
  }
  lua_settop(L, KEPT);
  return 0;
}

EXPORT("published") int export_published(void) {
  result_clear();
  lua_pushvalue(L, PUBLISHED);
  int failed = lua_pcall(L, 0, 1, 0);
  if (failed) {
    error_to_result();
  } else {
    reply_add(L, -1);
  }
  lua_settop(L, KEPT);
  return failed;
}

/* Puts the saved keyspace into the result, or why there is none. */
static int save(void) {
  for (int pass = 0; pass < 2; pass++) {
    if (pass == 0) {
      state_begin_counting();
    } else {
      state_begin_writing();
    }
    lua_pushvalue(L, SAVE);
    if (lua_pcall(L, 0, 0, 0)) {
      result_clear();
      error_to_result();
      lua_settop(L, KEPT);
      return 1;
    }
  }
  state_finish();
  return 0;
}

EXPORT("save") int export_save(void) {
  result_clear();
  memory_lift_limit(L);
  int failed = save();
  memory_restore_limit();
  return failed;
}

EXPORT("load") int export_load(const char *bytes, size_t size, double now_us) {
  result_clear();
  const char *problem = state_open(bytes, size);
  if (!problem && !(now_us >= 0 && now_us <= NOW_MAX)) problem = "the clock is not a time in microseconds since 1970";
  if (problem) {
    result_is(problem);
    return 1;
  }
  memory_lift_limit(L);
  lua_pushvalue(L, LOAD);
  lua_pushnumber(L, (double)(long long)now_us);
  int failed = lua_pcall(L, 1, 0, 0);
  if (failed) error_to_result();
  lua_settop(L, KEPT);
  memory_settle(L);
  memory_restore_limit();
  return failed != 0;
}

EXPORT("set_budget") void export_set_budget(unsigned thousands) {
  budget_set(thousands);
}

EXPORT("set_memory_limit") void export_set_memory_limit(unsigned bytes) {
  memory_set_limit(bytes);
}

EXPORT("used") size_t export_used(void) {
  return memory_used();
}

EXPORT("alloc") void *export_alloc(size_t size) {
  return malloc(size ? size : 1);
}

EXPORT("release") void export_release(void *block) {
  free(block);
}
