"""Additive models: a curve for each number, a weight for each category, a surface for each named
pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent import _input, _reticent
from reticent._base import IntervalsMixin, PrivateClassifier, PrivateEstimator, PrivateRegressor, ProbabilityMixin, Progress
from reticent._parameters import documented
from reticent._types import Adjacency, Algorithm

_BASES = ("tent", "bins", "linear")


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_pair(given: object) -> bool:
    """Whether these are two numbers."""
    return isinstance(given, Sequence | np.ndarray) and len(given) == 2 and all(_is_number(end) for end in given)


def _field(name: str, given: object) -> dict[str, Any]:
    """The declaration of a column, from its bounds or its categories."""
    if _is_pair(given):
        low, high = (float(end) for end in given)  # type: ignore[attr-defined]
        return {"name": name, "type": "real", "bounds": {"min": low, "max": high}}
    if isinstance(given, Sequence) and not isinstance(given, str) and given and all(isinstance(item, str) for item in given):
        return {"name": name, "type": "categorical", "categories": list(given)}
    raise ValueError(
        f"`bounds` of `{name}` must be a pair of numbers (low, high), or a list of categories as texts, got {given!r}; "
        "they are known without the data, and cannot be taken from it without spending privacy"
    )


class AdditiveMixin(IntervalsMixin, PrivateEstimator):
    """The parameters that additive models add to a task: bounds, knots, pairs."""

    bounds: Any
    knots: Any
    basis: str
    pairs: Sequence[tuple[str, str]] | None
    missing: Any

    # Bounds of columns take the place of a norm.
    feature_norm = None

    def _task(self) -> dict[str, Any]:
        declaration = None if self.declaration is None else _input.read_declaration(self.declaration)
        if declaration is not None:
            self._check_alone()
            _input.remark_not_published(declaration)
        elif self.bounds is None:
            raise ValueError(
                "declare `bounds`: (low, high) for all columns, a list with a pair for each, or a dictionary from the name of a "
                "column to its pair or its categories, known without the data; they cannot be taken from the data without "
                "spending privacy; or give a `declaration`"
            )
        target = self._target(declaration)
        return {
            "declaration": declaration,
            **({} if declaration is None else target),
            "loss": self._loss(len(getattr(self, "classes_", ()))),
            "intercept": bool(self.fit_intercept),
            "class_weights": _input.class_weights(getattr(self, "class_weight", None), getattr(self, "classes_", ())),
            "knots": self._knots(),
            "pairs": self._pairs(),
        }

    def _check_alone(self) -> None:
        """With a declaration, what it says of columns is said there."""
        said = {"bounds": self.bounds is not None, "basis": self.basis != "tent", "missing": self.missing is not None}
        said["knots"] = isinstance(self.knots, Mapping)
        for name, given in said.items():
            if given:
                raise ValueError(f"`{name}` and `declaration` exclude each other: declare it for each column in the declaration")

    def _knots(self) -> int | str:
        """The number of knots of columns that have none of their own."""
        if self.basis not in _BASES:
            raise ValueError(f"`basis` must be one of {', '.join(_BASES)}, got {self.basis!r}")
        if self.basis == "linear":
            return 0
        if isinstance(self.knots, Mapping) or (isinstance(self.knots, str) and self.knots == "auto"):
            return "auto"
        if isinstance(self.knots, Integral) and not isinstance(self.knots, bool) and int(self.knots) >= 0:
            return int(self.knots)
        raise ValueError(
            f'`knots` must be "auto", a whole number, 0 for lines, or a dictionary from the name of a column to a number or a '
            f"list of knots, got {self.knots!r}"
        )

    def _pairs(self) -> list[list[str]] | None:
        if self.pairs is None:
            return None
        pairs = [list(pair) if isinstance(pair, Sequence) and not isinstance(pair, str) else [] for pair in self.pairs]
        if not all(len(pair) == 2 and all(isinstance(name, str) for name in pair) for pair in pairs):
            raise ValueError(f'`pairs` must be a list of pairs of names, for instance [("hour", "day")], got {self.pairs!r}')
        return pairs

    def _of_basis(self, name: str) -> dict[str, Any]:
        """The declared options of a numeric column's curve, where they are not left to the
        engine."""
        own = self.knots.get(name) if isinstance(self.knots, Mapping) else None
        if own is not None:
            own = _input.plain(own)
            if own == 0:
                return {"basis": "linear"}
            return {"basis": {"kind": "tent" if self.basis == "linear" else self.basis, "knots": own}}
        if self._knots() == 0:
            return {"basis": "linear"}
        return {"basis": "bins"} if self.basis == "bins" else {}

    def _declare(self, names: Sequence[str], target: str) -> dict[str, Any]:
        """The declaration of columns with these names."""
        bounds = self.bounds
        if isinstance(bounds, Mapping):
            each = [bounds[name] for name in names]
        elif _is_pair(bounds):
            each = [bounds] * len(names)
        else:
            each = list(bounds) if isinstance(bounds, Sequence | np.ndarray) and not isinstance(bounds, str) else []
            if len(each) != len(names):
                raise ValueError(
                    f"`bounds` must be a pair (low, high) for all columns, or a pair for each of {len(names)}, got {bounds!r}"
                )
        fields = [_field(name, given) for name, given in zip(names, each, strict=True)]
        for field in fields:
            if field["type"] == "real":
                field.update(self._of_basis(field["name"]))
            if self.missing is not None:
                field["missing"] = _input.plain(self.missing)
        for name in self.knots if isinstance(self.knots, Mapping) else ():
            if name not in names:
                raise ValueError(f"`knots` must name columns, got {name!r}; the columns are {', '.join(names)}")
        known = self._target(None)
        label: dict[str, Any] = {"name": target, "role": "target"}
        if "classes" in known:
            label.update({"type": "categorical", "categories": known["classes"]})
        else:
            low, high = known["label_range"]
            label.update({"type": "real", "bounds": {"min": low, "max": high}})
        return {"target": target, "columns": [*fields, label]}

    def _named(
        self, task: dict[str, Any], features: Sequence[str] | None, target: str | None
    ) -> tuple[dict[str, Any], Sequence[str] | None, str | None]:
        if task["declaration"] is not None or target is None:
            return task, features, target
        if features is None and isinstance(self.bounds, Mapping):
            features = [str(name) for name in self.bounds]
        if features is None or isinstance(features, str):
            return task, features, target
        if isinstance(self.bounds, Mapping) and set(features) != set(self.bounds):
            raise ValueError("`features` must be the columns of `bounds`; leave one of them out")
        self.feature_names_in_ = np.array(list(features), dtype=object)
        self.n_features_in_ = len(features)
        return {**task, "declaration": self._declare(list(features), target)}, None, None

    def _read(self, X: Any, *, reset: bool) -> tuple[Any, dict[str, Any]]:
        if self.declaration is not None:
            return super()._read(X, reset=reset)
        private = self._private_rows()
        if not isinstance(self.bounds, Mapping):
            table, _, columns, precision = _input.read_matrix(self, X, reset=reset, private_rows=private)
            return table, {"declaration": self._of_matrix(columns), "precision": precision} if reset else {}
        names = [str(name) for name in self.bounds]
        if reset:
            self.feature_names_in_ = np.array(names, dtype=object)
            self.n_features_in_ = len(names)
        precision = "f64"
        if _input.is_table(X):
            table = _input.read_table(X)
        else:
            table, _, _, precision = _input.read_matrix(self, X, reset=False, private_rows=private, declared=True)
        return table, {"declaration": self._declare(names, _apart("target", names)), "precision": precision} if reset else {}

    def _of_matrix(self, columns: int) -> dict[str, Any]:
        """The declaration of a matrix: its columns have the names that a table gave, or numbers."""
        given = getattr(self, "feature_names_in_", None)
        names = [f"x{i}" for i in range(columns)] if given is None else [str(name) for name in given]
        return self._declare(names, _apart("target", names))

    def _take(self, model: _reticent.FittedModel) -> None:
        super()._take(model)
        found = model.curves()
        one = len(found["outputs"]) == 1
        self.curves_ = {effect["column"]: _arrays(effect, one) for effect in found["columns"]}
        self.surfaces_ = {
            tuple(axis["column"] for axis in surface["axes"]): _surface(surface, one) for surface in found["pairs"]
        }
        self.intercept_ = found["constants"][0] if one else np.array(found["constants"])

    def plot_curves(self, columns: Sequence[str] | None = None, *, axes: Any = None) -> NDArray[Any]:
        """Draw what each column adds, with a band of twice the noise where that is known.

        Parameters
        ----------
        columns : list of str, default=None
            Which columns; all if not given.
        axes : array of matplotlib axes, default=None
            Where to draw, one for each column; new ones if not given.

        Returns
        -------
        ndarray of matplotlib axes
        """
        from reticent import plot

        return plot.curves(self, columns, axes=axes)


def _apart(name: str, names: Sequence[str]) -> str:
    """A name that none of the others is."""
    while name in names:
        name += "_"
    return name


def _arrays(effect: dict[str, Any], one: bool) -> dict[str, Any]:
    """The numbers of a curve as arrays; of a single output without its axis."""
    values, missing = np.array(effect["values"]), np.array(effect["missing"])
    return {
        "kind": effect["kind"],
        "scale": effect["scale"],
        "knots": np.array(effect["knots"]),
        "places": effect["places"],
        "values": values[0] if one else values,
        "missing": float(missing[0]) if one else missing,
        "noise": None if effect["noise"] is None else np.array(effect["noise"]),
        **({"band": _band(effect["band"])} if "band" in effect else {}),
    }


def _band(points: Sequence[Mapping[str, Any]]) -> NDArray[Any]:
    """Estimate, lower and upper end at each place, relative to the mean of the curve; NaN ends
    where not determined."""
    ends = [(np.nan, np.nan) if p["interval"] is None else (p["interval"]["low"], p["interval"]["high"]) for p in points]
    return np.array([(point["estimate"], *end) for point, end in zip(points, ends, strict=True)])


def _surface(surface: dict[str, Any], one: bool) -> dict[str, Any]:
    """The numbers of a surface: a row for each place of the first column."""
    first, second = surface["axes"]
    values = np.array(surface["values"]).reshape(-1, len(first["places"]), len(second["places"]))
    sides = [{key: axis[key] for key in ("column", "kind", "scale", "knots", "places")} for axis in (first, second)]
    return {"axes": sides, "values": values[0] if one else values, "noise": surface["noise"]}


@documented
class AdditiveClassifier(AdditiveMixin, ProbabilityMixin, PrivateClassifier):
    """Private generalized additive model for two classes or more: logistic regression on curves.

    Each number enters as a curve on public knots, each category with a weight, each named pair as a
    surface. A missing number has no place on its curve and adds nothing, or what its indicator
    adds.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 1.0, size=(5000, 2))
    >>> y = (np.abs(X[:, 0] - 0.5) < 0.25).astype(int)  # no line separates these
    >>> from reticent import AdditiveClassifier
    >>> model = AdditiveClassifier(epsilon=2.0, bounds=(0.0, 1.0), classes=[0, 1]).fit(X, y)
    >>> fresh = rng.uniform(0.0, 1.0, size=(1000, 2))  # a score on private rows would be a release of its own
    >>> bool(model.score(fresh, (np.abs(fresh[:, 0] - 0.5) < 0.25).astype(int)) > 0.8)
    True
    >>> len(model.curves_["x0"]["knots"])  # chosen from the number of rows, of columns and epsilon
    8
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        max_advantage: float | None = None,
        max_tpr: float | None = None,
        at_fpr: float | None = None,
        adjacency: Adjacency = "replace-one",
        bounds: Any = None,
        classes: Sequence[Any] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
        knots: int | str | Mapping[str, Any] = "auto",
        basis: str = "tent",
        pairs: Sequence[tuple[str, str]] | None = None,
        missing: Any = None,
        max_weight: float | None = None,
        algorithm: Algorithm = "auto",
        calibration: str = "tight",
        ridge: float | None = None,
        intervals: float | None = None,
        settings: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        rows: int | None = None,
        ledger: str | PathLike[str] | None = None,
        random_state: Any = None,
        threads: int | None = None,
        n_jobs: int | None = None,
        progress: Progress = False,
        verbose: bool = False,
    ) -> None:
        self._keep(locals())

    def _loss(self, classes: int) -> dict[str, Any]:
        return {"name": "logistic"} if classes == 2 else {"name": "softmax", "classes": classes}


