"""Schedules one job with plain FCALLs: register, heartbeat, explain, dispatch, ack, complete, and a refusal.

pip install redis; REDIS_URL=redis://127.0.0.1:6379 python schedule.py
"""

import os
import uuid

import redis

CELL = "example:{python}"
client = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379"), decode_responses=True)


def call(function, *args):
    return client.fcall(f"lockless_{function}", 1, CELL, *args)


def fields(flat):
    """A flat field, value list as a dict."""
    return dict(zip(flat[::2], flat[1::2]))


def expect(what, got, wanted):
    print(f"{what}: {got}")
    if got != wanted:
        raise SystemExit(f"{what} was to be {wanted}")


# Each run is a new instance: what an earlier run left on these nodes is settled as lost.
run = uuid.uuid4().hex
for node in ("a", "b"):
    call("register", node, 1, "INSTANCE", run, "PAIR", "en", "zh")
    status = fields(call("heartbeat", node, "CPU", 12.5, "MEM", 40))
    expect(f"node {node}", (status["state"], status["held"]), ("ready", 0))

why = fields(call("explain", "session-1", "en", "zh"))
expect("nodes available", why["available"], 2)

# The caller names the job, so a dispatch that is sent twice is one job.
jobs = [f"{run}-{number}" for number in (1, 2)]
node, job = call("dispatch", "session-1", "en", "zh", '{"text":"hello"}', "JOB", jobs[0])
expect("dispatched", job, jobs[0])
again = call("dispatch", "session-1", "en", "zh", '{"text":"hello"}', "JOB", jobs[0])
expect("sent again", again, [node, job])
other, _ = call("dispatch", "session-2", "en", "zh", "{}", "JOB", jobs[1])

try:
    call("dispatch", "session-3", "en", "zh", "{}")
    raise SystemExit("a third job found a slot on two nodes with one each")
except redis.ResponseError as error:
    code, _, sentence = str(error).partition(" ")
    print(f"refused: {sentence}")
    expect("its code", code, "NO_AVAILABLE_NODE")

for its_node, its_job in ((node, jobs[0]), (other, jobs[1])):
    expect(f"{its_node} acknowledges", call("ack", its_job, its_node), "OK")
    expect(f"{its_node} completes", call("complete", its_job, its_node, "finished", "RESULT", '{"text":"你好"}'), "OK")
expect("the job", fields(call("job", jobs[0]))["status"], "finished")
