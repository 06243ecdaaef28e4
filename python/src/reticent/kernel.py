"""Kernel models by random features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from reticent import _input
from reticent._base import PrivateClassifier, PrivateRegressor, ProbabilityMixin, Progress
from reticent._parameters import documented
from reticent._types import Adjacency, Algorithm


class KernelMixin:
    """The parameters that kernel models add to a task."""

    # A constant column would only shift phases.
    fit_intercept = False

    def _kernel(self) -> dict[str, Any] | None:
        name = str(self.kernel)  # type: ignore[attr-defined]
        shapes = {"matern": ("nu",), "rational-quadratic": ("shape",)}.get(name, ())
        return {
            "kernel": name,
            **{word: _input.number(word, getattr(self, word)) for word in shapes},
            "bandwidth": _input.number("bandwidth", self.bandwidth, optional=True),  # type: ignore[attr-defined]
            "features": _input.whole("features", self.features),  # type: ignore[attr-defined]
            "map": self.map,  # type: ignore[attr-defined]
            "form": self.form,  # type: ignore[attr-defined]
            "map_seed": _input.whole("map_seed", self.map_seed),  # type: ignore[attr-defined]
        }


@documented
class KernelClassifier(KernelMixin, ProbabilityMixin, PrivateClassifier):
    """Private kernel logistic regression by random features, for two classes or more.

    Random features of a kernel take the place of the columns. They are bounded whatever the columns
    hold, so `feature_norm` only sets the scale on which rows resemble each other.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 2))
    >>> y = (np.hypot(X[:, 0], X[:, 1]) > 0.4).astype(int)
    >>> from reticent import KernelClassifier
    >>> model = KernelClassifier(epsilon=8.0, feature_norm=0.8, classes=[0, 1], features=64, bandwidth=0.3).fit(X, y)
    >>> fresh = rng.uniform(-0.5, 0.5, size=(1000, 2))  # a score on private rows would be a release of its own
    >>> bool(model.score(fresh, (np.hypot(fresh[:, 0], fresh[:, 1]) > 0.4).astype(int)) > 0.8)
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
        kernel: str = "gaussian",
        bandwidth: float | None = None,
        features: int | None = None,
        map: str | None = None,
        form: str = "paired",
        nu: float = 1.5,
        shape: float = 1.0,
        map_seed: int | None = None,
        max_weight: float | None = None,
        algorithm: Algorithm = "auto",
        calibration: str = "tight",
        ridge: float | None = None,
        settings: Mapping[str, Any] | None = None,
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
class KernelRegressor(KernelMixin, PrivateRegressor):
    """Private kernel regression by random features, with the Huber loss.

    Random features of a kernel take the place of the columns. They are bounded whatever the columns
    hold, so `feature_norm` only sets the scale on which rows resemble each other.

    Parameters
    ----------
    threshold : float, default=0.5
        Where the loss turns linear, on the scale of targets in [-1, 1].

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 2))
    >>> y = np.cos(6.0 * X[:, 0])
    >>> from reticent import KernelRegressor
    >>> model = KernelRegressor(epsilon=8.0, feature_norm=0.8, label_bound=1.0, features=64, bandwidth=0.3).fit(X, y)
    >>> model.plan_["problem"]["features"]
    64
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
        kernel: str = "gaussian",
        bandwidth: float | None = None,
        features: int | None = None,
        map: str | None = None,
        form: str = "paired",
        nu: float = 1.5,
        shape: float = 1.0,
        map_seed: int | None = None,
        max_weight: float | None = None,
        algorithm: Algorithm = "auto",
        calibration: str = "tight",
        ridge: float | None = None,
        settings: Mapping[str, Any] | None = None,
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