@documented
class AdditiveRegressor(AdditiveMixin, PrivateRegressor):
    """Private generalized additive model for regression, with the Huber loss.

    Each number enters as a curve on public knots, each category with a weight, each named pair as a
    surface. A missing number has no place on its curve and adds nothing, or what its indicator
    adds.

    Parameters
    ----------
    threshold : float, default=0.5
        Where the loss turns linear, on the scale of targets in [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0.0, 1.0, size=(5000, 2))
    >>> y = np.cos(6.0 * X[:, 0])
    >>> from reticent import AdditiveRegressor
    >>> model = AdditiveRegressor(epsilon=2.0, bounds=(0.0, 1.0), label_bound=1.0).fit(X, y)
    >>> fresh = rng.uniform(0.0, 1.0, size=(1000, 2))
    >>> bool(model.score(fresh, np.cos(6.0 * fresh[:, 0])) > 0.8)
    True
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        max_advantage: float | None = None,
        max_tpr: float | None = None,
        at_fpr: float | None = None,
        adjacency: Adjacency = "replace-one",
        bounds: Any = None,
        label_bound: float | tuple[float, float] | None = None,
        declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
        knots: int | str | Mapping[str, Any] = "auto",
        basis: str = "tent",
        pairs: Sequence[tuple[str, str]] | None = None,
        missing: Any = None,
        threshold: float = 0.5,
        max_weight: float | None = None,
        algorithm: Algorithm = "auto",
        calibration: str = "tight",
        ridge: float | None = None,
        intervals: float | None = None,
        settings: Mapping[str, Any] | None = None,
        fit_intercept: bool = True,
        rows: int | None = None,
        ledger: str | PathLike[str] | None = None,
        random_state: Any = None,
        threads: int | None = None,
        n_jobs: int | None = None,
        progress: Progress = False,
        verbose: bool = False,
    ) -> None:
        self._keep(locals())

    def _loss(self, classes: int) -> dict[str, Any]:
        return {"name": "huber", "threshold": _input.number("threshold", self.threshold)}
