"""dramatiq with two processes, as it starts on two cores, and so many threads in each."""

import os

import dramatiq
from dramatiq.brokers.redis import RedisBroker

import adders
import ran

dramatiq.set_broker(RedisBroker(port=int(os.environ["BENCH_PORT"])))


@dramatiq.actor
def job(_payload):
    ran.say()


def add(_port, count):
    adders.add_all(count, lambda: job.send(ran.PAYLOAD))


def workers(_port, concurrency):
    return ["dramatiq", "peer_dramatiq", "--processes", "2", "--threads", str(concurrency)]
