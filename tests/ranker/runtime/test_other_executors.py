"""An executor of one's own: threads, which carry the same messages as processes do."""

import queue
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from toys import ROWS, TASK, Toy, truth

from ranker.progress import silent
from ranker.runs.collect import ask
from ranker.runs.gather import looked
from ranker.runtime.base import NOTHING, Request
from ranker.runtime.executors.supervision import handle_message, missing_work
from ranker.runtime.executors.visits import Inbox, Outbox, carry
from ranker.runtime.runtime import Runtime
from ranker.runtime.upkeep import verify
from ranker.sources.base import Machine, Shelf


class Threads:
    """Models at work in threads, two at a time."""

    def run(self, jobs, store, progress, known=NOTHING):
        """Each thread's messages come through one queue."""
        tasks = yield from missing_work(jobs, store, known)
        came, inboxes = queue.Queue(), [Inbox() for _ in tasks]
        with ThreadPoolExecutor(2) as pool:
            for place, task in enumerate(tasks):
                write = lambda content, place=place: came.put((place, content))  # noqa: E731
                pool.submit(carry, task.visit(Machine()), Shelf(), Outbox(write))
            left = len(tasks)
            while left:
                place, content = came.get(timeout=60)
                inboxes[place].take(content)
                for message in inboxes[place].messages():
                    done = handle_message(message, tasks[place], store, lambda rows: None)
                    if done is not None:
                        left -= 1
                        yield tasks[place].number, done


@pytest.mark.parametrize("bad", ["panics", "nothing"])
def test_another_transport_is_one_file(tmp_path, bad):
    """Threads give what processes do: answers in the store, and one line for a model that fails."""
    toys = [Toy("a"), Toy("bad", bad), Toy("c")]
    runtime = Runtime(store=tmp_path, executor=Threads(), progress=silent)
    found, failures = ask(looked(toys), TASK, [[Request(ROWS)]] * 3, runtime)
    assert (list(failures), len(found)) == (["bad"] * (bad == "panics"), 3 - (bad == "panics"))
    for name, told in found.items():
        assert np.array_equal(told.answers[0].predictions.probs, truth(name, ROWS))
    assert not verify(tmp_path)[1]
