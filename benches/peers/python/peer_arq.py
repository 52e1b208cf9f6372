"""arq with its default settings but the number of jobs at a time."""

import asyncio
import os

from arq import create_pool
from arq.connections import RedisSettings

import ran
from adders import ADDERS


async def job(_context, _payload):
    ran.say()


class WorkerSettings:
    functions = [job]
    redis_settings = RedisSettings(port=int(os.environ.get("BENCH_PORT", "6379")))
    max_jobs = int(os.environ.get("BENCH_CONCURRENCY", "10"))


async def add_all(port, count):
    pool = await create_pool(RedisSettings(port=int(port)))
    left = iter(range(count))

    async def adder():
        for _ in left:
            await pool.enqueue_job("job", ran.PAYLOAD)

    await asyncio.gather(*(adder() for _ in range(ADDERS)))
    await pool.aclose()


def add(port, count):
    asyncio.run(add_all(port, count))


def workers(_port, _concurrency):
    return ["arq", "peer_arq.WorkerSettings"]
