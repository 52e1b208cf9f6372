#include "frames.h"

#include "lauxlib.h"
#include "lua.h"

int frames_getinfo(lua_State *L) {
  lua_Debug frame;
  int level = luaL_checkint(L, 1);
  if (level < 0 || !lua_getstack(L, level, &frame) || !lua_getinfo(L, "Sl", &frame)) return 0;
  lua_createtable(L, 0, 3);
  lua_pushstring(L, frame.source);
  lua_setfield(L, -2, "source");
  lua_pushstring(L, frame.what);
  lua_setfield(L, -2, "what");
  lua_pushinteger(L, frame.currentline);
  lua_setfield(L, -2, "currentline");
  return 1;
}
