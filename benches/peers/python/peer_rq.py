"""RQ with its default worker, which forks for every job, in a worker pool."""

import redis
import rq

import adders
import ran


def job(_payload):
    ran.say()


def add(port, count):
    queue = rq.Queue(connection=redis.Redis(port=int(port)))
    adders.add_all(count, lambda: queue.enqueue("peer_rq.job", ran.PAYLOAD))


def workers(port, concurrency):
    url = f"redis://127.0.0.1:{port}"
    pool = ["worker-pool", "--num-workers", str(concurrency), "--url", url, "--quiet", "default"]
    return ["rq.cli", *pool]
