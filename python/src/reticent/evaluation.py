"""How good a fitted model is on rows that may be public, or on private ones with noise."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

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
    epsilon: float | None = None,
    delta: float | None = None,
    adjacency: str = "replace-one",
    groups: Any = None,
    unit: Any = None,
    rows: int | None = None,
    ledger: str | PathLike[str] | None = None,
) -> dict[str, Any]:
    """Measure a fitted model. On rows that may be public the metrics are exact and not protected;
    with `epsilon` the rows may be private, and the metrics follow from counts with noise.

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
        least cost. Not with `epsilon`.
    epsilon : float, default=None
        The allowed privacy loss of metrics of private rows. The rows must be others than those of
        the fit, or the two losses add up.
    delta : float, default=None
        Additive slack of that guarantee; below one over the number of rows by default.
    adjacency : str, default="replace-one"
        Which tables must be hard to tell apart: ``replace-one``, ``add-remove-one`` or
        ``zero-out``.
    groups : list of str, default=None
        With `epsilon` and `by`: the groups there can be, known without the rows.
    unit : array of shape (n_samples,) or str, default=None
        With `epsilon` and a model of units: whose row each is, or the name of the column of `X`
        that holds it; by default the column that the model was fitted with.
    rows : int, default=None
        With `epsilon` under add-remove adjacency: a number of rows, or of units, that is known
        without the table.
    ledger : path, default=None
        With `epsilon`: the ledger to charge, before noise is drawn.

    Returns
    -------
    dict
        ``metrics``, as ``reticent evaluate --json`` gives them, and with `by` also ``groups`` and
        ``gaps``. With `epsilon` also the ``statement`` of the guarantee and, in ``noise``, the
        standard deviation that noise gives each metric.

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
    cut = _input.number("threshold", threshold, optional=True)
    texts = None if by is None else _groups(by)
    if epsilon is not None:
        if cost_fp is not None:
            raise ValueError("`cost_fp` and `cost_fn` need exact metrics: leave them out with `epsilon`, and compare thresholds by `threshold`")
        budget = {"epsilon": _input.number("epsilon", epsilon), "delta": _input.number("delta", delta, optional=True), "adjacency": str(adjacency)}
        of_units = {"unit": unit, "rows": _input.whole("rows", rows), "ledger": ledger}
        return _private(model, X, y, {"budget": budget, "by": texts, "groups": _names(texts, groups), "threshold": cut, **of_units})
    given = {"delta": delta, "groups": groups, "unit": unit, "rows": rows, "ledger": ledger}
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"`{name}` goes with `epsilon`, which measures private rows with noise: give both or neither")
    table = model._table(X)
    truth = _truth(model, _input.column(y, X, "evaluate"))
    costs = None if cost_fp is None or cost_fn is None else (float(cost_fp), float(cost_fn))
    found: dict[str, Any] = model._model.evaluate(
        table, truth, groups=texts, threshold=cut, costs=costs
    )
    return found


def _groups(by: Any) -> list[str]:
    """The group of each row as text."""
    cells = by.to_numpy() if hasattr(by, "to_numpy") else np.asarray(by, dtype=object)
    return ["" if text is None else text for text in _input.to_texts(cells)]


def _names(by: list[str] | None, groups: Any) -> list[str] | None:
    """The public names of groups, which `by` needs: those that occur are private."""
    if (by is None) != (groups is None):
        raise ValueError(
            "`by` and `groups` go together where rows are private: which groups occur is private too, so give `groups` those there can be"
        )
    return None if groups is None else [str(name) for name in groups]


def _private(model: _base.PrivateEstimator, X: Any, y: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Noisy metrics of private rows."""
    check_is_fitted(model, "certificate_")
    unit, declared = given.pop("unit"), model.plan_["problem"].get("unit")
    keys = None
    if unit is not None or declared is not None:
        column = declared["column"] if unit is None else unit
        X, keys = _input.unit_keys(column, X, drop=model.declaration is None)
    private_rows = keys is not None or given["budget"]["adjacency"].replace("_", "-").startswith("add-remove")
    truth = _truth(model, _input.column(y, X, "evaluate", private_rows=private_rows))
    found: dict[str, Any] = model._model.evaluate_privately(model._table(X), truth, units=keys, **given)
    return found


def _truth(model: _base.PrivateEstimator, y: NDArray[Any]) -> NDArray[np.float64]:
    """Targets, or the indices of classes among the declared ones; NaN for any other class."""
    if not isinstance(model, _base.PrivateClassifier):
        return _input.to_numbers(y)
    places = {key: float(place) for place, key in enumerate(_input.class_labels(model.classes_, model.classes_))}
    return np.array([places.get(key, np.nan) for key in _input.class_labels(y, model.classes_)], dtype=np.float64)
