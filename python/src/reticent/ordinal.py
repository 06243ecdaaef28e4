"""Regression of ordered levels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from reticent import _input
from reticent._base import LinearMixin, PrivateRegressor, ProbabilityMixin, Progress
from reticent._parameters import documented
from reticent._types import Adjacency, Algorithm


@documented
class OrdinalRegressor(LinearMixin, ProbabilityMixin, PrivateRegressor):
    """Private cumulative logit (proportional odds) of ordered levels: whole numbers from a lowest
    to a highest, such as grades or answers on a scale.

    `predict` gives the mean of the levels, `predict_proba` the probability of each one in the order
    of `levels_`.

    Parameters
    ----------
    shares : sequence of float, default=None
        About which part of the rows has each level, from the lowest to the highest, known without
        the data: it places the thresholds between levels, which are public. Needed.
    stretch : float, default=None
        How much farther apart the thresholds lie than the log-odds of the shares, from 1 to 5: 1
        where features tell little, 2 where they explain two thirds of the levels' variance; 1.2 if
        not given.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-0.5, 0.5, size=(5000, 3))
    >>> y = np.clip(np.round(X @ [4.0, -2.0, 1.0] + rng.normal(size=5000)), -2, 2)
    >>> from reticent import OrdinalRegressor
    >>> shares = [0.1, 0.2, 0.4, 0.2, 0.1]
    >>> model = OrdinalRegressor(shares=shares, epsilon=2.0, feature_norm=1.0, label_bound=(-2, 2)).fit(X, y)
    >>> model.predict_proba(X).shape
    (5000, 5)
    """

    def __init__(
        self,
        *,
        shares: Sequence[float] | None = None,
        stretch: float | None = None,
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
        try:
            shares = None if self.shares is None else [float(share) for share in self.shares]
        except (TypeError, ValueError):
            raise ValueError(
                f"`shares` must be a sequence of numbers, one for each level from the lowest to the highest, got {self.shares!r}"
            ) from None
        return {"name": "ordinal", "shares": shares, "stretch": _input.number("stretch", self.stretch, optional=True)}

    @property
    def levels_(self) -> NDArray[Any]:
        """The levels, from the lowest to the highest: the columns of `predict_proba`."""
        check_is_fitted(self, "certificate_")
        last = self._model.last_layer() or {}
        labels = np.linspace(-1.0, 1.0, len(last["thresholds"]) + 1)
        levels: NDArray[Any] = np.round(last["offset"] + last["scale"] * labels).astype(int)
        return levels
