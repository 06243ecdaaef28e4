"""Networks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from reticent import _input
from reticent._base import PrivateClassifier, ProbabilityMixin, Progress
from reticent._parameters import documented
from reticent._types import Adjacency, Algorithm


@documented
class MLPClassifier(ProbabilityMixin, PrivateClassifier):
    """A private network with one layer of tanh units.

    Trained by clipped noisy steps, which need no convexity. Privacy is promised; no theorem bounds
    its risk.

    Parameters
    ----------
    hidden : int, default=256
        Units of the layer.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 3))
    >>> y = (np.hypot(X[:, 0], X[:, 1]) > 0.4).astype(int)
    >>> from reticent import MLPClassifier
    >>> model = MLPClassifier(epsilon=2.0, feature_norm=1.0, classes=[0, 1], hidden=8, settings={"steps": 20}).fit(X, y)
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
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
        hidden: int = 256,
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
        return {"name": "logistic"} if classes == 2 else {"name": "softmax", "classes": classes}

    def _hidden(self) -> int | None:
        if self.hidden is None:
            raise ValueError("`hidden` must be a whole number >= 1, got None")
        return _input.whole("hidden", self.hidden)
