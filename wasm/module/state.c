#include "state.h"

#include <stdint.h>
#include <string.h>

#include "lauxlib.h"
#include "lua.h"
#include "result.h"

/* The mark without its version, and the version. */
#define MARK "LOCKLESS STATE "
#define VERSION "1\n"
#define HEAD (sizeof MARK - 1 + sizeof VERSION - 1)
#define CHECKSUM 4

static int counting;
static size_t counted;
static struct {
  const char *at;
  const char *end;
} input;

static uint32_t crc32(const char *bytes, size_t size) {
  static uint32_t table[256];
  if (table[1] == 0) {
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t c = i;
      for (int bit = 0; bit < 8; bit++) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
      table[i] = c;
    }
  }
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < size; i++) crc = table[(crc ^ (unsigned char)bytes[i]) & 0xff] ^ (crc >> 8);
  return ~crc;
}

void state_begin_counting(void) {
  counting = 1;
  counted = HEAD + CHECKSUM;
}

void state_begin_writing(void) {
  counting = 0;
  result_reserve(counted);
  result_add(MARK VERSION, HEAD);
}

void state_finish(void) {
  uint32_t crc = crc32(result_bytes(), result_size());
  result_add(&crc, sizeof crc);
}

int state_put(lua_State *L) {
  int count = lua_gettop(L);
  for (int i = 1; i <= count; i++) {
    if (lua_type(L, i) == LUA_TNUMBER) {
      double number = lua_tonumber(L, i);
      counted += sizeof number;
      if (!counting) result_add(&number, sizeof number);
    } else {
      size_t size;
      const char *text = luaL_checklstring(L, i, &size);
      uint32_t length = (uint32_t)size;
      counted += sizeof length + size;
      if (!counting) {
        result_add(&length, sizeof length);
        result_add(text, size);
      }
    }
  }
  return 0;
}

static size_t left(void) {
  return (size_t)(input.end - input.at);
}

int state_take_text(lua_State *L) {
  uint32_t length;
  if (left() < sizeof length) return luaL_error(L, "the state ends too early");
  memcpy(&length, input.at, sizeof length);
  input.at += sizeof length;
  if (left() < length) return luaL_error(L, "the state ends too early");
  lua_pushlstring(L, input.at, length);
  input.at += length;
  return 1;
}

int state_take_number(lua_State *L) {
  double number;
  if (left() < sizeof number) return luaL_error(L, "the state ends too early");
  memcpy(&number, input.at, sizeof number);
  input.at += sizeof number;
  lua_pushnumber(L, number);
  return 1;
}

const char *state_open(const char *bytes, size_t size) {
  if (size < sizeof MARK - 1 || memcmp(bytes, MARK, sizeof MARK - 1) != 0) return "this is not a saved state of Lockless";
  if (size < HEAD + CHECKSUM) return "the state is damaged: it ends too early";
  if (memcmp(bytes + sizeof MARK - 1, VERSION, sizeof VERSION - 1) != 0) return "the state was saved by another version, which this one can not read";
  uint32_t crc;
  memcpy(&crc, bytes + size - CHECKSUM, sizeof crc);
  if (crc != crc32(bytes, size - CHECKSUM)) return "the state is damaged: its checksum is wrong";
  input.at = bytes + HEAD;
  input.end = bytes + size - CHECKSUM;
  return NULL;
}
