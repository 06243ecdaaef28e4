"""The driver's side: which columns, which blocks, and a job for each question.

The table is encoded row by row, rows are sent to buckets by a hash and sorted there by their bytes,
and each bucket becomes a block of bytes that stays cached. A step broadcasts its question (the
weights, and the key of its batch), has each block answer, and adds the answers up as a tree. The
engine defines the content of the answers and their sum.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from importlib.metadata import version
from typing import Any

import pyarrow as pa
from pyspark import Broadcast, StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, FloatType, NumericType

from reticent import _reticent
from reticent.spark import _executor

# The column that says where a row goes, and the one that says whose it is.
KEY = "reticent key"
UNIT = "reticent unit"
BLOCKS = "bucket long, part long, records long, digest binary, origins array<long>, block binary"
# How often the table is cut into blocks again, if a part of it had to be read again meanwhile.
TRIES = 4
# Bytes of questions to all parts, and so of their sums, that the driver takes at once.
SHORT = 1 << 24
# Blocks that are handed to Python at a time: each is megabytes.
AT_A_TIME = "4"
# The most bytes of a cell that is a unit, as in the engine, and of one that may be spelled again.
LONGEST_CELL = 1 << 20
LONGEST_SPELLED = 100
_DATE = r"([+-]?\d{4,6}-\d\d-\d\d)"
_MOMENT = r"[+-]?\d{4,6}-\d\d-\d\dT\d\d:\d\d:\d\d"
_WHOLE = r"^(?:(-)|\+)?(\d+)\.?(\d*?)0*[eE]\+?(\d{1,3})$"
# The engine's one spelling of moments and numbers, in steps: what is replaced by what.
SPELLINGS = (
    (rf"^{_DATE}[Tt ](\d\d:\d\d)(:\d\d(?:\.\d+)?)?(?:[Zz]|\+00:00)?$", "$1T$2$3"),
    (rf"^{_DATE}T(\d\d:\d\d)$", "$1T$2:00"),
    (rf"^({_MOMENT}(?:\.\d*[1-9])?)(?:\.?0+)?$", "$1"),
    (rf"^{_DATE}T00:00:00$", "$1"),
    (r"^(?:(-)|\+)?0*(\d+)(\.\d*[1-9])?\.?0*$", "$1$2$3"),
    ("^-0$", "0"),
)
BATCH = "spark.sql.execution.arrow.maxRecordsPerBatch"


def column(name: str) -> Column:
    """A column by its name, whatever characters it has."""
    return F.col("`" + name.replace("`", "``") + "`")


def select(
    dataframe: DataFrame, declaration: Mapping[str, Any] | None, features: Sequence[str] | None, target: str | None
) -> tuple[list[Column], bool]:
    """The columns that the engine reads, and whether all features are in single precision."""
    if declaration is not None:
        if features is not None or target is not None:
            raise ValueError("`features` and `target` are for estimators without a `declaration`, which names the columns itself")
        fields = declaration.get("columns")
        names = {str(field.get("name")).strip() for field in fields if isinstance(field, dict)} if isinstance(fields, list) else set()
        # An entry of a vector may be a column of its own, called `name[0]`.
        return [column(name) for name in dataframe.columns if name.strip() in names or name.split("[")[0].strip() in names], False
    if target is None or features is None or isinstance(features, str) or not features:
        raise ValueError(
            "give `target`, the name of a column, and `features`, a list of names, or an estimator with a `declaration`; "
            f"got target={target!r}, features={features!r}"
        )
    for name in [*features, target]:
        if dataframe.columns.count(name) != 1:
            raise ValueError(f"`dataframe` must have one column `{name}`; it has {', '.join(dataframe.columns)}")
    kinds = [dataframe.schema[name].dataType for name in features]
    for name, kind in zip(features, kinds, strict=True):
        if not isinstance(kind, NumericType | BooleanType):
            raise ValueError(
                f"`features` must be numbers or truth values, and `{name}` is {kind.simpleString()}; "
                "give the estimator a `declaration`, which reads categories and vectors too"
            )
    single = all(isinstance(kind, FloatType) for kind in kinds)
    width = "float" if single else "double"
    # As in memory, a number that is missing makes its row one of zeros.
    cells = [F.coalesce(column(name).cast(width), F.lit(float("nan")).cast(width)) for name in features]
    return [F.array(*cells).alias("features"), column(target).alias("label")], single


def key_of(dataframe: DataFrame, id: str | None) -> list[Column]:
    """The column by which rows are spread, if one is named."""
    if id is None:
        return []
    if dataframe.columns.count(id) != 1:
        raise ValueError(f"`id` must be the name of one column of the dataframe, got {id!r}; it has {', '.join(dataframe.columns)}")
    return [F.xxhash64(column(id)).alias(KEY)]


def spelled(text: Column) -> Column:
    """The one spelling of a number, a truth value or a moment, as the engine has it: `7` for `7.0`.

    A column of one file may hold whole numbers and that of another the same ones with a fraction;
    the rows of a person are one unit all the same.
    """
    sign, whole, fraction = (F.regexp_extract(text, _WHOLE, place) for place in (1, 2, 3))
    places = F.regexp_extract(text, _WHOLE, 4).try_cast("int")
    digits = F.concat(sign, whole, F.rpad(fraction, places, F.lit("0")))
    again = F.when(F.length(fraction) <= places, digits).otherwise(text)
    for found, put in SPELLINGS:
        again = F.regexp_replace(again, found, put)
    small = F.lower(text)
    again = F.when(small.isin("true", "false"), small).otherwise(again)
    return F.when(F.octet_length(text) <= LONGEST_SPELLED, again).otherwise(text)


def unit_of(dataframe: DataFrame, unit: str | None) -> list[Column]:
    """A digest of the unit of each row, null where a row is a unit of its own, if a column of units
    is named.

    As in memory, blanks around a cell do not count, and one that is empty, spells a missing value,
    is no text or has more than a megabyte is no unit. The digest has 256 bits: two units never
    share it, and it is their text that it is of, never a hash of few bits.
    """
    if unit is None:
        return []
    if dataframe.columns.count(unit) != 1:
        raise ValueError(f"`unit` must be the name of one column of the dataframe, got {unit!r}; it has {', '.join(dataframe.columns)}")
    cell = column(unit).cast("string")
    readable = F.try_validate_utf8(F.when(F.octet_length(cell) <= LONGEST_CELL, cell))
    text = F.regexp_replace(readable, "^[ \\t\\n\\f\\r]+|[ \\t\\n\\f\\r]+$", "")
    missing = ["", *(spelled.lower() for spelled in _reticent.missing_spellings())]
    named = F.when(~F.lower(text).isin(missing), spelled(text))
    return [F.unhex(F.sha2(named, 256)).alias(UNIT)]


def spread(whose: list[str]) -> Column:
    """The hash by which rows go to buckets: all rows of a unit to one."""
    key = F.col("key")
    return F.when(F.isnotnull("unit"), F.xxhash64("unit")).otherwise(key) if whose else key


def count(dataframe: DataFrame, unit: list[Column]) -> int:
    """How many records there are. If that cannot be told, nothing of the reason is: it may quote a
    cell."""
    try:
        if not unit:
            return int(dataframe.count())
        named, alone = F.count_distinct(UNIT), F.count_if(F.isnull(UNIT))
        return int(dataframe.select(*unit).agg((named + alone).alias("units")).first()["units"])
    except Exception:
        raise ValueError("the records of `dataframe` cannot be counted; its own log says why") from None


def columns_of(table: DataFrame) -> pa.RecordBatch:
    """The table's columns without a row."""
    schema = table.limit(0).toArrow().schema
    return pa.RecordBatch.from_pylist([], schema=schema)


