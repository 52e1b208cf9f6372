"""A Python queue as the benches drive it: `python driver.py NAME PORT` takes one order per line and answers each with one, `done SECONDS`.

    start CONCURRENCY PROCESSES  starts the workers; PROCESSES says nothing here
    add COUNT KEEP               puts so many no-op jobs into the queue
    drain COUNT                  waits until so many jobs that were put in before have run: from the first to the last
    flow COUNT KEEP              puts jobs in while the workers run: from the first add to the last job
    stop                         stops the workers

NAME is a module beside this file with `add(port, count)` and `workers(port, concurrency)`, the
arguments of `python -m` that start workers as its documentation recommends. KEEP says nothing here: each queue keeps what it keeps by default.
"""

import importlib
import os
import sys
import time

from crew import Crew


def timed(function, *arguments):
    begin = time.monotonic()
    function(*arguments)
    return time.monotonic() - begin


def main():
    name, port = sys.argv[1:]
    os.environ["BENCH_PORT"] = port
    peer = importlib.import_module(name)
    crew = Crew()

    def flow(count):
        before = crew.ran()
        begin = time.monotonic()
        peer.add(port, count)
        return crew.wait_for(before + count).last - begin

    def drain(count):
        seen = crew.wait_for(count)
        # What ran before the first look is not in the time, so it must not be in the count.
        return (seen.last - seen.first) * count / max(count - seen.ran_at_first, 1)

    orders = {
        "start": lambda concurrency, _processes: timed(crew.start, peer.workers(port, int(concurrency)), concurrency),
        "add": lambda count, _keep: timed(peer.add, port, int(count)),
        "drain": lambda count: drain(int(count)),
        "flow": lambda count, _keep: flow(int(count)),
        "stop": lambda: timed(crew.stop),
    }
    print("ready", flush=True)
    for line in sys.stdin:
        order, *words = line.split()
        try:
            print(f"done {orders[order](*words)}", flush=True)
        except Exception as error:
            print("failed", " ".join(str(error).split()), flush=True)
    crew.stop()


if __name__ == "__main__":
    main()
