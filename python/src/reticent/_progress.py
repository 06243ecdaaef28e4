"""The progress of a run: a bar of steps or lines on request, and a line if planning
takes long. Counts and time, never a value."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from reticent._extras import needs


Tell = Callable[[int, int], object]

# Seconds of planning after which somebody who waits is told what for.
PATIENCE = 3.0

_PLANNING = "planning on simulated tables: no row is read, and the plan of this problem is remembered for the next run"


@contextmanager
def shown(progress: bool | Tell, verbose: bool = False) -> Iterator[Tell]:
    """The function that reports the progress of a run: to a tqdm bar, to the given function, or to
    nobody.

    The engine says 0 steps of 0 when the plan is made. `verbose` says in words what is done;
    without it a plan that takes longer than PATIENCE is announced by the logger `reticent`, as a
    warning.
    """
    with _bar(progress) as tell, _announced(progress is True or verbose) as planned:
        if verbose:
            print(f"[reticent] {_PLANNING}")
        begun = False

        def say(done: int, total: int) -> None:
            nonlocal begun
            planned()
            if total == 0:
                return
            if verbose and not begun:
                print(f"[reticent] training in {total} steps")
            begun = True
            if tell is not None:
                tell(done, total)

        yield say
        if verbose:
            print("[reticent] done")


@contextmanager
def _announced(is_said: bool) -> Iterator[Callable[[], object]]:
    """The function to call when planning is over: if that takes long and nothing else says so, a
    line says it."""
    if is_said:
        yield lambda: None
        return
    timer = threading.Timer(PATIENCE, logging.getLogger("reticent").warning, [_PLANNING])
    timer.daemon = True
    timer.start()
    try:
        yield timer.cancel
    finally:
        timer.cancel()


@contextmanager
def _bar(progress: bool | Tell) -> Iterator[Tell | None]:
    if callable(progress):
        yield progress
        return
    if not progress:
        yield None
        return
    tqdm = needs("tqdm.auto", "progress", "progress=True").tqdm
    # Before its first step a run is planned, on simulated tables.
    with tqdm(unit="step", desc="planning") as bar:

        def tell(done: int, total: int) -> None:
            bar.total = total
            bar.set_description("training", refresh=False)
            bar.update(done - bar.n)

        yield tell
