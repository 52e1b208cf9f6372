#include "resp.h"

#include <string.h>

#include "lua.h"
#include "numbers.h"
#include "result.h"

/* As many words and bytes as Redis takes in one command. */
#define WORDS_MAX (1 << 20)
#define BULK_MAX (512 << 20)
/* The model nests replies no deeper than 200. */
#define DEPTH_MAX 256

/* Reads `<first><digits>\r\n`. Returns the number, or -1. */
static long read_count(struct request *request, char first, long max) {
  const char *at = request->at, *end = request->end;
  if (at == end || *at++ != first) return -1;
  long long value = 0;
  const char *digits = at;
  while (at < end && *at >= '0' && *at <= '9') {
    value = value * 10 + (*at++ - '0');
    if (value > max) return -1;
  }
  if (at == digits || end - at < 2 || at[0] != '\r' || at[1] != '\n') return -1;
  request->at = at + 2;
  return (long)value;
}

unsigned request_begin(struct request *request, const char *bytes, size_t size, const char **problem) {
  request->at = bytes;
  request->end = bytes + size;
  long count = read_count(request, '*', WORDS_MAX);
  if (count > 0) return (unsigned)count;
  *problem = "ERR Protocol error: invalid multibulk length";
  return 0;
}

long request_next(struct request *request, const char **text, const char **problem) {
  long size = read_count(request, '$', BULK_MAX);
  const char *at = request->at;
  if (size < 0 || request->end - at < size + 2 || at[size] != '\r' || at[size + 1] != '\n') {
    *problem = "ERR Protocol error: invalid bulk length";
    return -1;
  }
  *text = at;
  request->at = at + size + 2;
  return size;
}

static void add_one_line(char first, const char *text, size_t size) {
  result_add(&first, 1);
  const char *end = text + size;
  while (text < end) {
    const char *stretch = text;
    while (text < end && *text != '\r' && *text != '\n') text++;
    result_add(stretch, (size_t)(text - stretch));
    if (text < end) {
      result_add(" ", 1);
      text++;
    }
  }
  result_add("\r\n", 2);
}

void reply_add_error(const char *text, size_t size) {
  add_one_line('-', text, size);
}

static void add_nil(void) {
  result_add("$-1\r\n", 5);
}

static void add_text(lua_State *L, int place) {
  size_t size;
  const char *text = lua_tolstring(L, place, &size);
  result_add_line('$', (long long)size);
  result_add(text, size);
  result_add("\r\n", 2);
}

static void add_number(double value) {
  /* A counter that Redis keeps exactly is rounded here: 2^63 - 1 must not become negative. */
  long long whole = value >= 0x1p63 ? 0x7fffffffffffffffLL : number_to_integer(value);
  result_add_line(':', whole);
}

/* Adds {err=...} and {ok=...}; returns whether the table was one. */
static int add_line_table(lua_State *L, int place) {
  static const char *const names[] = {"err", "ok"};
  for (int i = 0; i < 2; i++) {
    lua_pushstring(L, names[i]);
    lua_rawget(L, place);
    size_t size;
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : NULL;
    if (text) add_one_line(i == 0 ? '-' : '+', text, size);
    lua_pop(L, 1);
    if (text) return 1;
  }
  return 0;
}

static void add_value(lua_State *L, int place, int depth) {
  switch (lua_type(L, place)) {
    case LUA_TNUMBER: add_number(lua_tonumber(L, place)); return;
    case LUA_TSTRING: add_text(L, place); return;
    case LUA_TTABLE: break;
    default: add_nil(); return;
  }
  size_t count = lua_objlen(L, place);
  if (count == 0 && add_line_table(L, place)) return;
  if (depth == DEPTH_MAX || !lua_checkstack(L, 4)) {
    add_nil();
    return;
  }
  result_add_line('*', (long long)count);
  for (size_t i = 1; i <= count; i++) {
    lua_rawgeti(L, place, (int)i);
    add_value(L, lua_gettop(L), depth + 1);
    lua_pop(L, 1);
  }
}

void reply_add(lua_State *L, int place) {
  add_value(L, place < 0 ? lua_gettop(L) + 1 + place : place, 0);
}
