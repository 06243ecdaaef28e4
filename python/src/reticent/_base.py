"""The base of all estimators: declarations in, a certificate out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from reticent import _input, _reticent
from reticent._progress import shown
from reticent._summary import Summary
from reticent._types import Adjacency, Algorithm

if TYPE_CHECKING:
    import onnx

Floats = NDArray[np.float64]
Progress = bool | Callable[[int, int], object]
Self = TypeVar("Self", bound="PrivateEstimator")


class PrivateEstimator(_input.PublishedPickle, BaseEstimator):  # type: ignore[misc]
    """The parameters that all estimators have."""

    # Parameters that all of them have; `_keep` sets them.
    epsilon: float | None
    delta: float | None
    max_advantage: float | None
    max_tpr: float | None
    at_fpr: float | None
    adjacency: Adjacency
    feature_norm: float | None
    declaration: Mapping[str, Any] | str | PathLike[str] | None
    max_weight: float | None
    algorithm: Algorithm
    calibration: str
    ridge: float | None
    settings: Mapping[str, Any] | None
    fit_intercept: bool
    rows: int | None
    ledger: str | PathLike[str] | None
    random_state: Any
    threads: int | None
    n_jobs: int | None
    progress: Progress
    verbose: bool
    # The engine's model, once fitted.
    _model: _reticent.FittedModel
    # Whether it has one weight for each feature.
    _linear = False
    # Whether records are units of several rows; set while fitting.
    _by_unit = False

    def _keep(self, given: Mapping[str, Any]) -> None:
        """Keep the parameters of a constructor as they were given, as scikit-learn asks."""
        for name, value in given.items():
            if name != "self":
                setattr(self, name, value)

    def _loss(self, classes: int) -> dict[str, Any]:
        """The loss of a row, for so many classes."""
        raise NotImplementedError

    def _hidden(self) -> int | None:
        """Units of a hidden layer."""
        return None

    def _kernel(self) -> dict[str, Any] | None:
        """The random features that take the place of the columns."""
        return None

    def _target(self, declaration: dict[str, Any] | None) -> dict[str, Any]:
        """The declaration of the target, for a matrix."""
        raise NotImplementedError

    def _labels(self, y: NDArray[Any], given: Any) -> Any:
        """Targets as the engine reads them; they were `given` in a container that may have a
        type."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # A cell that is no finite number never raises an error: an error would be an output.
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.non_deterministic = self.random_state is None
        return tags

    def _risk(self) -> dict[str, Any] | None:
        """The bound on an attacker's success, where it is given in place of epsilon."""
        advantage = _input.number("max_advantage", self.max_advantage, optional=True)
        rate = _input.number("max_tpr", self.max_tpr, optional=True)
        wrong = _input.number("at_fpr", self.at_fpr, optional=True)
        if (rate is None) != (wrong is None):
            raise ValueError("`max_tpr` and `at_fpr` go together: the largest true-positive rate, and at which false-positive rate")
        if advantage is not None and rate is not None:
            raise ValueError("`max_advantage` and `max_tpr` exclude each other: give one bound on the risk")
        if advantage is not None:
            return {"risk": "advantage", "most": advantage}
        return None if rate is None else {"risk": "true-positive-rate", "most": rate, "false_positive_rate": wrong}

    def _budget(self) -> dict[str, Any]:
        risk = self._risk()
        if self.epsilon is None and risk is None:
            raise ValueError(
                "declare `epsilon`: the allowed privacy loss, a number > 0, for instance `epsilon=1.0`; or a risk in its place, "
                "for instance `max_advantage=0.1`"
            )
        if self.epsilon is not None and risk is not None:
            raise ValueError("`epsilon` and a bound on the risk exclude each other: one follows from the other; leave one out")
        return {
            "epsilon": _input.number("epsilon", self.epsilon, optional=True),
            "risk": risk,
            "delta": _input.number("delta", self.delta, optional=True),
            "adjacency": str(self.adjacency),
        }

    def _settings(self) -> dict[str, Any]:
        ridge = _input.number("ridge", self.ridge, optional=True)
        mine = {"algorithm": self.algorithm, "calibration": self.calibration, "ridge": ridge}
        more = _input.plain(self.settings or {})
        for name in ("algorithm", "calibration", "ridge", "mu"):
            if name in more:
                raise ValueError(f"`{name}` is a parameter of its own: leave it out of `settings`")
        intervals = _input.number("intervals", getattr(self, "intervals", None), optional=True)
        if intervals is not None:
            if "intervals" in more:
                raise ValueError("`intervals` is given twice: leave it out of `settings`")
            mine["intervals"] = intervals
        return {**mine, **more}

    def _task(self) -> dict[str, Any]:
        """The declaration and the learning task, without the shape of the table."""
        declaration = None if self.declaration is None else _input.read_declaration(self.declaration)
        task: dict[str, Any] = {"declaration": declaration, **self._target(declaration)}
        task["loss"] = self._loss(len(getattr(self, "classes_", ())))
        task["hidden"] = self._hidden()
        task["kernel"] = self._kernel()
        task["intercept"] = bool(self.fit_intercept)
        task["class_weights"] = _input.class_weights(getattr(self, "class_weight", None), getattr(self, "classes_", ()))
        if declaration is None:
            task["feature_norm"] = self._feature_norm()
        elif self.feature_norm is not None:
            raise ValueError("`feature_norm` and `declaration` exclude each other: the declaration bounds every row")
        else:
            _input.remark_not_published(_input.without_unit(declaration))
        return task

    def _named(
        self, task: dict[str, Any], features: Sequence[str] | None, target: str | None
    ) -> tuple[dict[str, Any], Sequence[str] | None, str | None]:
        """The task for columns of a cluster with these names; the names that it does not declare
        itself."""
        return task, features, target

    def _feature_norm(self) -> float:
        norm = _input.number("feature_norm", self.feature_norm, optional=True)
        if norm is None or not 0.0 < norm < float("inf"):
            raise ValueError(
                "declare `feature_norm`: it must be a finite number > 0 that bounds the Euclidean norm of every row of X and "
                f"is known without the data, got {self.feature_norm!r}; longer rows are clipped to it, and it cannot be "
                "taken from the data without spending privacy; or give a `declaration`"
            )
        return norm

    def _threads(self) -> int | None:
        """How many threads to use, by either name; none for all cores."""
        if self.n_jobs is None:
            return _input.whole("threads", self.threads)
        if self.threads is not None:
            raise ValueError("`threads` and `n_jobs` are the same: give one of them")
        return None if self.n_jobs == -1 else _input.whole("n_jobs", self.n_jobs)

    def _private_records(self) -> bool:
        """Whether the number of records, rows or units, is private."""
        return str(self.adjacency).replace("_", "-").startswith("add-remove")

    def _private_rows(self) -> bool:
        """Whether the number of rows is private: under units it always is."""
        return self._by_unit or self._private_records()

    def _read(self, X: Any, *, reset: bool) -> tuple[Any, dict[str, Any]]:
        """A table ready for the engine, and what is declared of it."""
        private = self._private_rows()
        if self.declaration is None:
            table, _, columns, precision = _input.read_matrix(self, X, reset=reset, private_rows=private)
            return table, {"dimension": columns, "precision": precision}
        precision = "f64"
        if _input.is_table(X):
            table = _input.read_table(X)
        else:
            table, _, _, precision = _input.read_matrix(self, X, reset=False, private_rows=private, declared=True)
        return table, {"precision": precision}

    def _declare_unit(self, unit: Any, max_rows: int | None, task: dict[str, Any]) -> str | None:
        """The column of units, which `task` is told of; none where each row is a record."""
        declaration = task["declaration"]
        declared = None if declaration is None else declaration.get("unit")
        if unit is None and declared is None:
            if max_rows is not None:
                raise ValueError("`max_rows` goes with `unit`: give the unit of each row, or the name of a column that holds it")
            return None
        whose = {"column": declared} if isinstance(declared, str) else dict(declared or {})
        if isinstance(unit, str):
            whose["column"] = unit
        elif unit is not None:
            whose.setdefault("column", "unit")
        if max_rows is not None:
            whose["max_rows"] = _input.whole("max_rows", max_rows)
        if not isinstance(whose.get("max_rows"), int):
            raise ValueError(
                "declare `max_rows`: the most rows of one unit that are used, a whole number >= 1 that is known without the data"
            )
        if declaration is None:
            task["unit"] = whose
        else:
            task["declaration"] = {**declaration, "unit": whose}
        return str(whose["column"])

    def _unit(self, unit: Any, max_rows: int | None, task: dict[str, Any], X: Any) -> tuple[Any, list[str | None] | None]:
        """The table without the units' column where that is no feature, and the unit of each row;
        `task` is told of it."""
        column = self._declare_unit(unit, max_rows, task)
        if column is None:
            return X, None
        return _input.unit_keys(column if unit is None else unit, X, drop=task["declaration"] is None)

    def fit(
        self: Self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        unit: Any = None,
        max_rows: int | None = None,
    ) -> Self:
        """Fit a private model.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features)
            The rows. The declaration bounds them: longer rows are clipped, silently.
        y : array of shape (n_samples,), default=None
            The targets; with a `declaration` they may be left in the table, in the declared column.
            A class that was not declared counts as the first one. A type that can hold no declared
            class, such as numbers where the classes are names, is refused.
        sample_weight : array of shape (n_samples,), default=None
            How much each row counts. A weight is clamped to ``[0, max_weight]``, silently, and what
            is no number counts as 0. Weights are private; the estimator's `max_weight` is not. A
            `declaration` may name a column of weights instead, with the role ``weight``.
        unit : array of shape (n_samples,) or str, default=None
            Whose row each is: a person's identifier, or the name of the column of `X` that holds
            it, which is then no feature. All rows of one unit are protected together, and the
            number of rows is private. A missing value makes its row a unit of its own. A
            declaration with a `unit` names the column itself.
        max_rows : int, default=None
            The most rows of one unit that are used, known without the data.

        Returns
        -------
        self
        """
        budget, settings, task = self._budget(), self._settings(), self._task()
        seed = _input.seed_of(self.random_state)
        table, labels, given = self._rows_of(X, y, sample_weight, (unit, max_rows), task)
        with shown(self.progress, self.verbose) as progress:
            model = _reticent.fit(table, labels, budget=budget, settings=settings, seed=seed, progress=progress, **given)
        self._take(model)
        return self

    def _rows_of(
        self, X: Any, y: Any, sample_weight: Any, of_units: tuple[Any, int | None], task: dict[str, Any]
    ) -> tuple[Any, Any, dict[str, Any]]:
        """A table and its targets ready for the engine, and what is declared of them: weights, and
        units with the most rows of one."""
        unit, max_rows = of_units
        _input.refuse_spark(X, "reticent.spark.fit(estimator, dataframe, ...)")
        if y is None and task["declaration"] is not None:
            y = _input.declared_target(task["declaration"], X)
        rows, threads = _input.whole("rows", self.rows), self._threads()
        self._by_unit = unit is not None or bool((task["declaration"] or {}).get("unit"))
        weights = None
        if sample_weight is not None:
            task["max_weight"] = _input.number("max_weight", self.max_weight, optional=True)
            weights = _input.sample_weights(sample_weight, task["max_weight"])
        X, units = self._unit(unit, max_rows, task, X)
        table, shape = self._read(X, reset=True)
        labels = self._labels(_input.column(y, X, type(self).__name__, private_rows=self._private_rows()), y)
        given = {"task": {**task, **shape}, "units": units, "weights": weights, "rows": rows, "ledger": self.ledger, "threads": threads}
        return table, labels, given

    def _take(self, model: _reticent.FittedModel) -> None:
        """Make a fitted model this estimator's own."""
        self._model = model
        self.certificate_ = model.certificate()
        self.plan_ = self.certificate_["plan"]
        self.draft_ = model.draft()
        if self.declaration is not None:
            declaration = _input.without_unit(_input.read_declaration(self.declaration))
            facts, _ = _reticent.layout(declaration, {"intercept": bool(self.fit_intercept)})
            self.feature_names_in_ = np.array(facts["inputs"], dtype=object)
            self.n_features_in_ = len(facts["inputs"])

    def _table(self, X: Any) -> Any:
        check_is_fitted(self, "certificate_")
        _input.refuse_spark(X, "reticent.spark.ml.predict(estimator, dataframe)")
        return self._read(X, reset=False)[0]

    def __getstate__(self) -> dict[str, Any]:
        """The state of a pickle: the engine's model as the text of its file, which any reader of
        states can hold."""
        state = super().__getstate__()
        return {**state, "_model": self._model.to_json()} if "_model" in state else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        model = state.get("_model")
        super().__setstate__({**state, "_model": _reticent.FittedModel.from_json(model)} if isinstance(model, str) else state)

    def verify(self) -> dict[str, Any]:
        """Recompute the certificate without the data, compare, and say what holds.

        Returns
        -------
        dict
            ``pass``, ``statement``, and lists: what was ``recomputed``, ``compared`` with other
            files, only ``stated``, and ``not_covered``.
        """
        check_is_fitted(self, "certificate_")
        return self._model.verify()

    def report(self) -> str:
        """The report for people: one page of HTML."""
        check_is_fitted(self, "certificate_")
        return self._model.report()

    def save(self, path: str | PathLike[str], *, overwrite: bool = False) -> None:
        """Write the model file, whole or not at all: JSON that the command and `reticent.load`
        read.

        A ledger that paid for the model keeps a copy until this is called;
        `reticent ledger recover` gets it back.

        Parameters
        ----------
        path : path
            Where to write. A ledger or a checkpoint is never replaced.
        overwrite : bool, default=False
            Replace another model that is there; without it a `ValueError` is raised.
        """
        check_is_fitted(self, "certificate_")
        self._model.save(path, overwrite=overwrite)

    def to_onnx(self) -> onnx.ModelProto:
        """The fitted model as an ONNX model that gives the same predictions.

        Returns
        -------
        onnx.ModelProto
        """
        check_is_fitted(self, "certificate_")
        from reticent._onnx import export

        return export(self)


