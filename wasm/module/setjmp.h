/* Lua includes this header; what it would need from it is in lua_config.h. wasi-libc has only one that refuses to compile. */
