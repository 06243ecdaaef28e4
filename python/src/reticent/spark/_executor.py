"""The executors' side: batches of Arrow in, batches of Arrow out. The engine does the rest.

Nothing here prints, and no error quotes a row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pyarrow as pa

from reticent import _reticent

# The worker of the run at hand: it knows every block and holds the map of a kernel model, so it is made once for each process.
_kept: tuple[str, _reticent.BlockWorker] | None = None


def encode(batches: Iterator[pa.RecordBatch], *, setup: str, key: str | None) -> Iterator[pa.RecordBatch]:
    """Rows as bytes, each with the key by which it is spread, if it brings one."""
    encoder = _reticent.RowEncoder(setup)
    for batch in batches:
        rows = encoder.encode(batch)
        yield rows if key is None else rows.append_column("key", batch.column(batch.schema.get_field_index(key)))


def pack(batches: Iterator[pa.RecordBatch], *, setup: str) -> Iterator[pa.RecordBatch]:
    """Sorted rows as blocks, each with its digest."""
    packer = _reticent.BlockPacker(setup)
    for batch in batches:
        yield _with_digests(packer.push(batch))
    yield _with_digests(packer.finish())


def _with_digests(blocks: pa.RecordBatch) -> pa.RecordBatch:
    column = blocks.column(3)
    digests = [hashlib.blake2b(column[i].as_buffer(), digest_size=16).digest() for i in range(len(column))]
    arrays = [*blocks.columns[:3], pa.array(digests, pa.binary()), column]
    return pa.RecordBatch.from_arrays(arrays, names=["bucket", "part", "rows", "digest", "block"])


def answer(
    batches: Iterator[pa.RecordBatch], *, run: str, setup: Any, catalogue: Any, question: Any, threads: int
) -> Iterator[pa.RecordBatch]:
    """The sums of a partition's blocks, as one row."""
    global _kept
    if _kept is None or _kept[0] != run:
        _kept = (run, _reticent.BlockWorker(setup.value, catalogue.value, threads))
    yield pa.RecordBatch.from_pydict({"sums": pa.array([_kept[1].answer(question.value, batches)], pa.binary())})


def sums(row: Any) -> bytes:
    """What a partition's row says."""
    return bytes(row[0])


def merge(a: bytes, b: bytes) -> bytes:
    """Two partial sums as one."""
    return _reticent.merge_sums(a, b)


def package(_: object) -> str:
    """Which version is installed here."""
    return version("reticent")
