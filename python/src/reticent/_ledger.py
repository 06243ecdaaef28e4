"""The budget of a data set, in a file that the command shares."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike, fspath
from os.path import abspath
from typing import TYPE_CHECKING, Any, Literal

from reticent import _reticent
from reticent._types import Adjacency

if TYPE_CHECKING:
    from reticent.privacy import Event


class Ledger:
    """The budget of one data set, and what was charged to it.

    Give its path as `ledger=` to an estimator, and a fit is charged before it reads a row; a fit
    that no longer fits the budget raises `OverBudget`.

    Parameters
    ----------
    path : path
        A ledger that `Ledger.init` or ``reticent ledger init`` made.

    Attributes
    ----------
    None
        `show` and `history` read the content of the ledger.

    Examples
    --------
    >>> import os, tempfile
    >>> import reticent
    >>> path = os.path.join(tempfile.mkdtemp(), "clinic.ledger")
    >>> book = reticent.Ledger.init(path, epsilon=3.0, delta=1e-6)
    >>> book.charge("survey of 2024", epsilon=1.0)
    1
    >>> round(book.show()["left"], 3)
    2.0
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        # Whole, so that a copy in another process or folder opens the same file.
        self._path = abspath(path)
        self._book = _reticent.Book.open(self._path)

    @classmethod
    def init(
        cls,
        path: str | PathLike[str],
        *,
        epsilon: float,
        delta: float = 0.0,
        adjacency: Adjacency = "replace-one",
        unit: str | None = None,
        filter: Literal["auto", "gaussian", "basic"] = "auto",
    ) -> Ledger:
        """Make a new file.

        Parameters
        ----------
        path : path
            Where; a file that is there is never replaced.
        epsilon, delta, adjacency
            The budget of the data set.
        unit : str, default=None
            The column that tells the protected units apart: the budget is each unit's, and pays for
            fits with this unit alone.
        filter : {"auto", "gaussian", "basic"}, default="auto"
            How charges are added up.

        Returns
        -------
        Ledger
        """
        budget = {"epsilon": float(epsilon), "delta": float(delta), "adjacency": adjacency}
        _reticent.Book.create(fspath(path), budget, unit=unit, filter=filter)
        return cls(path)

    def show(self) -> dict[str, Any]:
        """The spent and the remaining budget.

        Returns
        -------
        dict
            ``budget``, ``left`` (epsilon at the budget's delta), ``charges`` and more, as
            ``reticent ledger show --json`` says.
        """
        return self._book.show()

    def history(self) -> list[dict[str, Any]]:
        """Every record, the first one first.

        Returns
        -------
        list of dict
        """
        return self._book.history()

    def check(self) -> dict[str, Any]:
        """Whether the records hold together.

        Returns
        -------
        dict
        """
        return self._book.check()

    def charge(
        self,
        label: str,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        event: Event | Mapping[str, Any] | None = None,
        unit: str | None = None,
    ) -> int:
        """Pay for something done elsewhere; it counts as begun at once.

        Parameters
        ----------
        label : str
            A description of the release, in one line.
        epsilon : float, default=None
            A bound on its loss at `delta`.
        delta : float, default=0.0
            The delta of the bound, or that at which an event is analysed.
        event : Event or dict, default=None
            The event of the release, in place of a bound.
        unit : str, default=None
            Whose rows it protects together: the ledger's own column of units. Without it the charge
            is for single rows, which a ledger for units refuses.

        Returns
        -------
        int
            The number of the charge.
        """
        described = event if event is None or isinstance(event, Mapping) else event.to_dict()
        bound = None if epsilon is None else float(epsilon)
        return self._book.charge(label, event=described, epsilon=bound, delta=float(delta), unit=unit)

    def refund(self, charge: int) -> None:
        """Take back a charge of which no run has begun.

        Parameters
        ----------
        charge : int
            Its number.
        """
        self._book.refund(charge)

    def __reduce__(self) -> tuple[type[Ledger], tuple[str]]:
        """A copy, also in another process, opens the same file: there is one budget."""
        return type(self), (self._path,)

    def __fspath__(self) -> str:
        return self._path

    def __repr__(self) -> str:
        return f"Ledger({self._path!r})"