class Cluster:
    """Runs the jobs of one fit."""

    def __init__(self, table: DataFrame, key: str | None, unit: str | None, partitions: int | None) -> None:
        self._table = table
        self._key = key
        self._unit = unit
        self._session = table.sparkSession
        self._context = self._session.sparkContext
        self._partitions = partitions or 2 * self._context.defaultParallelism
        self._threads = int(self._context.getConf().get("spark.task.cpus", "1") or 1)
        self._run = uuid.uuid4().hex
        self._blocks: DataFrame | None = None
        self._parts = 1
        self._broadcasts: list[Broadcast[Any]] = []

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        """Drops the blocks that the executors keep. An earlier error is reported, not one that
        occurs here."""
        if self._blocks is not None:
            with contextlib.suppress(Exception):
                self._blocks.unpersist()
        for kept in self._broadcasts:
            with contextlib.suppress(Exception):
                kept.destroy()

    def check_package(self) -> None:
        """Sees that every executor has this version of the package, before anything is spent."""
        cores = self._context.defaultParallelism
        try:
            there = set(self._context.parallelize(range(cores), cores).map(_executor.package).distinct().collect())
        except Exception:
            there = {"none that can be loaded"}
        here = version("reticent")
        if there != {here}:
            raise ValueError(
                f"`reticent` must be version {here} on every executor, as on the driver, got {', '.join(sorted(there))}; "
                "install the wheel there, or ship an environment with `spark.archives`"
            )

    def encode(self, setup: str, buckets: int) -> list[pa.RecordBatch]:
        """Has the table encoded and cut into blocks; what is known of each block."""
        self._parts = parts = min(self._partitions, buckets)
        brought = {"key": (self._key, "long"), "unit": (self._unit, "binary")}
        carried = {name: source for name, (source, _) in brought.items() if source is not None}
        schema = ", ".join(["row binary", "origin long", *(f"{name} {brought[name][1]}" for name in carried)])
        rows = self._table.mapInArrow(partial(_executor.encode, setup=setup, carried=carried), schema)
        if self._key is None:
            rows = rows.withColumn("key", F.xxhash64("row"))
        # A unit is whole in one bucket, and its rows lie together there, in an order that their
        # contents decide.
        whose = [] if self._unit is None else ["unit"]
        rows = rows.withColumn("bucket", F.pmod(spread(whose), F.lit(buckets)))
        # Neighbouring buckets lie together, so that their sums meet early.
        place = F.expr(f"cast(bucket * {parts} div {buckets} as int)")
        rows = rows.repartitionById(parts, place).sortWithinPartitions("bucket", *whose, "key", "row")
        rows = rows.select("bucket", *whose, "row", "origin")
        self._broadcasts.append(self._context.broadcast(setup))
        for _ in range(TRIES):
            blocks = rows.mapInArrow(partial(_executor.pack, setup=setup), BLOCKS)
            self._blocks = blocks.persist(StorageLevel.MEMORY_AND_DISK)
            counted = self._blocks.select("bucket", "part", "records", "digest", "origins").toArrow()
            if not _executor.mixed(counted.column("origins").to_pylist()):
                return list(counted.drop_columns(["origins"]).to_batches())
            self._blocks.unpersist(blocking=True)
        raise RuntimeError("parts of the table were read again while it was cut into blocks")

    def keep(self, catalogue: bytes) -> None:
        """Makes the list of blocks known to all executors."""
        self._broadcasts.append(self._context.broadcast(catalogue))

    def ask(self, question: bytes) -> bytes:
        """Puts a question to every block and adds the answers up."""
        assert self._blocks is not None
        setup, catalogue = self._broadcasts
        before = self._session.conf.get(BATCH)
        # A short question travels with the task, and short sums come to the driver at once: one
        # stage, no exchange.
        is_short = len(question) * self._parts <= SHORT
        asked = _executor.Inline(question) if is_short else self._context.broadcast(question)
        try:
            self._session.conf.set(BATCH, AT_A_TIME)
            work = partial(
                _executor.answer, run=self._run, setup=setup, catalogue=catalogue, question=asked, threads=self._threads
            )
            answers = self._blocks.mapInArrow(work, "sums binary")
            if is_short:
                return reduce(_executor.merge, (_executor.sums(row) for row in answers.collect()), b"")
            total: bytes = answers.rdd.map(_executor.sums).treeAggregate(b"", _executor.merge, _executor.merge)
            return total
        finally:
            try:
                asked.destroy()
            finally:
                self._session.conf.set(BATCH, before or "10000")
