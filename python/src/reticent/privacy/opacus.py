"""The names that users of Opacus know: accountants that are told of steps, and the noise for a
budget.

Steps are Poisson-sampled noisy sums under add-remove adjacency, as in Opacus.

>>> accountant = PRVAccountant()
>>> for _ in range(100):
...     accountant.step(noise_multiplier=1.1, sample_rate=0.01)
>>> 0.0 < accountant.get_epsilon(delta=1e-6) < 1.0
True
"""

from __future__ import annotations

from typing import Any

from reticent import _reticent, privacy

ADJACENCY: privacy.AnyAdjacency = "add-remove-one"


class _Accountant:
    """A history of steps, and what it costs."""

    def __init__(self) -> None:
        #: (noise_multiplier, sample_rate, steps), in order.
        self.history: list[tuple[float, float, int]] = []

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Count one more step."""
        if self.history and self.history[-1][:2] == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, self.history[-1][2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    def __len__(self) -> int:
        return sum(steps for _, _, steps in self.history)

    def event(self) -> privacy.Event:
        """The event of the steps so far."""
        return privacy.compose(
            *(
                privacy.poisson_gaussian(sample_rate=rate, noise_multiplier=noise, steps=steps, adjacency=ADJACENCY)
                for noise, rate, steps in self.history
            )
        )


class RDPAccountant(_Accountant):
    """Rényi divergences over all orders.

    >>> accountant = RDPAccountant()
    >>> accountant.step(noise_multiplier=1.0, sample_rate=0.1)
    >>> len(accountant)
    1
    """

    def get_epsilon(self, delta: float, alphas: Any = None) -> float:
        """The loss at `delta`, from above. Orders need not be given: all are searched."""
        return float(privacy.rdp_epsilon_upper(self.event(), delta))

    @staticmethod
    def mechanism() -> str:
        """Its word."""
        return "rdp"


class PRVAccountant(_Accountant):
    """Privacy loss distributions: the sharpest, with numerical errors on the safe side.

    >>> PRVAccountant.mechanism()
    'prv'
    """

    def get_epsilon(self, delta: float, **settings: Any) -> float:
        """The loss at `delta`, from above. Settings of the numerics are not needed."""
        return float(privacy.epsilon_upper(self.event(), delta))

    @staticmethod
    def mechanism() -> str:
        """Its word."""
        return "prv"


def create_accountant(mechanism: str) -> RDPAccountant | PRVAccountant:
    """An accountant by its word: ``rdp`` or ``prv``.

    >>> create_accountant("prv").mechanism()
    'prv'
    """
    if mechanism == "rdp":
        return RDPAccountant()
    if mechanism == "prv":
        return PRVAccountant()
    raise ValueError(f"`mechanism` must be `rdp` or `prv`, got {mechanism!r}: the limit `gdp` is no upper bound")


def get_noise_multiplier(
    *,
    target_epsilon: float,
    target_delta: float,
    sample_rate: float,
    epochs: int | None = None,
    steps: int | None = None,
    accountant: str = "prv",
    epsilon_tolerance: float | None = None,
    **settings: Any,
) -> float:
    """The smallest noise multiplier for a budget, on the safe side; no tolerance is needed.

    >>> 0.5 < get_noise_multiplier(target_epsilon=3.0, target_delta=1e-5, sample_rate=0.01, epochs=10) < 1.5
    True
    """
    if (epochs is None) == (steps is None):
        raise ValueError("give either `epochs` or `steps`")
    count = int(epochs / sample_rate) if epochs is not None else int(steps or 0)
    if accountant == "prv":
        return _reticent.noise_multiplier_for(target_epsilon, target_delta, "poisson", sample_rate, count, ADJACENCY)
    create_accountant(accountant)

    def spent(noise: float) -> float:
        event = privacy.poisson_gaussian(sample_rate=sample_rate, noise_multiplier=noise, steps=count, adjacency=ADJACENCY)
        return float(privacy.rdp_epsilon_upper(event, target_delta))

    return smallest(spent, target_epsilon)


def smallest(spent: Any, budget: float) -> float:
    """The least number at which a falling cost is within the budget, from above and to one part in
    a million."""
    good = 1.0
    while spent(good) > budget:
        good *= 2.0
        if good > 1e12:
            raise ValueError(f"no noise reaches epsilon = {budget}; allow fewer steps or more epsilon")
    bad = good / 2.0
    while spent(bad) <= budget and bad > 1e-6:
        good, bad = bad, bad / 2.0
    while good / bad > 1.0 + 1e-6:
        middle = (good * bad) ** 0.5
        if spent(middle) <= budget:
            good = middle
        else:
            bad = middle
    return good
