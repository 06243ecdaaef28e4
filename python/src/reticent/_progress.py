"""A bar of steps, on request. It shows counts and time, never a value."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def shown(progress: bool | Callable[[int, int], object]) -> Iterator[Callable[[int, int], object] | None]:
    """What to tell how far a run has come: a tqdm bar, the given function, or nothing."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield None
        return
    from tqdm.auto import tqdm

    with tqdm(unit="step") as bar:

        def tell(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        yield tell
