"""Pictures: the privacy profile, the trade-off curve, accuracy against epsilon, the planner's
ranking, and curves of additive models.

Each function draws on the given matplotlib axes, or on new ones, and returns them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reticent import privacy
from reticent._extras import needs
from reticent._scales import SCALES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from reticent._base import PrivateEstimator


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    made: Axes = needs("matplotlib.pyplot", "plots", "a plot").subplots()[1]
    return made


def _event(of: privacy.Event | PrivateEstimator) -> privacy.Event:
    """An event, or that of a fitted estimator."""
    return of if isinstance(of, privacy.Event) else privacy.event(of.certificate_["event"])


def privacy_profile(of: privacy.Event | PrivateEstimator, *, epsilons: Sequence[float] | None = None, ax: Axes | None = None) -> Axes:
    """Draw delta against epsilon.

    Parameters
    ----------
    of : Event or fitted estimator
        The event, or the estimator with its event.
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


def trade_off(of: privacy.Event | PrivateEstimator, *, rates: Sequence[float] | None = None, ax: Axes | None = None) -> Axes:
    """Draw the best true-positive rate of any attack against its false-positive rate.

    Parameters
    ----------
    of : Event or fitted estimator
        The event, or the estimator with its event.
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


def epsilon_accuracy(scores: Mapping[float, Any], *, ax: Axes | None = None) -> Axes:
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


def ranking(plans: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the predicted excess risk of a planner's ranking.

    Parameters
    ----------
    plans : pandas.DataFrame
        The result of `reticent.plan`.
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


def curves(of: Any, columns: Sequence[str] | None = None, *, axes: Any = None) -> NDArray[Any]:
    """Draw what each column of an additive model adds to its prediction.

    Parameters
    ----------
    of : fitted additive estimator
        The estimator whose curves are drawn. The band is twice the noise to either side, where the
        release knows it.
    columns : list of str, default=None
        Which columns; all if not given.
    axes : array of matplotlib axes, default=None
        Where to draw, one for each column; new ones if not given.

    Returns
    -------
    ndarray of matplotlib axes

    Examples
    --------
    >>> import numpy as np, reticent
    >>> X = np.linspace(0.0, 1.0, 2000).reshape(-1, 1)
    >>> model = reticent.AdditiveRegressor(epsilon=2.0, bounds=(0.0, 1.0), label_bound=1.0).fit(X, np.cos(6.0 * X[:, 0]))
    >>> [ax.get_xlabel() for ax in reticent.plot.curves(model)]
    ['x0']
    """
    names = list(of.curves_) if columns is None else list(columns)
    unknown = [name for name in names if name not in of.curves_]
    if unknown:
        raise ValueError(f"`columns` must be names of curves, got {unknown[0]!r}; the model has {', '.join(of.curves_)}")
    if axes is None:
        plt = needs("matplotlib.pyplot", "plots", "a plot")

        wide = min(3, len(names))
        figure, grid = plt.subplots(-(-len(names) // wide), wide, figsize=(4 * wide, 3 * -(-len(names) // wide)), squeeze=False)
        axes = grid.ravel()[: len(names)]
        for empty in grid.ravel()[len(names) :]:
            empty.set_axis_off()
        figure.set_layout_engine("tight")
    drawn: NDArray[Any] = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
    if len(drawn) != len(names):
        raise ValueError(f"`axes` must be one for each of {len(names)} columns, got {len(drawn)}")
    for ax, name in zip(drawn, names, strict=True):
        _curve(ax, name, of.curves_[name])
    return drawn


def _curve(ax: Any, name: str, curve: Mapping[str, Any]) -> None:
    """One curve, or bars of categories, for each output."""
    noise = None if curve["noise"] is None else 2.0 * curve["noise"]
    for values in np.atleast_2d(curve["values"]):
        if curve["kind"] == "categories":
            ax.bar(curve["places"], values, yerr=noise, capsize=3, alpha=0.7)
            continue
        knots, reach = curve["knots"], noise
        if curve["kind"] == "bins":
            knots, values = np.repeat(knots, 2)[1:-1], np.repeat(values, 2)
            reach = None if noise is None else np.repeat(noise, 2)
        elif curve["scale"] != "linear":
            # Straight on the column's scale, and bent on that of the picture.
            on_scale, fine = SCALES[curve["scale"]], np.linspace(knots[0], knots[-1], 200)
            values = np.interp(on_scale(fine), on_scale(knots), values)
            reach = None if noise is None else np.interp(on_scale(fine), on_scale(knots), noise)
            knots = fine
        (line,) = ax.plot(knots, values)
        if reach is not None:
            ax.fill_between(knots, values - reach, values + reach, alpha=0.2, color=line.get_color())
    if curve["kind"] == "categories":
        ax.tick_params(axis="x", rotation=45)
    ax.set(xlabel=name, ylabel="adds")
