"""The same estimators on a Spark DataFrame.

`fit` trains an estimator of `reticent` on a table that lies on a cluster. Executors run the engine
on blocks of encoded rows and send back partial sums; the driver runs the same optimiser as for a
table in memory, draws the noise once, and issues the same certificate. For a fixed `random_state`
the model has the same bits however many executors and partitions there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from reticent import _input, _reticent
from reticent._base import PrivateEstimator
from reticent._progress import shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["fit"]

Estimator = TypeVar("Estimator", bound=PrivateEstimator)


def fit(
    estimator: Estimator,
    dataframe: DataFrame,
    *,
    target: str | None = None,
    features: Sequence[str] | None = None,
    id: str | None = None,
    unit: str | None = None,
    max_rows: int | None = None,
    precision: str | None = None,
    partitions: int | None = None,
    block_rows: int | None = None,
) -> Estimator:
    """Fit an estimator on a Spark DataFrame.

    The declaration bounds every row, as for a table in memory, and the guarantee is the same.
    Every refusal comes before the ledger is charged and before a job reads a row; only the number
    of rows, where it is public, is counted before.

    Parameters
    ----------
    estimator : estimator of `reticent`
        Its parameters say what is declared and what may be spent.
    dataframe : pyspark.sql.DataFrame
        The rows. It may be computed again when an executor is lost: if it then gives other rows,
        nothing is released.
    target : str, default=None
        The column of targets, where the estimator has no `declaration`.
    features : list of str, default=None
        The columns of features, numbers or truth values, where the estimator has no `declaration`.
    id : str, default=None
        A column by which rows are spread, of any type. Give one where many rows are alike; without
        it rows are spread by what they hold. It need not be unique and is not learned from.
    unit : str, default=None
        The column that says whose row each is. All rows of one unit are protected together, and
        their number is private; it is not learned from. A declaration with a `unit` names the
        column itself.
    max_rows : int, default=None
        The most rows of one unit that are used, known without the data. Which rows follows from a
        hash of what they hold.
    precision : {"f64", "f32", "sparse"}, default=None
        How encoded rows are held. "f32" where all features are of type float, else "f64", if not
        given.
    partitions : int, default=None
        Tasks of each step; twice the cluster's cores if not given. The model is the same for any
        number.
    block_rows : int, default=None
        The most rows of a block; a block of about 8 MB if not given. Another number adds in another
        order: the law of the model is the same, its last bits are not.

    Returns
    -------
    estimator
        The same estimator, fitted.
    """
    from reticent.spark import _cluster

    if not isinstance(estimator, PrivateEstimator):
        raise ValueError(f"`estimator` must be an estimator of reticent, got {type(estimator).__name__}")
    if not hasattr(dataframe, "sparkSession") or not hasattr(dataframe.sparkSession, "sparkContext"):
        raise ValueError(
            f"`dataframe` must be a Spark DataFrame of a session on the driver, got {type(dataframe).__module__}."
            f"{type(dataframe).__name__}; a session of Spark Connect has no broadcast: run on the cluster itself"
        )
    budget, settings, task = estimator._budget(), estimator._settings(), estimator._task()
    rows = _input.whole("rows", estimator.rows)
    limits = {"partitions": _input.whole("partitions", partitions), "block_rows": _input.whole("block_rows", block_rows)}
    for name, limit in limits.items():
        if limit == 0:
            raise ValueError(f"`{name}` must be a whole number >= 1 or None, got 0")
    if precision not in (None, "f64", "f32", "sparse"):
        raise ValueError(f"`precision` must be `f64`, `f32`, `sparse` or None, got {precision!r}")
    task, features, target = estimator._named(task, features, target)
    columns, single = _cluster.select(dataframe, task["declaration"], features, target)
    column = estimator._declare_unit(unit, max_rows, task)
    if id is not None and column is not None:
        raise ValueError("`id` and `unit` exclude each other: rows are spread by their unit; leave `id` out")
    key, whose = _cluster.key_of(dataframe, id), _cluster.unit_of(dataframe, column)
    task["precision"] = precision or ("f32" if single else "f64")
    if task["declaration"] is None:
        assert features is not None
        task["dimension"] = len(features)
    seed = _input.seed_of(estimator.random_state)
    own_rows = None if estimator._private_records() else _cluster.count(dataframe, whose)
    table = dataframe.select(*columns, *key, *whose)
    cluster = _cluster.Cluster(table, _cluster.KEY if key else None, _cluster.UNIT if whose else None, limits["partitions"])
    cluster.check_package()
    with cluster, shown(estimator.progress, estimator.verbose) as progress:
        model = _reticent.fit_on_cluster(
            cluster,
            _cluster.columns_of(dataframe.select(*columns)),
            task=task,
            budget=budget,
            settings=settings,
            own_rows=own_rows,
            rows=rows,
            ledger=estimator.ledger,
            seed=seed,
            block_rows=limits["block_rows"],
            progress=progress,
        )
    if task["declaration"] is None:
        assert features is not None
        estimator.n_features_in_ = len(features)
        estimator.feature_names_in_ = np.array(list(features), dtype=object)
    estimator._take(model)
    return estimator