class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """Estimators of classes."""

    classes_: NDArray[Any]

    def _target(self, declaration: dict[str, Any] | None) -> dict[str, Any]:
        if declaration is None:
            self.classes_ = _input.declared_classes(self.classes)
            return {"classes": _input.plain(self.classes_)}
        if self.classes is not None:
            raise ValueError("`classes` and `declaration` exclude each other: the declaration lists the classes")
        self.classes_ = classes_of(declaration)
        return {}

    def _labels(self, y: NDArray[Any], given: Any) -> Any:
        _input.check_kind(given, self.classes_)
        return _input.class_labels(y, self.classes_)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each row.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        table = self._table(X)
        classes: NDArray[Any] = self.classes_[self._model.classify(table)]
        return classes

    def decision_function(self, X: Any) -> Floats:
        """How much speaks for the second of two classes, or for each of more.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        table = self._table(X)
        decisions = self._model.decisions(table)
        return decisions.ravel() if len(self.classes_) == 2 else decisions


class ProbabilityMixin:
    """Classifiers whose loss gives probabilities."""

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, in the order of `classes_`.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        table = self._table(X)  # type: ignore[attr-defined]
        found: Floats = self._model.probabilities(table)  # type: ignore[attr-defined]
        return found

    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithms of `predict_proba`.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):
            found: Floats = np.log(self.predict_proba(X))
        return found


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """Estimators of bounded numbers."""

    def _target(self, declaration: dict[str, Any] | None) -> dict[str, Any]:
        if declaration is not None:
            if self.label_bound is not None:
                raise ValueError("`label_bound` and `declaration` exclude each other: the declaration bounds the target")
            return {}
        bound = self.label_bound
        ends = (-bound, bound) if isinstance(bound, int | float | np.number) else bound
        try:
            low, high = (float(end) for end in ends)
        except (TypeError, ValueError):
            low, high = np.nan, np.nan
        if not low < high or not np.isfinite(high - low):
            raise ValueError(
                "declare `label_bound`: a number that bounds every |y|, or a pair (low, high), known without the data, got "
                f"{self.label_bound!r}; targets beyond are clamped, and it cannot be taken from y without spending privacy"
            )
        return {"label_range": (low, high)}

    def _labels(self, y: NDArray[Any], given: Any) -> Any:
        _input.check_kind(given, None)
        return _input.to_numbers(y)

    def predict(self, X: Any) -> Floats:
        """The predicted number of each row, within the declared bounds.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        table = self._table(X)
        return self._model.numbers(table)


