"""The executors' side: batches of Arrow in, batches of Arrow out. The engine does the rest.

Nothing here prints, and no error quotes a row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import version
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from reticent import _reticent

# Numbers for attempts at one part of a table; Spark counts all tasks of an application.
ATTEMPTS = 2**32
# The worker of the run at hand: it knows every block and holds the map of a kernel model, so it is
# made once for each process.
_kept: tuple[str, _reticent.BlockWorker] | None = None


class Inline:
    """A value that travels with its task, in the place of a broadcast."""

    def __init__(self, value: bytes) -> None:
        self.value = value

    def destroy(self) -> None:
        """Nothing is kept anywhere."""


def encode(batches: Iterator[pa.RecordBatch], *, setup: str, carried: dict[str, str]) -> Iterator[pa.RecordBatch]:
    """Rows as bytes, each with the task that read it and the columns that it brings: the key by
    which it is spread, its unit."""
    encoder = _reticent.RowEncoder(setup)
    task = TaskContext.get()
    assert task is not None
    origin = task.partitionId() * ATTEMPTS + task.taskAttemptId() % ATTEMPTS
    at_a_time = encoder.rows_at_a_time()
    for whole in batches:
        for first in range(0, len(whole), at_a_time):
            batch = whole.slice(first, at_a_time)
            rows = encoder.encode(batch).append_column("origin", pa.array([origin] * len(batch), pa.int64()))
            for name, source in carried.items():
                rows = rows.append_column(name, batch.column(batch.schema.get_field_index(source)))
            yield rows


def pack(batches: Iterator[pa.RecordBatch], *, setup: str) -> Iterator[pa.RecordBatch]:
    """Sorted rows as blocks, each with its digest."""
    packer = _reticent.BlockPacker(setup)
    origins: set[int] = set()
    for batch in batches:
        origins.update(batch.column("origin").unique().to_pylist())
        yield _described(packer.push(batch.select([name for name in batch.schema.names if name != "origin"])), origins)
    # If there was a row there is a block left, so the last one knows all origins.
    yield _described(packer.finish(), origins)


def _described(blocks: pa.RecordBatch, origins: set[int]) -> pa.RecordBatch:
    """Blocks with their digests and the tasks whose rows came so far."""
    column = blocks.column(3)
    digests = [hashlib.blake2b(column[i].as_buffer(), digest_size=16).digest() for i in range(len(column))]
    known = pa.array([sorted(origins)] * len(column), pa.list_(pa.int64()))
    arrays = [*blocks.columns[:3], pa.array(digests, pa.binary()), known, column]
    return pa.RecordBatch.from_arrays(arrays, names=["bucket", "part", "records", "digest", "origins", "block"])


def mixed(origins: Iterable[Sequence[int]]) -> bool:
    """Whether two attempts at one part of the table are among the origins of all blocks.

    A part that is read again may give other rows. Blocks of the first attempt beside blocks of the
    second may then hold a row twice, or not at all, and no digest tells.
    """
    attempts: dict[int, int] = {}
    return any(attempts.setdefault(o // ATTEMPTS, o % ATTEMPTS) != o % ATTEMPTS for some in origins for o in some)


def answer(
    batches: Iterator[pa.RecordBatch], *, run: str, setup: Any, catalogue: Any, question: Any, threads: int
) -> Iterator[pa.RecordBatch]:
    """The sums of a partition's blocks, as one row."""
    global _kept
    if _kept is None or _kept[0] != run:
        _kept = (run, _reticent.BlockWorker(setup.value, catalogue.value, threads))
    yield pa.RecordBatch.from_pydict({"sums": pa.array([_kept[1].answer(question.value, batches)], pa.binary())})


def sums(row: Any) -> bytes:
    """The bytes in a partition's row."""
    return bytes(row[0])


def merge(a: bytes, b: bytes) -> bytes:
    """Two partial sums as one."""
    return _reticent.merge_sums(a, b)


def package(_: object) -> str:
    """Which version is installed here."""
    return version("reticent")
