"""The names that users of dp-accounting know: events, accountants, calibration.

>>> event = SelfComposedDpEvent(PoissonSampledDpEvent(0.01, GaussianDpEvent(1.1)), 100)
>>> accountant = PLDAccountant().compose(event)
>>> 0.0 < accountant.get_epsilon(1e-6) < 1.0
True
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from reticent import privacy
from reticent.privacy.opacus import smallest

Accountant = TypeVar("Accountant", bound="_Accountant")


class NeighboringRelation(enum.Enum):
    """Which tables are neighbours. For sampled events REPLACE_ONE has units of its own: use
    `reticent.privacy`."""

    ADD_OR_REMOVE_ONE = "add-remove-one"
    REPLACE_SPECIAL = "zero-out"


class DpEvent:
    """The mechanisms that were applied to the data."""

    def to_event(self, adjacency: privacy.AnyAdjacency) -> privacy.Event:
        """The same as an event of `reticent.privacy`."""
        raise NotImplementedError


@dataclass(frozen=True)
class NoOpDpEvent(DpEvent):
    """Nothing.

    >>> PLDAccountant().compose(NoOpDpEvent()).get_epsilon(0.0)
    0.0
    """

    def to_event(self, adjacency: privacy.AnyAdjacency) -> privacy.Event:
        """The same as an event of `reticent.privacy`."""
        return privacy.event({"kind": "none"})


@dataclass(frozen=True)
class NonPrivateDpEvent(DpEvent):
    """Something without any guarantee.

    >>> PLDAccountant().compose(NonPrivateDpEvent()).get_epsilon(0.1)
    inf
    """

    def to_event(self, adjacency: privacy.AnyAdjacency) -> privacy.Event:
        """The same as an event of `reticent.privacy`."""
        return privacy.event({"kind": "not-private"})


@dataclass(frozen=True)
class GaussianDpEvent(DpEvent):
    """Normal noise; the multiplier is the deviation over the sensitivity."""

    noise_multiplier: float

    def to_event(self, adjacency: privacy.AnyAdjacency) -> privacy.Event:
        """The same as an event of `reticent.privacy`."""
        return privacy.gaussian(self.noise_multiplier, adjacency=adjacency)


@dataclass(frozen=True)
class LaplaceDpEvent(DpEvent):
    """Laplace noise; the multiplier is the scale over the sensitivity."""

    noise_multiplier: float

    def to_event(self, adjacency: privacy.AnyAdjacency) -> privacy.Event:
        """The same as an event of `reticent.privacy`."""
        return privacy.laplace(self.noise_multiplier, adjacency=adjacency)


@dataclass(frozen=True)
class PoissonSampledDpEvent(DpEvent):
    """A Gaussian event on a batch that each row joins with a probability."""

    sampling_probability: float
    event: DpEvent

    def to_event(self, adjacency: privacy.AnyAdjacency) -> privacy.Event:
        """The same as an event of `reticent.privacy`."""
        inner, times = self.event, 1
        if isinstance(inner, SelfComposedDpEvent) and inner.count == 1:
            inner = inner.event
        if not isinstance(inner, GaussianDpEvent):
            raise ValueError("a Poisson-sampled event must hold one GaussianDpEvent; repeat it outside the sampling")
        return privacy.poisson_gaussian(
            sample_rate=self.sampling_probability,
            noise_multiplier=inner.noise_multiplier,
            steps=times,
            adjacency=adjacency,
        )


@dataclass(frozen=True)
class SelfComposedDpEvent(DpEvent):
    """The same event over and over."""

    event: DpEvent
    count: int

    def to_event(self, adjacency: privacy.AnyAdjacency) -> privacy.Event:
        """The same as an event of `reticent.privacy`."""
        return privacy.repeat(self.event.to_event(adjacency), self.count)


@dataclass(frozen=True)
class ComposedDpEvent(DpEvent):
    """One event after another."""

    events: Sequence[DpEvent]

    def to_event(self, adjacency: privacy.AnyAdjacency) -> privacy.Event:
        """The same as an event of `reticent.privacy`."""
        return privacy.compose(*(e.to_event(adjacency) for e in self.events))


class _Accountant:
    def __init__(self, neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE) -> None:
        self._adjacency: privacy.AnyAdjacency = neighboring_relation.value
        self._events: list[privacy.Event] = []

    def compose(self: Accountant, event: DpEvent, count: int = 1) -> Accountant:
        """Add an event, so many times."""
        made = event.to_event(self._adjacency)
        self._events.append(made if count == 1 else privacy.repeat(made, count))
        return self

    def supports(self, event: DpEvent) -> bool:
        """Whether the event can be analysed."""
        try:
            privacy.epsilon_upper(event.to_event(self._adjacency), 0.1)
        except ValueError:
            return False
        return True


class PLDAccountant(_Accountant):
    """Privacy loss distributions, with numerical errors on the safe side.

    >>> round(PLDAccountant().compose(GaussianDpEvent(4.0)).get_epsilon(1e-6), 3)
    1.061
    """

    def get_epsilon(self, target_delta: float) -> float:
        """The loss at delta, from above."""
        return float(privacy.epsilon_upper(privacy.compose(*self._events), target_delta))

    def get_delta(self, target_epsilon: float) -> float:
        """The additive slack of the guarantee at epsilon, from above."""
        return float(privacy.delta_upper(privacy.compose(*self._events), target_epsilon))


class RdpAccountant(_Accountant):
    """Rényi divergences over all orders.

    >>> RdpAccountant().compose(GaussianDpEvent(4.0)).get_epsilon(1e-6) > 1.061
    True
    """

    def __init__(
        self,
        orders: Sequence[float] | None = None,
        neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE,
    ) -> None:
        # Orders need not be given: all are searched.
        super().__init__(neighboring_relation)

    def get_epsilon(self, target_delta: float) -> float:
        """The loss at delta, from above."""
        return float(privacy.rdp_epsilon_upper(privacy.compose(*self._events), target_delta))

    def get_delta(self, target_epsilon: float) -> float:
        """The additive slack of the guarantee at epsilon, from above."""
        found = privacy.compose(*self._events).delta_rdp([target_epsilon])
        return found[0]


def calibrate_dp_mechanism(
    make_fresh_accountant: Callable[[], Any],
    make_event_from_param: Callable[[float], DpEvent],
    target_epsilon: float,
    target_delta: float,
    **settings: Any,
) -> float:
    """The least parameter, such as a noise multiplier, whose event is within the budget; the cost
    must fall with it.

    >>> sigma = calibrate_dp_mechanism(PLDAccountant, GaussianDpEvent, 1.0, 1e-6)
    >>> PLDAccountant().compose(GaussianDpEvent(sigma)).get_epsilon(1e-6) <= 1.0
    True
    """

    def spent(parameter: float) -> float:
        return float(make_fresh_accountant().compose(make_event_from_param(parameter)).get_epsilon(target_delta))

    return smallest(spent, target_epsilon)
