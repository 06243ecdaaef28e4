"""Pictures: the privacy profile, the trade-off curve, accuracy against epsilon, and the planner's ranking.

Each function draws on the given matplotlib axes, or on new ones, and returns them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from reticent import privacy


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots()[1]


def _event(of: Any) -> privacy.Event:
    """An event, or that of a fitted estimator."""
    return of if isinstance(of, privacy.Event) else privacy.event(of.certificate_["event"])


def privacy_profile(of: Any, *, epsilons: Sequence[float] | None = None, ax: Any = None) -> Any:
    """Draw delta against epsilon.

    Parameters
    ----------
    of : Event or fitted estimator
        What to draw.
    epsilons : sequence of float, default=None
        Where; from 0 to where delta is negligible if not given.
    ax : matplotlib axes, default=None
        Where to draw.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from reticent import plot, privacy
    >>> plot.privacy_profile(privacy.gaussian(2.0)).get_xlabel()
    'epsilon'
    """
    event, ax = _event(of), _axes(ax)
    end = min(float(privacy.epsilon_upper(event, 1e-12)), 100.0)
    grid = np.linspace(0.0, end, 60) if epsilons is None else np.asarray(epsilons, dtype=float)
    ax.semilogy(grid, privacy.delta_upper(event, grid))
    ax.set(xlabel="epsilon", ylabel="delta, at most", title=f"privacy profile, {event.adjacency} adjacency")
    return ax


def trade_off(of: Any, *, rates: Sequence[float] | None = None, ax: Any = None) -> Any:
    """Draw the best true-positive rate of any attack against its false-positive rate.

    Parameters
    ----------
    of : Event or fitted estimator
        What to draw.
    rates : sequence of float, default=None
        False-positive rates.
    ax : matplotlib axes, default=None
        Where to draw.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from reticent import plot, privacy
    >>> plot.trade_off(privacy.gaussian(2.0)).get_xlabel()
    'false-positive rate'
    """
    event, ax = _event(of), _axes(ax)
    grid = np.linspace(0.0, 1.0, 41) if rates is None else np.asarray(rates, dtype=float)
    ax.plot(grid, privacy.true_positive_rate_upper(event, grid), label="any attack, at most")
    ax.plot(grid, grid, linestyle="--", color="gray", label="guessing")
    ax.set(xlabel="false-positive rate", ylabel="true-positive rate", xlim=(0, 1), ylim=(0, 1), title="what an attack can reach")
    ax.legend()
    return ax


def epsilon_accuracy(scores: Mapping[float, Any], *, ax: Any = None) -> Any:
    """Draw scores, one or several of each, against epsilon.

    Parameters
    ----------
    scores : dict from epsilon to a score or a list of scores
        Measured on data that you call public.
    ax : matplotlib axes, default=None
        Where to draw.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from reticent import plot
    >>> plot.epsilon_accuracy({0.5: [0.80, 0.81], 1.0: [0.83, 0.84]}).get_xscale()
    'log'
    """
    ax = _axes(ax)
    epsilons = sorted(scores)
    means = [float(np.mean(scores[e])) for e in epsilons]
    spreads = [float(np.std(scores[e])) for e in epsilons]
    ax.errorbar(epsilons, means, yerr=spreads, marker="o", capsize=3)
    ax.set(xscale="log", xlabel="epsilon", ylabel="score", title="score against privacy loss")
    return ax


def ranking(plans: Any, *, ax: Any = None) -> Any:
    """Draw the predicted excess risk of a planner's ranking.

    Parameters
    ----------
    plans : pandas.DataFrame
        What `reticent.plan` returns.
    ax : matplotlib axes, default=None
        Where to draw.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import reticent
    >>> reticent.plot.ranking(reticent.plan(n=1000, d=5, epsilon=1.0)).get_xlabel()
    'predicted excess risk, at most'
    """
    ax = _axes(ax)
    known = plans.dropna(subset=["predicted_excess"]).iloc[::-1]
    ax.barh(known["algorithm"], known["predicted_excess"])
    ax.set(xscale="log", xlabel="predicted excess risk, at most", title="planned without data; the planner's first on top")
    return ax
