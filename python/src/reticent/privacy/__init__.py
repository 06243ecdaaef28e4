"""The privacy cost of a release: events, accountants, calibration, trade-off curves.

An `Event` says what was done to the data. Every ``..._upper`` is a bound that the true loss does
not exceed, every ``..._lower`` one that it is not below. Numbers may be arrays.

>>> from reticent import privacy
>>> event = privacy.poisson_gaussian(sample_rate=0.01, noise_multiplier=1.2, steps=1000, adjacency="add-remove-one")
>>> round(privacy.epsilon_upper(event, 1e-6), 2)
1.5
>>> privacy.epsilon_upper(event, [1e-5, 1e-6]).shape
(2,)

`reticent.privacy.dp_accounting` and `reticent.privacy.opacus` have the names that users of those
packages know.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from reticent import _reticent
from reticent._reticent import Event
from reticent._types import Adjacency, UnitAdjacency

__all__ = [
    "Event",
    "approx_dp",
    "compose",
    "delta_lower",
    "delta_upper",
    "epsilon_attained",
    "epsilon_lower",
    "epsilon_upper",
    "event",
    "explain",
    "fixed_size_gaussian",
    "gaussian",
    "gdp",
    "group",
    "laplace",
    "noise_multiplier_for",
    "noise_multiplier_for_risk",
    "poisson_gaussian",
    "pure_dp",
    "rdp",
    "rdp_epsilon_upper",
    "repeat",
    "risk_bounds",
    "sample_rate_for",
    "steps_for",
    "true_positive_rate_upper",
    "zcdp",
]

AnyAdjacency = Adjacency | UnitAdjacency
Floats = NDArray[np.float64]
Numbers = Sequence[float] | NDArray[Any]


def _each(question: Callable[[Sequence[float]], list[float]], numbers: ArrayLike) -> float | Floats:
    array = np.asarray(numbers, dtype=float)
    found = np.array(question(array.ravel().tolist())).reshape(array.shape)
    return found if array.ndim else float(found)


def event(description: Mapping[str, Any]) -> Event:
    """Any event, by the fields that certificates and ``reticent explain`` use.

    >>> event({"kind": "gdp", "mu": 1.0, "adjacency": "replace-one"}).adjacency
    'replace-one'
    """
    return Event(description)


def gaussian(noise_multiplier: float, *, adjacency: AnyAdjacency = "replace-one") -> Event:
    """One vector plus normal noise; the multiplier is the deviation over the sensitivity under
    `adjacency`.

    >>> round(epsilon_upper(gaussian(4.0), 1e-6), 3)
    1.061
    """
    return Event({"kind": "gaussian", "noise_multiplier": noise_multiplier, "adjacency": adjacency})


def gdp(mu: float, *, adjacency: AnyAdjacency = "replace-one") -> Event:
    """A `mu`-GDP release.

    >>> gdp(0.25).to_dict() == {"kind": "gdp", "mu": 0.25, "adjacency": "replace-one"}
    True
    """
    return Event({"kind": "gdp", "mu": mu, "adjacency": adjacency})


def laplace(noise_multiplier: float, *, adjacency: AnyAdjacency = "replace-one") -> Event:
    """Laplace noise on each coordinate; the multiplier is the scale over the l1 sensitivity.

    >>> round(epsilon_upper(laplace(2.0), 0.0), 9)
    0.5
    """
    return Event({"kind": "laplace", "noise_multiplier": noise_multiplier, "adjacency": adjacency})


def pure_dp(epsilon: float, *, adjacency: AnyAdjacency = "replace-one") -> Event:
    """Any `epsilon`-differentially private release.

    >>> epsilon_upper(pure_dp(1.0), 0.0) >= 1.0
    True
    """
    return Event({"kind": "pure-dp", "epsilon": epsilon, "adjacency": adjacency})


def approx_dp(epsilon: float, delta: float, *, adjacency: AnyAdjacency = "replace-one") -> Event:
    """Any (`epsilon`, `delta`)-differentially private release.

    >>> epsilon_upper(approx_dp(1.0, 1e-7), 1e-6) <= 1.0 + 1e-9
    True
    """
    return Event({"kind": "approx-dp", "epsilon": epsilon, "delta": delta, "adjacency": adjacency})


def zcdp(rho: float, *, adjacency: AnyAdjacency = "replace-one") -> Event:
    """Any `rho`-zCDP release.

    >>> epsilon_upper(zcdp(0.1), 1e-6) > 1.0
    True
    """
    return Event({"kind": "zcdp", "rho": rho, "adjacency": adjacency})


def poisson_gaussian(
    *, sample_rate: float, noise_multiplier: float, steps: int = 1, adjacency: AnyAdjacency = "replace-one"
) -> Event:
    """Noisy sums over batches that each row joins independently; the multiplier is the deviation
    over the clip norm.

    >>> poisson_gaussian(sample_rate=0.01, noise_multiplier=1.0, steps=10).adjacency
    'replace-one'
    """
    return _reticent.sampled_gaussian("poisson", sample_rate, noise_multiplier, steps, adjacency)


def fixed_size_gaussian(
    *, batch: int, rows: int, noise_multiplier: float, steps: int = 1, adjacency: AnyAdjacency = "replace-one"
) -> Event:
    """Noisy sums over uniform subsets of exactly `batch` of `rows` rows.

    >>> fixed_size_gaussian(batch=10, rows=1000, noise_multiplier=2.0).adjacency
    'replace-one'
    """
    fields = {"batch": batch, "rows": rows, "noise_multiplier": noise_multiplier, "steps": steps}
    return Event({"kind": "fixed-size-gaussian", **fields, "adjacency": adjacency})


def compose(*events: Event) -> Event:
    """One event after another on the same data.

    >>> two = compose(gaussian(4.0), gaussian(4.0))
    >>> abs(epsilon_upper(two, 1e-6) - epsilon_upper(gaussian(4.0 / 2**0.5), 1e-6)) < 1e-3
    True
    """
    return Event({"kind": "composed", "events": [e.to_dict() for e in events]})


def repeat(event: Event, times: int) -> Event:
    """The same event over and over on the same data.

    >>> epsilon_upper(repeat(gaussian(4.0), 2), 1e-6) == epsilon_upper(compose(gaussian(4.0), gaussian(4.0)), 1e-6)
    True
    """
    return Event({"kind": "repeated", "event": event.to_dict(), "times": times})


def group(event: Event, size: int) -> Event:
    """The event as seen by a unit that owns up to `size` rows.

    >>> epsilon_upper(group(gaussian(4.0), 2), 1e-6) > epsilon_upper(gaussian(4.0), 1e-6)
    True
    """
    return Event({"kind": "group", "base": event.to_dict(), "size": size})


@overload
def epsilon_upper(event: Event, delta: float) -> float: ...
@overload
def epsilon_upper(event: Event, delta: Numbers) -> Floats: ...
def epsilon_upper(event: Event, delta: float | Numbers) -> float | Floats:
    """The loss at `delta` is at most this.

    >>> epsilon_upper(gaussian(1.0), 1e-5) > epsilon_lower(gaussian(1.0), 1e-5)
    True
    """
    return _each(event.epsilon_upper, delta)


@overload
def epsilon_lower(event: Event, delta: float) -> float: ...
@overload
def epsilon_lower(event: Event, delta: Numbers) -> Floats: ...
def epsilon_lower(event: Event, delta: float | Numbers) -> float | Floats:
    """The loss at `delta` of what the upper bound relies on is at least this.

    >>> epsilon_lower(gaussian(1.0), [1e-5, 1e-6]).shape
    (2,)
    """
    return _each(event.epsilon_lower, delta)


@overload
def epsilon_attained(event: Event, delta: float) -> float: ...
@overload
def epsilon_attained(event: Event, delta: Numbers) -> Floats: ...
def epsilon_attained(event: Event, delta: float | Numbers) -> float | Floats:
    """Some two neighbouring tables lose at least this at `delta`.

    >>> epsilon_attained(gaussian(1.0), 1e-5) <= epsilon_upper(gaussian(1.0), 1e-5)
    True
    """
    return _each(event.epsilon_attained, delta)


@overload
def rdp_epsilon_upper(event: Event, delta: float) -> float: ...
@overload
def rdp_epsilon_upper(event: Event, delta: Numbers) -> Floats: ...
def rdp_epsilon_upper(event: Event, delta: float | Numbers) -> float | Floats:
    """The loss at `delta` by Rényi divergences: never below the sharper `epsilon_upper`.

    >>> e = poisson_gaussian(sample_rate=0.01, noise_multiplier=1.0, steps=100, adjacency="add-remove-one")
    >>> rdp_epsilon_upper(e, 1e-6) >= epsilon_upper(e, 1e-6)
    True
    """
    return _each(event.epsilon_rdp, delta)


@overload
def delta_upper(event: Event, epsilon: float) -> float: ...
@overload
def delta_upper(event: Event, epsilon: Numbers) -> Floats: ...
def delta_upper(event: Event, epsilon: float | Numbers) -> float | Floats:
    """The additive slack delta at `epsilon` is at most this: the privacy profile.

    >>> delta_upper(gaussian(1.0), [0.5, 1.0, 2.0]).shape
    (3,)
    """
    return _each(event.delta_upper, epsilon)


@overload
def delta_lower(event: Event, epsilon: float) -> float: ...
@overload
def delta_lower(event: Event, epsilon: Numbers) -> Floats: ...
def delta_lower(event: Event, epsilon: float | Numbers) -> float | Floats:
    """The additive slack delta at `epsilon` of what the upper bound relies on is at least this.

    >>> delta_lower(gaussian(1.0), 1.0) <= delta_upper(gaussian(1.0), 1.0)
    True
    """
    return _each(event.delta_lower, epsilon)


@overload
def rdp(event: Event, order: float) -> float: ...
@overload
def rdp(event: Event, order: Numbers) -> Floats: ...
def rdp(event: Event, order: float | Numbers) -> float | Floats:
    """Rényi divergences of these orders.

    >>> round(rdp(gaussian(1.0), 2.0), 9)
    1.0
    """
    return _each(event.rdp, order)


@overload
def true_positive_rate_upper(event: Event, false_positive_rate: float) -> float: ...
@overload
def true_positive_rate_upper(event: Event, false_positive_rate: Numbers) -> Floats: ...
def true_positive_rate_upper(event: Event, false_positive_rate: float | Numbers) -> float | Floats:
    """The trade-off curve: no attack has a higher true-positive rate at this false-positive rate.

    >>> 0.3 < true_positive_rate_upper(gaussian(1.0), 0.1) < 0.4
    True
    """
    return _each(event.true_positive_rate_upper, false_positive_rate)


def explain(event: Event, delta: float) -> dict[str, Any]:
    """Why the number is what it is: every accountant's bound, which is used, and the theorems.

    >>> "accountant" in explain(gaussian(1.0), 1e-6)
    True
    """
    return event.explain(delta)


def noise_multiplier_for(
    *,
    epsilon: float,
    delta: float,
    sample_rate: float = 1.0,
    steps: int = 1,
    sampling: str = "poisson",
    adjacency: AnyAdjacency = "replace-one",
) -> float:
    """The smallest noise over clip norm for a budget.

    >>> sigma = noise_multiplier_for(epsilon=1.0, delta=1e-6, sample_rate=0.01, steps=1000)
    >>> epsilon_upper(poisson_gaussian(sample_rate=0.01, noise_multiplier=sigma, steps=1000), 1e-6) <= 1.0
    True
    """
    return _reticent.noise_multiplier_for(epsilon, delta, sampling, sample_rate, steps, adjacency)


def noise_multiplier_for_risk(
    *,
    max_advantage: float | None = None,
    max_tpr: float | None = None,
    at_fpr: float | None = None,
    sample_rate: float = 1.0,
    steps: int = 1,
    sampling: str = "poisson",
    adjacency: AnyAdjacency = "replace-one",
) -> float:
    """The smallest noise over clip norm for what an attacker may do at most.

    Give `max_advantage`, the most by which the true-positive rate of any attack may exceed its
    false-positive rate, or `max_tpr`, its largest true-positive rate, with `at_fpr`, its
    false-positive rate.

    >>> sigma = noise_multiplier_for_risk(max_tpr=0.05, at_fpr=0.01, sample_rate=0.01, steps=1000)
    >>> true_positive_rate_upper(poisson_gaussian(sample_rate=0.01, noise_multiplier=sigma, steps=1000), 0.01) <= 0.05
    True
    """
    if (max_advantage is None) == (max_tpr is None) or (max_tpr is None) != (at_fpr is None):
        raise ValueError("give `max_advantage`, or `max_tpr` and `at_fpr`")
    risk = (
        {"risk": "advantage", "most": max_advantage}
        if max_tpr is None
        else {"risk": "true-positive-rate", "most": max_tpr, "false_positive_rate": at_fpr}
    )
    return _reticent.noise_multiplier_for_risk(risk, sampling, sample_rate, steps, adjacency)


def risk_bounds(event: Event, epsilon: float, delta: float) -> dict[str, Any]:
    """Upper bounds on the success of any attack, as numbers, if the event keeps this budget.

    ``advantage_upper`` is the largest true-positive rate less false-positive rate; no attack is
    better than on Gaussian noise with ``mu_upper``, but for ``slack`` (delta); ``trade_off`` holds
    points of the curve.

    >>> bounds = risk_bounds(gaussian(4.0), epsilon_upper(gaussian(4.0), 1e-6), 1e-6)
    >>> 0.249 < bounds["mu_upper"] < 0.26
    True
    """
    return event.risk_bounds(epsilon, delta)


def steps_for(
    *,
    epsilon: float,
    delta: float,
    noise_multiplier: float,
    sample_rate: float = 1.0,
    sampling: str = "poisson",
    adjacency: AnyAdjacency = "replace-one",
) -> int:
    """The largest number of steps for a budget.

    >>> steps_for(epsilon=1.0, delta=1e-6, noise_multiplier=10.0) > 0
    True
    """
    return _reticent.steps_for(epsilon, delta, sampling, sample_rate, noise_multiplier, adjacency)


def sample_rate_for(
    *, epsilon: float, delta: float, noise_multiplier: float, steps: int = 1, adjacency: AnyAdjacency = "replace-one"
) -> float:
    """The largest sample rate for a budget.

    >>> 0.0 < sample_rate_for(epsilon=1.0, delta=1e-6, noise_multiplier=1.5, steps=100) < 1.0
    True
    """
    return _reticent.sample_rate_for(epsilon, delta, noise_multiplier, steps, adjacency)
