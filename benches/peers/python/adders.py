"""As many callers at the same time as Lockless is measured with, for a queue whose client waits for each call."""

from concurrent.futures import ThreadPoolExecutor

ADDERS = 64


def add_all(count, add_one):
    left = iter(range(count))

    def adder(_):
        for _job in left:
            add_one()

    with ThreadPoolExecutor(ADDERS) as threads:
        # To the end, so that an error of any of them is raised here.
        list(threads.map(adder, range(ADDERS)))
