"""A Python queue as the benches drive it: `python driver.py NAME PORT` takes one order per line and answers each with one.

    add COUNT KEEP              puts so many no-op jobs into the queue           -> done SECONDS
    work COUNT CONCURRENCY      starts the workers until so many jobs have run   -> done SECONDS

NAME is a module beside this file with `add(port, count)` and `workers(port, concurrency)`, the
arguments of `python -m` that start workers as its documentation recommends. KEEP says nothing here: each queue keeps what it keeps by default.
"""

import importlib
import os
import signal
import subprocess
import sys
import tempfile
import time

POLL_S = 0.005
# A worker that runs nothing for so long runs nothing any more.
PATIENCE_S = 60
# Workers that were asked to end have so long.
STOP_S = 10
# The workers are a group of processes. When the driver lets go of the guard, or dies, the guard ends the whole group.
GUARD = """
import os, signal, sys
sys.stdin.read()
try:
    os.killpg(int(sys.argv[1]), signal.SIGKILL)
except ProcessLookupError:
    pass
"""


def work(peer, port, count, concurrency):
    """Every job appends one byte to a file, whatever process or thread it runs in: the least a job can do to be counted."""
    with tempfile.NamedTemporaryFile() as ran, tempfile.NamedTemporaryFile() as log:
        environment = os.environ | {
            "BENCH_RAN": ran.name,
            "BENCH_CONCURRENCY": str(concurrency),
            "PYTHONPATH": os.path.dirname(os.path.abspath(__file__)),
        }
        command = [sys.executable, "-m", *peer.workers(port, concurrency)]
        workers = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
        guard = subprocess.Popen(
            [sys.executable, "-c", GUARD, str(workers.pid)], stdin=subprocess.PIPE, start_new_session=True
        )
        try:
            return wait_for(ran.name, count, workers, log.name)
        finally:
            stop(workers, guard)


def wait_for(path, count, workers, log):
    """Seconds from the first job to the last, so that neither the workers' start nor their end counts."""
    begin, first, last, last_news = None, 0, 0, time.monotonic()
    while last < count:
        size = os.path.getsize(path)
        now = time.monotonic()
        if size > last:
            last, last_news = size, now
            if begin is None:
                begin, first = now, size
        if workers.poll() is not None or now - last_news > PATIENCE_S:
            with open(log, errors="replace") as text:
                raise RuntimeError(f"{last} of {count} jobs ran: {text.read()[-600:]}")
        if last < count:
            time.sleep(POLL_S)
    # What ran before the first look is not in the time, so it must not be in the count.
    return (last_news - begin) * count / max(count - first, 1)


def stop(workers, guard):
    """Asks the workers to end, then has the guard end what is left."""
    try:
        os.killpg(workers.pid, signal.SIGTERM)
        workers.wait(STOP_S)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        pass
    guard.stdin.close()
    guard.wait()
    workers.wait()


def main():
    name, port = sys.argv[1:]
    os.environ["BENCH_PORT"] = port
    peer = importlib.import_module(name)
    orders = {
        "add": lambda count, _keep: timed(peer.add, port, int(count)),
        "work": lambda count, concurrency: work(peer, port, int(count), int(concurrency)),
    }
    print("ready", flush=True)
    for line in sys.stdin:
        order, *words = line.split()
        try:
            print(f"done {orders[order](*words)}", flush=True)
        except Exception as error:
            print("failed", " ".join(str(error).split()), flush=True)


def timed(function, *arguments):
    begin = time.monotonic()
    function(*arguments)
    return time.monotonic() - begin


if __name__ == "__main__":
    main()
