"""Tables, targets and parameters as they are given, made ready for the engine.

Nothing in here fails, warns or says anything because of what a cell holds: what is no number
becomes NaN, and the encoder makes such a row one of zeros. Only structure may be refused:
shapes, lengths, names.

Each cell is read by itself. A cell may change the type of its array or column, and that must not
change what another row says: a type that was not declared is never asked for a meaning, and
`read_cell` gives one to every cell that has no type of its own.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import validate_data

from reticent import _reticent, planning


class SeedWarning(UserWarning):
    """A seed was given: the noise can be drawn again by anyone who knows it, so the certificate is
    void."""


# Each fit with a seed has a void certificate of its own. Appended: what a user says of warnings
# goes first.
warnings.filterwarnings("always", category=SeedWarning, append=True)


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
    """The seed that a random state stands for; a seed voids the certificate, and that is said each
    time."""
    if random_state is None:
        return None
    warnings.warn(
        "`random_state` is for tests: anyone who knows the seed can take the noise off again, so the certificate is void; "
        "leave it out to be private. Some ensembles of scikit-learn set it on their members, as BaggingClassifier does",
        SeedWarning,
        stacklevel=4,
    )
    if isinstance(random_state, Integral):
        return int(random_state) % 2**64
    return int(check_random_state(random_state).randint(2**31))


def read_declaration(given: Any) -> dict[str, Any]:
    """A declaration given as a dictionary or as the path of a schema file, in Python's own
    values."""
    return dict(plain(planning.read_declaration(given)))


class PublishedPickle:
    """Pickles an object with the published part of its `declaration`, fitted or not: pickles are
    handed on."""

    def __getstate__(self) -> dict[str, Any]:
        """The state of a pickle."""
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        declaration = state.get("declaration")
        if isinstance(declaration, Mapping):
            state["declaration"] = _reticent.layout(read_declaration(declaration), {})[0]["published"]
        return state


def without_unit(declaration: Mapping[str, Any]) -> dict[str, Any]:
    """The declaration of the columns alone: `fit` may add to the unit, and no feature depends on
    it."""
    return {key: value for key, value in declaration.items() if key != "unit"}


def remark_not_published(declaration: Mapping[str, Any]) -> None:
    """Warn of fields of a declaration that have no effect: no model holds them."""
    sentence = _reticent.layout(declaration, {})[0]["not_published"]
    if sentence:
        warnings.warn(sentence, UserWarning, stacklevel=4)


def is_table(X: Any) -> bool:
    """Whether columns come with names that the engine can read."""
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "columns")


def refuse_spark(X: Any, instead: str) -> None:
    """A table on a cluster is not read into memory by accident."""
    if hasattr(X, "sparkSession"):
        raise ValueError(f"X is a Spark DataFrame: use `{instead}`, or give a table in memory, as `dataframe.toPandas()` makes one")


def names_of(X: Any) -> list[str]:
    """The names of a table's columns; none of what is no table."""
    return [str(name) for name in getattr(X, "column_names", getattr(X, "columns", ()))] if is_table(X) else []


def declared_target(declaration: Mapping[str, Any], X: Any) -> Any:
    """The column of a table that its declaration names as the target."""
    fields = declaration.get("columns", ())
    named = [field.get("name") for field in fields if isinstance(field, Mapping) and field.get("role") == "target"]
    target = declaration.get("target", named[0] if named else None)
    if target not in names_of(X):
        raise ValueError(f"give y, or a table with the declared target `{target}` as a column")
    return X[target] if hasattr(X, "__getitem__") else X.column(target)


# A name that no category, class or number has.
UNREADABLE = "\ufffd"
# These have no place in a declaration, and what holds them decides what they are.
_SPANS = (datetime.timedelta, np.timedelta64)


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Silences every warning that reading a cell may cause."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def read_cell(cell: Any) -> None | bool | float | str:
    """The value of a cell of any type: nothing, a truth value, a number or a text."""
    if cell is None:
        return None
    if type(cell) is float:
        return None if cell != cell else cell
    if isinstance(cell, str):
        return cell if cell.isascii() else cell.encode("utf-8", "replace").decode("utf-8")
    if isinstance(cell, (bool, np.bool_)):
        return bool(cell)
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    try:
        if type(cell).__name__ == "NAType" or bool(cell != cell):
            return None
        if isinstance(cell, (complex, np.complexfloating)):  # One such cell makes pandas hold all as complex numbers.
            return UNREADABLE if cell.imag != 0 else float(cell.real)
        if isinstance(cell, (np.ndarray, *_SPANS)):
            return UNREADABLE
        if isinstance(cell, datetime.date):  # A moment too; as ISO text, which a column of dates reads.
            return cell.isoformat()
        if isinstance(cell, np.datetime64):
            return str(cell)
        if hasattr(type(cell), "__float__"):
            return float(cell)
        return read_cell(str(cell))
    except OverflowError:
        return float("inf")
    except Exception:  # A cell may be any object, and its errors are its own.
        return UNREADABLE


