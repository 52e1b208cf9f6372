//! The changes to Lua's own sources. Each says why, and each must find its place exactly once.

use anyhow::{Result, bail};

/// One change: in `file`, `from` becomes `to`.
pub(super) struct Edit {
    pub(super) file: &'static str,
    pub(super) why: &'static str,
    pub(super) from: &'static str,
    pub(super) to: &'static str,
}

const fn edit(file: &'static str, why: &'static str, from: &'static str, to: &'static str) -> Edit {
    Edit {
        file,
        why,
        from,
        to,
    }
}

const BUDGET: &str = "its functions say what they spend";
const SPENT: &str = "work within one instruction counts against the budget";

/// All changes, in the order they are made.
pub(super) const EDITS: [Edit; 44] = [
    edit(
        "luaconf.h",
        "64-bit integers, defined conversions, errors through the host",
        "** without modifying the main part of the file.\n*/\n",
        "** without modifying the main part of the file.\n*/\n#include \"lua_config.h\"\n",
    ),
    edit(
        "ldo.c",
        "compiled code is refused, as in Redis: it is not checked and could do anything",
        "((c == LUA_SIGNATURE[0]) ? luaU_undump : luaY_parser)",
        "(luaY_parser)",
    ),
    edit(
        "lstrlib.c",
        "what can not be loaded need not be made",
        "  {\"dump\", str_dump},\n",
        "",
    ),
    edit(
        "lbaselib.c",
        "tonumber(text, base) is a 64-bit number on a server",
        "unsigned long n;",
        "unsigned long long n;",
    ),
    edit(
        "lmathlib.c",
        "this C library leaves the exponent of infinity as it finds it; others say 0",
        "  int e;\n",
        "  int e = 0;\n",
    ),
    edit(
        "lstrlib.c",
        "a position that does not fit 32 bits is beyond every string",
        "static ptrdiff_t posrelat (ptrdiff_t pos, size_t len) {\n",
        "static ptrdiff_t posrelat (lua_Integer pos, size_t len) {\n  \
         if (pos > PTRDIFF_MAX) pos = PTRDIFF_MAX; else if (pos < PTRDIFF_MIN) pos = PTRDIFF_MIN;\n",
    ),
    edit(
        "lstrlib.c",
        "%d of what does not fit",
        "(LUA_INTFRM_T)luaL_checknumber(L, arg)",
        "number_to_integer(luaL_checknumber(L, arg))",
    ),
    edit(
        "lstrlib.c",
        "%u and %x of what does not fit",
        "(unsigned LUA_INTFRM_T)luaL_checknumber(L, arg)",
        "number_to_unsigned(luaL_checknumber(L, arg))",
    ),
    edit(
        "lstrlib.c",
        "%c of what does not fit",
        "sprintf(buff, form, (int)luaL_checknumber(L, arg));",
        "sprintf(buff, form, number_to_int(luaL_checknumber(L, arg)));",
    ),
    edit(
        "lstrlib.c",
        "a short way for whole numbers",
        "sprintf(buff, form, (double)luaL_checknumber(L, arg));",
        "number_formatted(buff, form, (double)luaL_checknumber(L, arg));",
    ),
    edit(
        "lvm.c",
        "there is one locale, in which strings compare by their bytes; this does it in one pass",
        "static int l_strcmp (const TString *ls, const TString *rs) {\n",
        "static int l_strcmp (const TString *ls, const TString *rs) {\n  \
         size_t ll0 = ls->tsv.len, lr0 = rs->tsv.len, shorter = ll0 < lr0 ? ll0 : lr0;\n  \
         if (shorter >= 64) spend((long long)(shorter >> 6));\n  \
         int difference = memcmp(getstr(ls), getstr(rs), shorter);\n  \
         return difference != 0 ? difference : (ll0 > lr0) - (ll0 < lr0);\n",
    ),
    edit(
        "lvm.c",
        BUDGET,
        "#include \"lvm.h\"\n",
        "#include \"lvm.h\"\n#include \"budget.h\"\n",
    ),
    edit(
        "lstring.c",
        BUDGET,
        "#include \"lstring.h\"\n",
        "#include \"lstring.h\"\n#include \"budget.h\"\n",
    ),
    edit(
        "lstring.c",
        SPENT,
        "  size_t l1;\n  for (l1=l;",
        "  size_t l1;\n  if (l >= 64) spend((long long)(l >> 6));\n  for (l1=l;",
    ),
    edit(
        "ltablib.c",
        BUDGET,
        "#include \"lualib.h\"\n",
        "#include \"lualib.h\"\n#include \"budget.h\"\n",
    ),
    edit(
        "ltablib.c",
        SPENT,
        "      for (i = e; i > pos; i--) {  /* move up elements */\n",
        "      spend((long long)e - pos);\n      for (i = e; i > pos; i--) {  /* move up elements */\n",
    ),
    edit(
        "ltablib.c",
        SPENT,
        "  for ( ;pos<e; pos++) {\n",
        "  spend((long long)e - pos);\n  for ( ;pos<e; pos++) {\n",
    ),
    edit(
        "ltablib.c",
        SPENT,
        "static int sort_comp (lua_State *L, int a, int b) {\n",
        "static int sort_comp (lua_State *L, int a, int b) {\n  spend(4);\n",
    ),
    edit(
        "lstrlib.c",
        BUDGET,
        "#include \"lualib.h\"\n",
        "#include \"lualib.h\"\n#include \"budget.h\"\n",
    ),
    edit(
        "lstrlib.c",
        SPENT,
        "static int singlematch (int c, const char *p, const char *ep) {\n",
        "static int singlematch (int c, const char *p, const char *ep) {\n  spend(1);\n",
    ),
    edit(
        "lstrlib.c",
        SPENT,
        "  init: /* using goto's to optimize tail recursion */\n",
        "  init: /* using goto's to optimize tail recursion */\n  spend(1);\n",
    ),
    edit(
        "lstrlib.c",
        SPENT,
        "  int sig = 1;\n",
        "  int sig = 1;\n  spend(ec - p);\n",
    ),
    edit(
        "lstrlib.c",
        SPENT,
        "    while (++s < ms->src_end) {\n",
        "    while (++s < ms->src_end) {\n      spend(1);\n",
    ),
    edit(
        "lstrlib.c",
        SPENT,
        "    l2--;  /* 1st char will be checked by `memchr' */\n",
        "    l2--;  /* 1st char will be checked by `memchr' */\n    spend((long long)(l1 >> 6));\n",
    ),
    edit(
        "lstrlib.c",
        SPENT,
        "      init++;   /* 1st char is already checked */\n",
        "      init++;   /* 1st char is already checked */\n      spend(1 + (long long)(l2 >> 4));\n",
    ),
    edit(
        "lstrlib.c",
        SPENT,
        "  while (n-- > 0)\n    luaL_addlstring(&b, s, l);\n",
        "  if (n > 0) spend(n);\n  while (n-- > 0)\n    luaL_addlstring(&b, s, l);\n",
    ),
    edit(
        "ltablib.c",
        SPENT,
        "  for (i=1; i <= n; i++) {\n    lua_pushvalue(L, 2);  /* function */\n",
        "  for (i=1; i <= n; i++) {\n    spend(1);\n    lua_pushvalue(L, 2);  /* function */\n",
    ),
    edit(
        "ltablib.c",
        SPENT,
        "  while (lua_next(L, 1)) {\n    lua_pushvalue(L, 2);  /* function */\n",
        "  while (lua_next(L, 1)) {\n    spend(1);\n    lua_pushvalue(L, 2);  /* function */\n",
    ),
    edit(
        "ltablib.c",
        SPENT,
        "  while (lua_next(L, 1)) {\n    lua_pop(L, 1);  /* remove value */\n",
        "  while (lua_next(L, 1)) {\n    spend(1);\n    lua_pop(L, 1);  /* remove value */\n",
    ),
    edit(
        "ltablib.c",
        SPENT,
        "static void addfield (lua_State *L, luaL_Buffer *b, int i) {\n",
        "static void addfield (lua_State *L, luaL_Buffer *b, int i) {\n  spend(1);\n",
    ),
    edit(
        "ltable.c",
        BUDGET,
        "#include \"ltable.h\"\n",
        "#include \"ltable.h\"\n#include \"budget.h\"\n",
    ),
    edit(
        "ltable.c",
        "empty places that `next` passes over count against the budget, a few of them as one instruction",
        "  int i = findindex(L, t, key);  /* find original element */\n",
        "  int i = findindex(L, t, key);  /* find original element */\n  int first = i + 1;\n",
    ),
    edit(
        "ltable.c",
        SPENT,
        "      setnvalue(key, cast_num(i+1));\n",
        "      spend((i - first) >> 2);\n      setnvalue(key, cast_num(i+1));\n",
    ),
    edit(
        "ltable.c",
        SPENT,
        "      setobj2s(L, key, key2tval(gnode(t, i)));\n",
        "      spend((i + t->sizearray - first) >> 2);\n      setobj2s(L, key, key2tval(gnode(t, i)));\n",
    ),
    edit(
        "ltable.c",
        SPENT,
        "  return 0;  /* no more elements */\n",
        "  spend((i + t->sizearray - first) >> 2);\n  return 0;  /* no more elements */\n",
    ),
    edit(
        "ltable.c",
        SPENT,
        "      while (!ttisnil(luaH_getnum(t, i))) i++;\n",
        "      while (!ttisnil(luaH_getnum(t, i))) i++;\n      spend(i);\n",
    ),
    edit(
        "lbaselib.c",
        BUDGET,
        "#include \"lualib.h\"\n",
        "#include \"lualib.h\"\n#include \"budget.h\"\n",
    ),
    edit(
        "lbaselib.c",
        SPENT,
        "    n = strtoul(s1, &s2, base);\n",
        "    spend((long long)(strlen(s1) >> 2));\n    n = strtoul(s1, &s2, base);\n",
    ),
    edit(
        "lbaselib.c",
        SPENT,
        "  lua_rawgeti(L, 1, i);  /* push arg[i] (avoiding overflow problems) */\n",
        "  spend(n);\n  lua_rawgeti(L, 1, i);  /* push arg[i] (avoiding overflow problems) */\n",
    ),
    edit(
        "lobject.c",
        BUDGET,
        "#include \"lvm.h\"\n",
        "#include \"lvm.h\"\n#include \"budget.h\"\n",
    ),
    edit(
        "lobject.c",
        SPENT,
        "  *result = lua_str2number(s, &endptr);\n",
        "  spend((long long)(strlen(s) >> 2));\n  *result = lua_str2number(s, &endptr);\n",
    ),
    edit(
        "lvm.c",
        SPENT,
        "        for (j = 0; j < b; j++) {\n          if (j < n) {\n",
        "        spend(b >> 2);\n        for (j = 0; j < b; j++) {\n          if (j < n) {\n",
    ),
    edit(
        "lstrlib.c",
        SPENT,
        "  luaL_checkstack(L, n, \"string slice too long\");\n",
        "  luaL_checkstack(L, n, \"string slice too long\");\n  spend(n >> 2);\n",
    ),
    edit(
        "lstrlib.c",
        SPENT,
        "  if (find && (lua_toboolean(L, 4) ||  /* explicit request? */\n",
        "  spend((long long)(l2 >> 6));\n  if (find && (lua_toboolean(L, 4) ||  /* explicit request? */\n",
    ),
];

/// Makes the changes that belong to this file.
pub(super) fn apply(file: &str, text: &str) -> Result<String> {
    let mut text = text.to_owned();
    for edit in EDITS.iter().filter(|edit| edit.file == file) {
        let found = text.matches(edit.from).count();
        if found != 1 {
            bail!(
                "{file} of Lua is not as expected ({}): {found} places instead of one have\n{}",
                edit.why,
                edit.from
            );
        }
        text = text.replacen(edit.from, edit.to, 1);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::apply;

    #[test]
    fn an_edit_that_finds_no_place_is_an_error() {
        let error = apply("ldo.c", "something else").unwrap_err().to_string();
        assert!(
            error.contains("0 places instead of one"),
            "the error was: {error}"
        );
    }

    #[test]
    fn an_edit_that_finds_two_places_is_an_error() {
        let twice = "unsigned long n; unsigned long n;";
        let error = apply("lbaselib.c", twice).unwrap_err().to_string();
        assert!(
            error.contains("2 places instead of one"),
            "the error was: {error}"
        );
    }

    #[test]
    fn other_files_stay_as_they_are() {
        assert_eq!(apply("lzio.c", "text").unwrap(), "text");
    }
}
