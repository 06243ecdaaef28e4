"""Regression by a loss that is chosen by its name."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

from reticent import _input, _reticent
from reticent._base import LinearMixin, PrivateRegressor, Progress
from reticent._parameters import documented
from reticent._types import Adjacency, Algorithm


@documented
class GeneralizedLinearRegressor(LinearMixin, PrivateRegressor):
    """Private regression by a loss that is chosen by its name.

    Parameters
    ----------
    loss : str, default="huber"
        The name of a loss for regression: see `reticent.losses`.
    q : float, default=None
        The exponent of a loss that has one; its own default if not given.
    threshold : float, default=None
        The threshold of a loss that has one, on the scale of encoded targets; its own default if
        not given.
    quantile : float, default=None
        The quantile of the loss ``"pinball"``; the median if not given.
    dispersion : float, default=None
        The dispersion of the loss ``"negative-binomial"`` times the upper bound of the target; 10
        if not given.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 3))
    >>> y = X @ [2.0, -1.0, 0.5]
    >>> from reticent import GeneralizedLinearRegressor
    >>> model = GeneralizedLinearRegressor(loss="huber", epsilon=2.0, feature_norm=1.0, label_bound=2.0).fit(X, y)
    >>> bool(np.abs(model.predict(X)).max() <= 2.0)
    True
    """

    def __init__(
        self,
        *,
        loss: str = "huber",
        q: float | None = None,
        threshold: float | None = None,
        quantile: float | None = None,
        dispersion: float | None = None,
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
        numbers = [name for name, _, is_number in _reticent.losses() if is_number]
        if self.loss not in numbers:
            raise ValueError(f"`loss` must be a loss for regression, one of {', '.join(numbers)}, got {self.loss!r}")
        words = ("q", "threshold", "quantile", "dispersion")
        return {"name": self.loss, **{word: _input.number(word, getattr(self, word), optional=True) for word in words}}
