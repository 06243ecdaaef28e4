"""Tables, targets and parameters as they are given, made ready for the engine.

Nothing in here fails, warns or says anything because of what a cell holds: what is no number becomes NaN, and the encoder
gives such a row weight zero. What may be refused is structure: shapes, lengths, names.
"""

from __future__ import annotations

import json
import os
import pathlib
import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import validate_data


class SeedWarning(UserWarning):
    """A seed was given: the noise can be drawn again by whoever knows it, so the certificate is void."""


_seed_warned = False


def number(name: str, value: object, *, optional: bool = False) -> float | None:
    """A parameter that is a number."""
    if value is None and optional:
        return None
    if isinstance(value, Real) and not isinstance(value, bool):
        return float(value)
    raise ValueError(f"`{name}` must be a number, got {value!r}")


def whole(name: str, value: object) -> int | None:
    """A parameter that is a whole number or absent."""
    if value is None:
        return None
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0:
        return int(value)
    raise ValueError(f"`{name}` must be a whole number >= 0 or None, got {value!r}")


def plain(value: Any) -> Any:
    """NumPy scalars and containers of them as Python's own."""
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def seed_of(random_state: Any) -> int | None:
    """The seed that a random state stands for; a seed voids the certificate, and that is said once."""
    global _seed_warned
    if random_state is None:
        return None
    if not _seed_warned:
        _seed_warned = True
        warnings.warn(
            "`random_state` is for tests: whoever knows the seed can take the noise off again, so the certificate is void; "
            "leave it out to be private",
            SeedWarning,
            stacklevel=4,
        )
    if isinstance(random_state, Integral):
        return int(random_state) % 2**64
    return int(check_random_state(random_state).randint(2**31))


def read_declaration(given: Any) -> dict[str, Any]:
    """A declaration given as a dictionary or as the path of a schema file."""
    if isinstance(given, Mapping):
        return dict(plain(given))
    if isinstance(given, str | os.PathLike):
        value = json.loads(pathlib.Path(given).read_text(encoding="utf-8"))
        if isinstance(value, dict):
            return value
    raise ValueError("`declaration` must be a dictionary, or the path of a schema file that holds one")


def is_table(X: Any) -> bool:
    """Whether columns come with names that the engine can read."""
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "columns")


def _to_number(cell: object) -> float:
    try:
        return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def to_numbers(array: NDArray[Any]) -> NDArray[Any]:
    """An array of whatever as numbers; what is none becomes NaN."""
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real numbers")
    if array.dtype == np.float32:
        return np.ascontiguousarray(array)
    if array.dtype.kind in "biuf":
        return np.ascontiguousarray(array, dtype=np.float64)
    flat = [_to_number(cell) for cell in array.ravel().tolist()]
    return np.array(flat, dtype=np.float64).reshape(array.shape)


def _csr(X: Any) -> tuple[int, Any, Any, Any]:
    if X.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real numbers")
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return (
        int(rows.shape[1]),
        np.ascontiguousarray(rows.indptr, dtype=np.int64),
        np.ascontiguousarray(rows.indices, dtype=np.int64),
        np.ascontiguousarray(rows.data, dtype=np.float64),
    )


def read_matrix(
    estimator: Any, X: Any, *, reset: bool, may_be_empty: bool = False, accept_sparse: bool = True
) -> tuple[Any, int, int, str]:
    """A matrix of numbers, its shape, and how the engine should hold it.

    Dense arrays in C order and single or double precision are passed on as they are, without a copy.
    """
    if sparse.issparse(X):
        if not accept_sparse:
            raise TypeError("Sparse data was passed, but dense data is required: scaling would fill it; use X.toarray()")
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        table: Any = _csr(X)
        shape, precision = X.shape, "sparse"
    else:
        array = X if isinstance(X, np.ndarray) else np.asarray(X)
        if array.ndim == 1:
            # Not scikit-learn's own message: that one shows the values.
            raise ValueError(
                "Expected 2D array, got 1D array instead. Reshape your data either using array.reshape(-1, 1) if your "
                "data has a single feature or array.reshape(1, -1) if it contains a single sample."
            )
        if array.ndim != 2:
            raise ValueError(f"Found array with dim {array.ndim}, while dim 2 is required: a row for each record")
        validate_data(estimator, X if hasattr(X, "shape") else array, reset=reset, skip_check_array=True)
        table = to_numbers(array)
        shape, precision = table.shape, "f32" if table.dtype == np.float32 else "f64"
    rows, columns = shape
    if columns == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required.")
    if rows == 0 and not may_be_empty:
        raise ValueError(f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
    return table, int(rows), int(columns), precision


def read_table(X: Any) -> Any:
    """A table with column names, as something that gives Arrow columns."""
    if hasattr(X, "dtypes") and hasattr(X, "assign"):  # pandas: a column of mixed objects is read as texts
        texts = {
            name: [None if cell is None or cell != cell else str(cell) for cell in X[name].tolist()]
            for name, kind in X.dtypes.items()
            if kind == object
        }
        X = X.assign(**texts) if texts else X
    if hasattr(X, "__arrow_c_stream__"):
        return X
    raise ValueError("X has column names but gives no Arrow columns; install pyarrow, or give a newer kind of table")


def column(y: Any, X: Any, name: str) -> NDArray[Any]:
    """Targets as one column."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
    array = y if isinstance(y, np.ndarray) else np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        from sklearn.exceptions import DataConversionWarning

        warnings.warn(
            "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,), "
            "for example using ravel().",
            DataConversionWarning,
            stacklevel=4,
        )
        array = array.ravel()
    if array.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real numbers")
    check_consistent_length(X, array)
    return array


def class_labels(y: NDArray[Any], classes: NDArray[Any]) -> Any:
    """Targets as the engine reads classes: numbers, or texts."""
    kind = classes.dtype.kind
    if kind in "iuf":
        return np.ascontiguousarray(to_numbers(y), dtype=np.float64)
    if kind == "b" and y.dtype.kind in "biuf":
        return ["true" if flag else "false" for flag in (y != 0).tolist()]
    return [cell if isinstance(cell, str) else str(cell) for cell in y.tolist()]


def declared_classes(given: Any) -> NDArray[Any]:
    """The classes, sorted."""
    if given is None:
        raise ValueError(
            "declare `classes`: the list of all classes, known without the data, for instance `classes=[0, 1]`; they "
            "cannot be taken from y without spending privacy"
        )
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise ValueError(f"`classes` must be a list of at least two classes, got {given!r}")
    kinds = {str if isinstance(item, str) else float if not isinstance(item, bool | np.bool_) else bool for item in given}
    if len(kinds) > 1:
        raise ValueError("`classes` must be all numbers, all texts or all truth values; write the numbers as texts")
    classes = np.unique(np.asarray(given))
    if len(classes) < 2 or len(classes) != len(given):
        raise ValueError(f"`classes` must be at least two different classes, got {list(given)!r}")
    return classes
