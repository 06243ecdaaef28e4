"""How good a fitted model is on rows that may be public."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from reticent import _base, _input


def evaluate(
    model: _base.PrivateEstimator,
    X: Any,
    y: Any,
    *,
    by: Any = None,
    threshold: float | None = None,
    cost_fp: float | None = None,
    cost_fn: float | None = None,
) -> dict[str, Any]:
    """Measure a fitted model on rows that may be public: the metrics are exact and not protected.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : array, sparse matrix or table of shape (n_samples, n_features)
        The rows.
    y : array of shape (n_samples,)
        The true targets of the rows. A row whose class is not declared, or whose number is not
        finite, is left out.
    by : array of shape (n_samples,), default=None
        The group of each row: metrics of each group come too, for reviews of fairness.
    threshold : float, default=None
        The probability from which on the positive class is predicted; 0.5 if not given.
    cost_fp, cost_fn : float, default=None
        The costs of a false positive and of a false negative: ``best_threshold`` is the one of the
        least cost.

    Returns
    -------
    dict
        ``metrics``, as ``reticent evaluate --json`` gives them, and with `by` also ``groups`` and
        ``gaps``.

    Examples
    --------
    >>> import numpy as np, reticent
    >>> X, y = np.eye(2).repeat(50, axis=0), np.array([0, 1]).repeat(50)
    >>> model = reticent.LogisticRegression(epsilon=10.0, feature_norm=1.0, classes=[0, 1]).fit(X, y)
    >>> reticent.evaluate(model, X, y)["metrics"]["rows"]
    100
    """
    if (cost_fp is None) != (cost_fn is None):
        raise ValueError("`cost_fp` and `cost_fn` go together: give what each of the two errors costs")
    table = model._table(X)
    truth = _truth(model, _input.column(y, X, "evaluate"))
    groups = None
    if by is not None:
        cells = by.to_numpy() if hasattr(by, "to_numpy") else np.asarray(by, dtype=object)
        groups = ["" if text is None else text for text in _input.to_texts(cells)]
    costs = None if cost_fp is None or cost_fn is None else (float(cost_fp), float(cost_fn))
    found: dict[str, Any] = model._model.evaluate(
        table, truth, groups=groups, threshold=_input.number("threshold", threshold, optional=True), costs=costs
    )
    return found


def _truth(model: _base.PrivateEstimator, y: NDArray[Any]) -> NDArray[np.float64]:
    """Targets, or the indices of classes among the declared ones; NaN for any other class."""
    if not isinstance(model, _base.PrivateClassifier):
        return _input.to_numbers(y)
    places = {key: float(place) for place, key in enumerate(_input.class_labels(model.classes_, model.classes_))}
    return np.array([places.get(key, np.nan) for key in _input.class_labels(y, model.classes_)], dtype=np.float64)
