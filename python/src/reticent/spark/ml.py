"""A stage of `pyspark.ml.Pipeline`: fits a private model on a cluster and predicts there.

>>> from pyspark.ml import Pipeline  # doctest: +SKIP
>>> stage = PrivateStage(LogisticRegression(epsilon=1.0, feature_norm=1.0, classes=[0, 1]), target="y", features=["a", "b"])  # doctest: +SKIP
>>> Pipeline(stages=[stage]).fit(dataframe).transform(dataframe)  # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from pyspark.ml import Estimator, Model
from pyspark.sql import DataFrame
from pyspark.sql import types as T

from reticent._base import PrivateEstimator, PrivateRegressor
from reticent.spark import fit

__all__ = ["PrivateStage", "PrivateStageModel", "predict"]


def predict(estimator: PrivateEstimator, dataframe: DataFrame, *, output: str = "prediction") -> DataFrame:
    """The table with what a fitted estimator predicts for each row, computed where the rows lie.

    Parameters
    ----------
    estimator : estimator of `reticent`
        Fitted: on a cluster, in memory, or loaded from a file.
    dataframe : pyspark.sql.DataFrame
        It has the columns that the model was fitted to, by name.
    output : str, default="prediction"
        The name of the new column.

    Returns
    -------
    pyspark.sql.DataFrame
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        raise ValueError("`estimator` must know the names of its columns: fit it to a table that has them")
    if output in dataframe.columns:
        raise ValueError(f"`output` must be a new column, and the dataframe has `{output}`; name another")
    names = [str(name) for name in names]
    missing = [name for name in names if name not in dataframe.columns]
    if missing:
        raise ValueError(f"the dataframe lacks the column `{missing[0]}` of the model; it has {', '.join(dataframe.columns)}")
    kind = _kind(estimator)
    schema = T.StructType([*dataframe.schema.fields, T.StructField(output, kind, False)])

    def work(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            found = estimator.predict(batch[names]) if len(batch) else np.empty(0)
            yield batch.assign(**{output: [item.item() if hasattr(item, "item") else item for item in found]})

    return dataframe.mapInPandas(work, schema)


def _kind(estimator: PrivateEstimator) -> T.DataType:
    """The type of a prediction."""
    if isinstance(estimator, PrivateRegressor):
        return T.DoubleType()
    kinds = {"i": T.LongType(), "u": T.LongType(), "f": T.DoubleType(), "b": T.BooleanType()}
    return kinds.get(estimator.classes_.dtype.kind, T.StringType())


class PrivateStage(Estimator):  # type: ignore[misc]
    """An estimator of `reticent` as a stage of a pipeline.

    Earlier stages of a pipeline must not learn from the private rows, as a `StandardScaler` of
    Spark would: what they find out is not paid for. Stages that only rename, cast or compute from
    one row are fine.

    Parameters
    ----------
    estimator : estimator of `reticent`
        The estimator to fit; it is copied, and itself left as it is.
    output : str, default="prediction"
        The column that `transform` adds.
    **table
        As of `reticent.spark.fit`: `target`, `features`, `unit`, `max_rows` and so on.
    """

    def __init__(self, estimator: PrivateEstimator, *, output: str = "prediction", **table: Any) -> None:
        super().__init__()
        if not isinstance(estimator, PrivateEstimator):
            raise ValueError(f"`estimator` must be an estimator of reticent, got {type(estimator).__name__}")
        self.estimator, self.output, self.table = estimator, output, table

    def copy(self, extra: Any = None) -> PrivateStage:
        """Another stage alike. There are no parameters of Spark's own to change."""
        if extra:
            raise ValueError("the parameters of this stage are those of its estimator: give another estimator")
        return PrivateStage(self.estimator, output=self.output, **self.table)

    def _fit(self, dataset: DataFrame) -> PrivateStageModel:
        from sklearn.base import clone

        return PrivateStageModel(fit(clone(self.estimator), dataset, **self.table), self.output)


class PrivateStageModel(Model):  # type: ignore[misc]
    """A fitted stage.

    Parameters
    ----------
    estimator : estimator of `reticent`
        Fitted.
    output : str, default="prediction"
        The column that `transform` adds.
    """

    def __init__(self, estimator: PrivateEstimator, output: str = "prediction") -> None:
        super().__init__()
        self.estimator, self.output = estimator, output

    def copy(self, extra: Any = None) -> PrivateStageModel:
        """Another stage alike."""
        if extra:
            raise ValueError("a fitted stage has no parameters to change")
        return PrivateStageModel(self.estimator, self.output)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        return predict(self.estimator, dataset, output=self.output)
