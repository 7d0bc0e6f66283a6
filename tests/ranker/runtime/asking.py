"""Calls of the flow on an entry of a store: missing rows are asked for and kept, then all are read."""

from contextlib import nullcontext
from dataclasses import dataclass

from ranker.errors import ModelError
from ranker.runtime.base import Job, Request
from ranker.runtime.runtime import Runtime
from ranker.runtime.store import Store, collect_blocks
from ranker.runtime.worker import answer, key_of, run_job
from ranker.runtime.worker import find_work as orders_of
from ranker.sources.base import Machine, ResourceCache, Source
from ranker.tasks.classes import ClassificationTask


def attributions(entry, examples, attribute):
    """The attributions of examples; `attribute` is called with those that are missing, and yields them one by one."""
    missing = entry.missing(examples)
    if missing:
        entry.prepare()
        with collect_blocks(missing, entry.add) as keep:
            for row in attribute(list(missing)):
                keep([row])
    return entry.attributions(examples)


def predictions(entry, examples, predict):
    """The answers to examples; `predict` is called with those that are missing, and yields blocks of answers."""
    missing = entry.missing(examples)
    if missing:
        entry.prepare()
        with collect_blocks(missing, entry.add) as keep:
            for block in predict(list(missing)):
                keep(block)
    return entry.predictions(examples)


@dataclass(frozen=True)
class Subject:
    """One model (`source`) with its task, machine and store, asked in this process."""

    source: Source
    task: ClassificationTask
    machine: Machine = Machine()
    store: Store | None = None

    def job(self, *requests):
        """Return the work of these requests."""
        return Job(self.source, self.task, requests, self.machine)

    def key(self, settings):
        """Under which its answers, or attributions, are kept."""
        settled = settings and settings.settled(self.task.labels, self.task.shortcut)
        return key_of(self.job(), settled, ResourceCache())

    def made_of(self, examples, settings=None, advance=lambda done: None):
        """Answer requests on examples, through the store if there is one."""
        request = Request(examples, settings)
        with Runtime(store=self.store).open_store() as store:
            done = run_job(self.job(request), store, ResourceCache(), lambda label, total: nullcontext(advance))
            if done.failure:
                raise ModelError(done.failure)
            answered = answer(store, done.keys[0], request)
            store.close(done.keys[0])
        return answered

    def predictions(self, examples, advance=lambda done: None):
        """Return the model's answers."""
        return self.made_of(examples, None, advance).predictions

    def attributions(self, examples, settings, advance=lambda done: None):
        """Return the model's attributions."""
        return self.made_of(examples, settings, advance).attributions

    def missing(self, examples, settings=None):
        """Count the examples that the store does not know."""
        with Runtime(store=self.store).open_store() as store:
            done, orders = orders_of(self.job(Request(examples, settings)), store, ResourceCache())
            for key in done.keys:
                store.close(key)
        return sum(len(order.examples) for order in orders)