# A truth value and a text that spells one are 1 or 0, as everywhere.
_TRUTH = {"true": 1.0, "True": 1.0, "TRUE": 1.0, "false": 0.0, "False": 0.0, "FALSE": 0.0}


def _number(cell: Any) -> float:
    value = read_cell(cell)
    if isinstance(value, str):
        value = _TRUTH.get(value.strip(), value)
    try:
        return float("nan") if value is None else float(value)
    except ValueError:
        return float("nan")


def _text(cell: Any) -> str | None:
    """A cell as the engine reads texts: one that spells a number is that number, and a truth value
    is 1 or 0."""
    value = read_cell(cell)
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        if not np.isfinite(value):
            return "1e999"
        return str(int(value)) if value.is_integer() else np.format_float_positional(value, trim="-")
    return value


def _cells(column: Any) -> list[Any]:
    """The cells of a column or a flat array, as objects."""
    # Moments as `tolist` gives them may be bare numbers.
    return list(column) if column.dtype.kind in "mM" else list(column.tolist())


def own_text(cell: Any) -> str | None:
    """What a cell of any type says of itself; none if that fails, for no error depends on a
    cell."""
    try:
        return str(plain(cell)).encode("utf-8", "replace").decode("utf-8")
    except Exception:  # A cell may be any object, and its errors are its own.
        return None


def to_texts(column: Any) -> list[str | None]:
    """A column of whatever as texts; what is missing is None."""
    with _silent():
        return [_text(cell) for cell in _cells(column)]


def to_numbers(array: NDArray[Any]) -> NDArray[np.float64]:
    """An array of any type as numbers; a cell that is no number becomes NaN."""
    with _silent():
        if array.dtype.kind in "biuf":
            return np.ascontiguousarray(array, dtype=np.float64)
        flat = np.array([_number(cell) for cell in _cells(array.ravel())], dtype=np.float64)
    return flat.reshape(array.shape)


def _cell(cell: Any) -> float | str:
    """A cell of a matrix that holds texts: what a matrix of numbers would hold there, or the
    text."""
    value = read_cell(cell)
    if isinstance(value, str):
        return value
    return float("nan") if value is None else float(value)


def to_cells(array: NDArray[Any]) -> tuple[int, list[float | str]]:
    """The columns of a matrix that is not of numbers, and its cells row after row."""
    with _silent():
        return int(array.shape[1]), [_cell(cell) for cell in _cells(array.ravel())]


def _refuse_complex(array: Any) -> None:
    """Of an array that was given as one; the type of anything else is inferred from the cells."""
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported: give real numbers")


def _csr(X: Any) -> tuple[int, Any, Any, Any]:
    _refuse_complex(X)
    rows = X.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return (
        int(rows.shape[1]),
        np.ascontiguousarray(rows.indptr, dtype=np.int64),
        np.ascontiguousarray(rows.indices, dtype=np.int64),
        to_numbers(rows.data),
    )


