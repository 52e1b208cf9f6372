"""Celery with its default pool of processes, Redis as the broker, and no result backend, as it comes."""

import os

from celery import Celery

import adders
import ran

app = Celery("peer_celery", broker=f"redis://127.0.0.1:{os.environ['BENCH_PORT']}/0")


@app.task
def job(_payload):
    ran.say()


def add(_port, count):
    adders.add_all(count, lambda: job.delay(ran.PAYLOAD))


def workers(_port, concurrency):
    worker = ["-A", "peer_celery", "worker", "--concurrency", str(concurrency), "--loglevel", "ERROR"]
    return ["celery", *worker]
