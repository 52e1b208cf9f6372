#include "words.h"

#include "lua.h"
#include "numbers.h"

int words_pack(lua_State *L) {
  int count = lua_gettop(L), fits = count > 0;
  for (int i = 1; fits && i <= count; i++) {
    int kind = lua_type(L, i);
    if (kind == LUA_TNUMBER) {
      char text[40];
      lua_pushlstring(L, text, (size_t)number_formatted(text, "%.17g", lua_tonumber(L, i)));
      lua_replace(L, i);
    } else {
      fits = kind == LUA_TSTRING;
    }
  }
  if (fits) {
    lua_createtable(L, count, 0);
    lua_insert(L, 1);
    for (int i = count; i > 0; i--) lua_rawseti(L, 1, i);
  } else {
    lua_settop(L, 0);
    lua_pushnil(L);
  }
  lua_pushinteger(L, count);
  return 2;
}