def _objects(cells: Sequence[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Cells as they are: given the choice, NumPy makes texts of all of them for one that is a
    text."""
    array = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        array[place] = cell
    return array.reshape(shape)


def _as_array(X: Any) -> NDArray[Any]:
    """A matrix whose cells are what they were."""
    if isinstance(X, np.ndarray):
        _refuse_complex(X)
        return X
    if isinstance(X, list | tuple):
        if not X or not _is_row(X[0]):
            return _objects(X, (len(X),))
        width = len(X[0])
        if not all(_is_row(row) and len(row) == width for row in X):
            raise ValueError("X must be a list of rows that all have the same number of cells")
        return _objects([cell for row in X for cell in row], (len(X), width))
    if _is_pandas(X):
        if all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in X.dtypes):
            with _silent():
                return np.asarray(X, dtype=np.float64)
        return np.column_stack([to_numbers(np.asarray(X.iloc[:, place])) for place in range(X.shape[1])])
    return np.asarray(X)


def _is_row(row: Any) -> bool:
    return hasattr(row, "__len__") and not isinstance(row, str | bytes | Mapping) and getattr(row, "ndim", 1) == 1


def read_matrix(
    estimator: Any,
    X: Any,
    *,
    reset: bool,
    private_rows: bool = False,
    accept_sparse: bool = True,
    declared: bool = False,
) -> tuple[Any, int, int, str]:
    """A matrix, its shape, and how the engine should hold it.

    Dense arrays in C order and single or double precision are passed on as they are, without a
    copy. A matrix that is not of numbers keeps its texts if its columns are `declared`, and
    otherwise becomes one of numbers. Where the number of rows is private, there may be none, and no
    message shows it.
    """
    if sparse.issparse(X):
        if not accept_sparse:
            raise TypeError("Sparse data was passed, but dense data is required: scaling would fill it; use X.toarray()")
        if X.ndim != 2:
            raise ValueError(f"Found sparse array with dim {X.ndim}, while dim 2 is required: a row for each record")
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        table: Any = _csr(X)
        shape, precision = X.shape, "sparse"
    else:
        array = _as_array(X)
        if array.ndim == 1:
            # Not scikit-learn's own message: that one shows the values.
            raise ValueError(
                "Expected 2D array, got 1D array instead. Reshape your data either using array.reshape(-1, 1) if your "
                "data has a single feature or array.reshape(1, -1) if it contains a single sample."
            )
        if array.ndim != 2:
            raise ValueError(f"Found array with dim {array.ndim}, while dim 2 is required: a row for each record")
        validate_data(estimator, X if hasattr(X, "shape") else array, reset=reset, skip_check_array=True)
        # Single precision only where the array itself is declared so: what holds the rest is
        # inferred from the cells.
        single = isinstance(X, np.ndarray) and X.dtype == np.float32
        shape, precision = array.shape, "f32" if single else "f64"
        if declared and array.dtype.kind not in "biuf":
            table = to_cells(array)
        else:
            table = np.ascontiguousarray(array) if single else to_numbers(array)
    rows, columns = shape
    shown = "" if private_rows else f" (shape={shape})"
    if columns == 0:
        raise ValueError(f"Found array with 0 feature(s){shown} while a minimum of 1 is required.")
    if rows == 0 and not private_rows:
        raise ValueError(f"Found array with 0 sample(s){shown} while a minimum of 1 is required.")
    return table, int(rows), int(columns), precision


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "iloc")


def _holds_one_kind(kind: Any) -> bool:
    """Whether a column of pandas holds numbers, truth values or texts, each as Arrow has them, and
    nothing else."""
    if getattr(kind, "kind", "O") in "biuf":
        return bool(getattr(kind, "itemsize", 8) <= 8)
    return getattr(kind, "storage", None) == "pyarrow" or hasattr(kind, "pyarrow_dtype")


def read_table(X: Any) -> Any:
    """A table with column names, as something that gives Arrow columns."""
    if _is_pandas(X) and X.columns.is_unique:
        whole, X = X, X.copy(deep=False)
        for name, kind in whole.dtypes.items():
            if not _holds_one_kind(kind):
                X[name] = to_texts(whole[name])
            elif kind.kind == "f" and not isinstance(kind, np.dtype):  # These have NaN beside what is missing.
                X[name] = whole[name].to_numpy(dtype=np.float64, na_value=np.nan)
    if hasattr(X, "__arrow_c_stream__"):
        return X
    raise ValueError("X has column names but gives no Arrow columns; install pyarrow, or give a newer kind of table")


def unit_keys(unit: Any, X: Any, *, drop: bool) -> tuple[Any, list[str | None]]:
    """The unit of each row as text, none where it is missing, and the table, without the column
    that was named if asked."""
    if isinstance(unit, str):
        if unit not in names_of(X):
            raise ValueError(f"`unit` names the column `{unit}`, and X has none; give a table with it, or the unit of each row")
        cells = X[unit] if hasattr(X, "__getitem__") else X.column(unit)
        if drop:
            if not hasattr(X, "drop"):
                raise ValueError("`unit` names a column of a table without a declaration; give the unit of each row instead")
            X = X.drop(columns=[unit]) if _is_pandas(X) else X.drop(unit)
    else:
        cells = unit
    array = np.asarray(cells, dtype=object)
    if array.ndim != 1:
        raise ValueError("`unit` must be one column: a value for each row of X, or the name of a column")
    return X, [_unit_key(cell) for cell in array.tolist()]


def _unit_key(cell: Any) -> str | None:
    """A cell as text; a whole number is written as one, whatever holds it. The engine says which
    texts are a unit's key.

    A cell without text is no key, and its row a unit of its own: no error depends on a cell.
    """
    if cell is None:
        return None
    try:
        text = str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)
        text.encode()
    except Exception:
        return None
    return text


def sample_weights(given: Any, most: float | None) -> list[float]:
    """The weight of each row, where the largest one is declared; what is no number becomes NaN."""
    if most is None:
        raise ValueError(
            "declare `max_weight`, a parameter of the estimator, to give `sample_weight`: the largest weight that a row may have, a number "
            "> 0 that is known without the data, since the weight of a row decides how much of it the model shows"
        )
    array = _objects(given, (len(given),)) if isinstance(given, list | tuple) else np.asarray(given)
    if array.ndim != 1:
        raise ValueError("`sample_weight` must be one column: Sample weights must be 1D array or scalar, a weight for each row of X")
    weights: list[float] = to_numbers(array).tolist()
    return weights


def class_weights(given: Any, classes: Any) -> dict[str, float] | None:
    """The weights of classes by the names that the engine has for them."""
    if given is None:
        return None
    if isinstance(given, str):
        raise ValueError(f"`class_weight` must be a dictionary from classes to weights, got {given!r}; `balanced` {_reticent.BALANCED}")
    if not isinstance(given, Mapping):
        raise ValueError(f"`class_weight` must be a dictionary from classes to weights, got {given!r}")
    known = plain(classes)
    named = {}
    for label, weight in given.items():
        own = [one for one in known if one == plain(label)]
        if not own:
            raise ValueError(f"`class_weight` names {label!r}, which is no declared class; expected some of {known!r}")
        named[own[0] if isinstance(own[0], str) else json.dumps(own[0])] = number("class_weight", weight) or 0.0
    return named


def column(y: Any, X: Any, name: str, *, private_rows: bool = False) -> NDArray[Any]:
    """Targets as one column. A list is one: a cell of it that is a list of one says what that
    says."""
    if y is None:
        raise ValueError(f"{name} requires y to be passed, but the target y is None")
    if isinstance(y, list | tuple):
        array = _objects([cell[0] if isinstance(cell, list | tuple) and len(cell) == 1 else cell for cell in y], (len(y),))
    else:
        array = np.asarray(y)
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
        shown = f"dim {array.ndim}" if private_rows else f"shape {array.shape}"
        raise ValueError(f"y should be a 1d array, got an array of {shown} instead.")
    if isinstance(y, np.ndarray):
        _refuse_complex(y)
    try:
        check_consistent_length(X, array)
    except ValueError:
        if private_rows:
            raise ValueError("X and y have inconsistent numbers of samples: give one target for each row") from None
        raise
    return array


def _fits(kind: str, label: Any) -> bool:
    """Whether a column of this kind of NumPy can hold what the engine reads as the class."""
    if kind in "mM":
        return False
    if kind not in "biuf":
        return True
    value = _number(label)
    if kind == "b":
        return value in (0.0, 1.0)
    return bool(np.isfinite(value)) and (kind == "f" or value.is_integer())


def check_kind(given: Any, classes: NDArray[Any] | None) -> None:
    """Refuse targets whose type, a fact of what holds them, cannot be that of any declared class,
    or of a number."""
    kind = getattr(getattr(given, "dtype", None), "kind", "O")
    if classes is None:
        if kind in "mM":
            raise ValueError(f"y must hold numbers, got {given.dtype}; give the time as a number, for instance in days")
    elif not any(_fits(kind, label) for label in classes.tolist()):
        shown = ", ".join(repr(label) for label in classes[:3].tolist()) + (", ..." if len(classes) > 3 else "")
        raise ValueError(
            f"y holds {given.dtype}, which can name none of the declared classes ({shown}), so every row would count as the first; "
            "give y as it was declared. Ensembles of scikit-learn hand their members numbers for classes: declare `classes=[0, 1, ...]` "
            "and give y as these numbers"
        )


def class_labels(y: NDArray[Any], classes: NDArray[Any]) -> Any:
    """Targets as the engine reads classes: numbers, or texts."""
    kind = classes.dtype.kind
    if kind in "iuf":
        return to_numbers(y)
    if kind == "b":
        numbers = {None: UNREADABLE, "0": "false", "1": "true"}
        return [numbers.get(text, text) for text in to_texts(y)]
    return [UNREADABLE if text is None else text for text in to_texts(y)]


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
    spelled = [text for text in classes.tolist() if isinstance(text, str) and not np.isnan(_number(text))]
    if len({_number(text) for text in spelled}) < len(spelled):
        raise ValueError(f"`classes` must be different numbers where they spell numbers, got {list(given)!r}; keep one spelling of each")
    if len(classes) < 2 or len(classes) != len(given):
        raise ValueError(f"`classes` must be at least two different classes, got {list(given)!r}")
    return classes
