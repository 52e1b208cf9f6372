"""Hosts the module with nothing but the package wasmtime, and schedules one job: all that a host of your own needs.

pip install wasmtime; python host.py
"""

import time
from pathlib import Path

from wasmtime import Engine, Func, FuncType, Instance, Module, Store, Trap, ValType

MODULE = Path(__file__).resolve().parents[2] / "wasm" / "lockless.wasm"
CELL = "example:{wasm}"
MEMORY_LIMIT = 64 << 20
BUDGET = 500_000  # thousands of Lua instructions


class Thrown(Exception):
    """What Lua throws. It must be told from every other exception, which ends the instance."""


class Stopped(Exception):
    """A call exceeded its budget, its memory or its stack. The instance is of no further use."""


class Lockless:
    def __init__(self, path):
        engine = Engine()
        self.store = Store(engine)
        i32 = ValType.i32()
        imports = {
            "lua_try": Func(self.store, FuncType([i32, i32, i32], [i32]), self._try),
            "lua_throw": Func(self.store, FuncType([], []), self._throw),
        }
        module = Module.from_file(engine, str(path))
        instance = Instance(self.store, module, [imports[needed.name] for needed in module.imports])
        self.exports = instance.exports(self.store)
        self._run("_initialize")
        if self._run("start", MEMORY_LIMIT, now_us()):
            raise RuntimeError(self._result().decode())
        self._run("set_budget", BUDGET)

    def _try(self, function, state, data):
        try:
            self._run("lua_call_protected", function, state, data)
            return 0
        except Thrown:
            return 1

    def _throw(self):
        raise Thrown

    def _run(self, name, *args):
        return self.exports[name](self.store, *args)

    def _result(self):
        place, size = self._run("result_ptr"), self._run("result_len")
        return bytes(self.exports["memory"].read(self.store, place, place + size))

    def call(self, *args):
        """Runs one command. An error reply is returned as an Exception."""
        parts = [arg if isinstance(arg, bytes) else str(arg).encode() for arg in args]
        request = b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
        place = self._run("alloc", len(request))
        if place == 0:
            raise MemoryError("the module has no memory for the request")
        self.exports["memory"].write(self.store, request, place)
        try:
            self._run("call", place, len(request), now_us())
        except Trap as trap:
            raise Stopped(self._result().decode()) from trap
        self._run("release", place)
        return parse(self._result())[0]

    def fcall(self, name, *args):
        return self.call("FCALL", f"lockless_{name}", 1, CELL, *args)


def now_us():
    return float(time.time_ns() // 1000)


def parse(reply):
    """The first value of a RESP2 reply, and the rest of the bytes."""
    line, _, rest = reply.partition(b"\r\n")
    kind, head = line[:1], line[1:]
    if kind == b":":
        return int(head), rest
    if kind == b"+":
        return head.decode(), rest
    if kind == b"-":
        return Exception(head.decode()), rest
    if kind == b"$":
        size = int(head)
        return (None, rest) if size < 0 else (rest[:size].decode(), rest[size + 2:])
    items = []
    for _ in range(int(head)):
        item, rest = parse(rest)
        items.append(item)
    return items, rest


def expect(what, got, wanted):
    print(f"{what}: {got}")
    if got != wanted:
        raise SystemExit(f"{what} was to be {wanted}")


cell = Lockless(MODULE)
cell.fcall("register", "node-1", 1, "PAIR", "en", "zh")
expect("dispatched", cell.fcall("dispatch", "session-1", "en", "zh", '{"text":"hello"}', "JOB", "job-1"), ["node-1", "job-1"])
refusal = cell.fcall("dispatch", "session-2", "en", "zh", "{}")
print(f"refused: {refusal}")
expect("its code", str(refusal).split(" ")[0], "NO_AVAILABLE_NODE")
expect("acknowledged", cell.fcall("ack", "job-1", "node-1"), "OK")
expect("completed", cell.fcall("complete", "job-1", "node-1", "finished"), "OK")
expect("audited", cell.fcall("check"), [])
