"""A private choice among settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from sklearn.base import clone

from reticent import _input, _reticent
from reticent._base import PrivateEstimator
from reticent._progress import shown

Estimator = TypeVar("Estimator", bound=PrivateEstimator)


def tune(
    estimator: Estimator,
    X: Any,
    y: Any = None,
    *,
    tries: Sequence[Mapping[str, Any]] | None = None,
    trials: float = 16.0,
    sample_weight: Any = None,
    unit: Any = None,
    max_rows: int | None = None,
) -> Estimator:
    """Try several settings on the private rows, keep the best run, and pay for the choice.

    The budget of the estimator pays for everything: how many runs there are is drawn and stays
    secret, each run gets a third to a half of epsilon, and each is scored with noise. A grid search
    would pay for every fit, and its scores would cost besides.

    Parameters
    ----------
    estimator : estimator of `reticent`
        The estimator with its declaration and its budget. It stays as it is.
    X, y, sample_weight, unit, max_rows
        As of the estimator's `fit`.
    tries : list of dict, default=None
        Candidates: settings by their names, ``{"algorithm": "clipped-sgd", "clip": 0.5}``, in
        place of the estimator's. The list must not be made by looking at the rows. Without it the
        planner's first algorithms are tried with several ridges and distances.
    trials : float, default=16.0
        How many runs there are on average, from 1.5 to 200.

    Returns
    -------
    estimator
        A fitted copy. Its ``tuning_`` holds what is published beside it: ``candidate``, the place
        of what was chosen among ``candidates``, ``settings``, what was given for it (None where the
        planner chose), ``score``, how many rows it predicts right (a number counts the more the
        nearer its prediction), and ``score_noise``, the standard deviation of the noise in that.

    Examples
    --------
    >>> import numpy as np, reticent
    >>> X, y = np.eye(2).repeat(500, axis=0), np.array([0, 1]).repeat(500)
    >>> model = reticent.LogisticRegression(epsilon=8.0, delta=1e-5, feature_norm=1.0, classes=[0, 1])
    >>> found = reticent.tune(model, X, y, tries=[{"algorithm": "objective"}, {"algorithm": "objective", "ridge": 0.001}])
    >>> found.tuning_["candidates"], found.verify()["pass"]
    (2, True)
    """
    if not isinstance(estimator, PrivateEstimator):
        raise ValueError(f"`estimator` must be an estimator of reticent, got {type(estimator).__name__}")
    found: Estimator = clone(estimator)
    budget, settings, task = found._budget(), found._settings(), found._task()
    given = [_tried(settings, entry) for entry in _listed(tries)]
    trials = _input.number("trials", trials) or 0.0
    seed = _input.seed_of(found.random_state)
    table, labels, more = found._rows_of(X, y, sample_weight, (unit, max_rows), task)
    # Progress would show the number of runs, which is secret.
    with shown(False, found.verbose):
        model, candidate, score = _reticent.tune(
            table, labels, budget=budget, settings=settings, tries=given, trials=trials, seed=seed, **more
        )
    found._take(model)
    selection = found.certificate_["selection"]
    found.tuning_ = {
        "candidate": candidate,
        "candidates": len(selection["candidates"]),
        "settings": dict(tries[candidate]) if tries else None,
        "score": score,
        "score_noise": selection["score_noise"],
    }
    return found


def _listed(tries: Any) -> list[Any]:
    """The candidates, as a list; empty for the planner's choice."""
    if tries is None:
        return []
    if isinstance(tries, Mapping | str) or not isinstance(tries, Sequence) or not tries:
        raise ValueError(f'`tries` must be a list of dictionaries such as {{"algorithm": "objective", "ridge": 0.001}}, got {tries!r}')
    return list(tries)


def _tried(settings: Mapping[str, Any], entry: Any) -> dict[str, Any]:
    """The estimator's settings with those of one entry in their place."""
    if not isinstance(entry, Mapping):
        raise ValueError(f'each of `tries` must be a dictionary such as {{"algorithm": "objective", "ridge": 0.001}}, got {entry!r}')
    tried = {**settings, **_input.plain(entry)}
    if tried["algorithm"] == "auto":
        raise ValueError(f"each of `tries` must name its `algorithm`, got {dict(entry)!r}; `reticent.algorithms()` lists them")
    return tried