class IntervalsMixin:
    """Estimators whose coefficients can have standard errors."""

    def summary(self, *, level: float | None = None) -> Summary:
        """The coefficients with standard errors and intervals, of a model fitted with
        ``intervals=95``.

        Coefficients are per unit of each numeric column and relative to the first category of each
        other one. The errors are of sampling and of privacy noise together; all of it follows from
        what was released, at no further cost.

        Parameters
        ----------
        level : float, default=None
            The confidence level in percent; the one that the model was fitted for if not given.

        Returns
        -------
        Summary
            Prints as text, shows as HTML in a notebook, and has ``rows``.
        """
        check_is_fitted(self, "certificate_")
        model: _reticent.FittedModel = self._model  # type: ignore[attr-defined]
        return Summary(model.intervals(level))

    def conf_int(self, level: float | None = None) -> Floats:
        """The lower and upper end of each coefficient's interval, in the order of `summary`; NaN
        where not determined."""
        each = [row["interval"] for row in self.summary(level=level).rows]
        return np.array([(np.nan, np.nan) if i is None else (i["low"], i["high"]) for i in each])

    @property
    def bse_(self) -> Floats:
        """The standard error of each coefficient, in the order of `summary`; NaN where not
        determined."""
        try:
            each = [row["interval"] for row in self.summary().rows]
        except ValueError as error:
            raise AttributeError(str(error)) from error
        return np.array([np.nan if i is None else i["standard_error"] for i in each])


class LinearMixin(IntervalsMixin):
    """Estimators with one weight for each feature."""

    _linear = True

    def _take(self, model: _reticent.FittedModel) -> None:
        super()._take(model)  # type: ignore[misc]
        weights, constants = model.coefficients()
        regression = isinstance(self, PrivateRegressor)
        self.coef_ = weights[0] if regression else weights
        self.intercept_ = float(constants[0]) if regression else constants


def classes_of(declaration: Mapping[str, Any]) -> NDArray[Any]:
    """The classes that a declaration lists for its target, in its order."""
    for field in declaration.get("columns", ()):
        is_target = field.get("role") == "target" or field.get("name") == declaration.get("target")
        if is_target and field.get("categories"):
            return np.array(field["categories"])
    raise ValueError("the `declaration` must have a target with `categories`: the list of classes")
