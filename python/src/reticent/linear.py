"""Linear models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from reticent import _input
from reticent._base import (
    LinearMixin,
    PrivateClassifier,
    PrivateRegressor,
    ProbabilityMixin,
    Progress,
)
from reticent._parameters import documented
from reticent._types import Adjacency, Algorithm


@documented
class LogisticRegression(LinearMixin, ProbabilityMixin, PrivateClassifier):
    """Private logistic regression, for two classes or more.

    Minimises the average cross-entropy plus ``(ridge/2)|w|^2``. Unlike scikit-learn's, the
    intercept is part of the row and shares the ridge.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 3))
    >>> y = (X @ [2.0, -1.0, 0.5] > 0).astype(int)
    >>> from reticent import LogisticRegression
    >>> model = LogisticRegression(epsilon=1.0, delta=1e-6, feature_norm=1.0, classes=[0, 1]).fit(X, y)
    >>> print(model.certificate_["statement"])  # doctest: +NORMALIZE_WHITESPACE
    This model is (epsilon, delta)-differentially private with epsilon = 1 and delta = 1e-6 under
    replace-one adjacency of rows.
    >>> fresh = rng.uniform(-0.5, 0.5, size=(1000, 3))  # a score on private rows would be a release of its own
    >>> bool(model.score(fresh, (fresh @ [2.0, -1.0, 0.5] > 0).astype(int)) > 0.8)
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
        feature_norm: float | None = None,
        classes: Sequence[Any] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
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
class LinearSVC(LinearMixin, PrivateClassifier):
    """Private linear support vector machine, for two classes.

    Minimises the average of ``max(0, 1 - y<w, x>)^q`` plus ``(ridge/2)|w|^2``. For ``q > 1`` the
    gradient is unbounded: give ``settings={"radius": ...}`` or ``{"slope_limit": ...}``.

    Parameters
    ----------
    q : float, default=1.0
        The exponent, between 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 3))
    >>> y = np.where(X @ [2.0, -1.0, 0.5] > 0, "yes", "no")
    >>> from reticent import LinearSVC
    >>> model = LinearSVC(epsilon=2.0, feature_norm=1.0, classes=["no", "yes"], settings={"radius": 10.0}).fit(X, y)
    >>> model.classes_.tolist()
    ['no', 'yes']
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
        feature_norm: float | None = None,
        classes: Sequence[Any] | None = None,
        class_weight: Mapping[Any, float] | str | None = None,
        declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
        q: float = 1.0,
        max_weight: float | None = None,
        algorithm: Algorithm = "auto",
        calibration: str = "tight",
        ridge: float | None = None,
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
        if classes != 2:
            raise ValueError(
                f"Only binary classification is supported: LinearSVC needs two `classes`, got {classes}; LogisticRegression "
                "takes more"
            )
        return {"name": "hinge", "q": _input.number("q", self.q)}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@documented
class LinearRegression(LinearMixin, PrivateRegressor):
    """Private least squares.

    Minimises the average of half the squared residual. Residuals of a linear model are unbounded,
    so an algorithm may ask for ``settings={"radius": ...}`` or ``{"slope_limit": ...}``, on the
    scale of targets in [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 3))
    >>> y = X @ [2.0, -1.0, 0.5]
    >>> from reticent import LinearRegression
    >>> model = LinearRegression(epsilon=2.0, feature_norm=1.0, label_bound=2.0, settings={"radius": 3.0}).fit(X, y)
    >>> model.coef_.shape
    (3,)
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
        feature_norm: float | None = None,
        label_bound: float | tuple[float, float] | None = None,
        declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
        max_weight: float | None = None,
        algorithm: Algorithm = "auto",
        calibration: str = "tight",
        ridge: float | None = None,
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
        return {"name": "squared"}


@documented
class Ridge(LinearMixin, PrivateRegressor):
    """Private least squares with a declared ridge.

    Minimises the average of half the squared residual plus ``(ridge/2)|w|^2``. Residuals of a
    linear model are unbounded, so an algorithm may ask for ``settings={"radius": ...}`` or
    ``{"slope_limit": ...}``, on the scale of targets in [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 3))
    >>> y = X @ [2.0, -1.0, 0.5]
    >>> from reticent import Ridge
    >>> model = Ridge(epsilon=2.0, ridge=0.1, feature_norm=1.0, label_bound=2.0, settings={"radius": 3.0}).fit(X, y)
    >>> model.coef_.shape
    (3,)
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
        feature_norm: float | None = None,
        label_bound: float | tuple[float, float] | None = None,
        declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
        max_weight: float | None = None,
        algorithm: Algorithm = "auto",
        calibration: str = "tight",
        ridge: float = 0.1,
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
        return {"name": "squared"}


@documented
class HuberRegressor(LinearMixin, PrivateRegressor):
    """Private regression that far-off rows cannot pull far.

    Minimises the average of a loss that is squared near zero and linear beyond `threshold`, so
    every gradient is bounded.

    Parameters
    ----------
    threshold : float, default=0.5
        Where the loss turns linear, on the scale of targets in [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 3))
    >>> y = X @ [2.0, -1.0, 0.5]
    >>> from reticent import HuberRegressor
    >>> model = HuberRegressor(epsilon=2.0, feature_norm=1.0, label_bound=2.0).fit(X, y)
    >>> bool(np.abs(model.predict(X)).max() <= 2.0)
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
        feature_norm: float | None = None,
        label_bound: float | tuple[float, float] | None = None,
        declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
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


@documented
class LinearSVR(LinearMixin, PrivateRegressor):
    """Private regression by absolute residuals.

    Minimises the average of ``|<w, x> - y|^q``; with ``q = 1``, the default, that is the median
    rather than the mean.

    Parameters
    ----------
    q : float, default=1.0
        The exponent, between 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 3))
    >>> y = X @ [2.0, -1.0, 0.5]
    >>> from reticent import LinearSVR
    >>> model = LinearSVR(epsilon=2.0, feature_norm=1.0, label_bound=2.0, settings={"radius": 3.0}).fit(X, y)
    >>> model.plan_["algorithm"] in {a["name"] for a in __import__("reticent").algorithms()}
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
        feature_norm: float | None = None,
        label_bound: float | tuple[float, float] | None = None,
        declaration: Mapping[str, Any] | str | PathLike[str] | None = None,
        q: float = 1.0,
        max_weight: float | None = None,
        algorithm: Algorithm = "auto",
        calibration: str = "tight",
        ridge: float | None = None,
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
        return {"name": "power", "q": _input.number("q", self.q)}
