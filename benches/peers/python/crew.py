"""The workers of a queue, as processes, and how many jobs they have run."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

POLL_S = 0.002
# Workers that run nothing for so long run nothing any more.
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

# When the first and the last job was seen, and how many there were at the first look.
Seen = namedtuple("Seen", "first ran_at_first last")


class Crew:
    """Every job appends one byte to a file, whatever process or thread it runs in: the least a job can do to be counted."""

    def __init__(self):
        self.workers = None

    def start(self, command, concurrency):
        self.file = tempfile.NamedTemporaryFile()
        self.log = tempfile.NamedTemporaryFile()
        environment = os.environ | {
            "BENCH_RAN": self.file.name,
            "BENCH_CONCURRENCY": concurrency,
            "PYTHONPATH": os.path.dirname(os.path.abspath(__file__)),
        }
        self.workers = subprocess.Popen(
            [sys.executable, "-m", *command], env=environment, stdout=self.log, stderr=self.log, start_new_session=True
        )
        self.guard = subprocess.Popen(
            [sys.executable, "-c", GUARD, str(self.workers.pid)], stdin=subprocess.PIPE, start_new_session=True
        )

    def ran(self):
        return os.path.getsize(self.file.name)

    def wait_for(self, count):
        """Waits until so many jobs have run since the start."""
        first, ran_at_first = None, 0
        ran, last = 0, time.monotonic()
        while ran < count:
            now_ran, now = self.ran(), time.monotonic()
            if now_ran > ran:
                ran, last = now_ran, now
                if first is None:
                    first, ran_at_first = now, now_ran
            if self.workers.poll() is not None or now - last > PATIENCE_S:
                with open(self.log.name, errors="replace") as text:
                    raise RuntimeError(f"{ran} of {count} jobs ran: {text.read()[-600:]}")
            if ran < count:
                time.sleep(POLL_S)
        return Seen(first, ran_at_first, last)

    def stop(self):
        """Asks the workers to end, then has the guard end what is left."""
        if self.workers is None:
            return
        try:
            os.killpg(self.workers.pid, signal.SIGTERM)
            self.workers.wait(STOP_S)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            pass
        self.guard.stdin.close()
        self.guard.wait()
        self.workers.wait()
        self.workers = None
        self.file.close()
        self.log.close()
