"""Coefficients with standard errors and intervals, as text and as HTML."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_HEADER = ("", "coef", "std err", "sampling", "privacy", "z", "P>|z|")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


class Summary:
    """The table of coefficients: `print` it, show it in a notebook, or read ``rows``.

    Attributes
    ----------
    rows : list of dict
        For each coefficient ``name``, ``reference`` (the category that it is compared with, or
        None), ``estimate`` and ``interval``: None where it is not determined at this budget.
    level : float
        The confidence level, in percent.
    hidden_columns : list of str
        The columns whose curvature is lost in the noise: while one is in the model, no coefficient
        is determined.
    """

    def __init__(self, found: Mapping[str, Any]) -> None:
        self.rows: list[dict[str, Any]] = list(found["rows"])
        self.level = float(found["level"])
        self.hidden_columns: list[str] = list(found["hidden_columns"])
        self._unit, self._note = str(found["unit"]), str(found["note"])

    def _cells(self) -> list[Sequence[str]]:
        header = (*_HEADER, f"[{self.level:g} %", "interval]")
        cells: list[Sequence[str]] = [header]
        for row in self.rows:
            name = row["name"] if row["reference"] is None else f"{row['name']} (against {row['reference']})"
            interval = row["interval"]
            if interval is None:
                cells.append((name, _number(row["estimate"]), "not determined at this budget", *[""] * 6))
                continue
            fields = ("standard_error", "sampling_error", "privacy_error", "z", "p", "low", "high")
            cells.append((name, _number(row["estimate"]), *(_number(interval[field]) for field in fields)))
        return cells

    def __str__(self) -> str:
        cells = self._cells()
        widths = [
            max(len(line[place]) for line in cells if place < 2 or line[3] or place > 2) for place in range(len(cells[0]))
        ]
        lines = [
            "  ".join(cell.rjust(width) if place else cell.ljust(width) for place, (cell, width) in enumerate(zip(line, widths)))
            for line in cells
        ]
        said = [f"Coefficients of the {self._unit}", *(line.rstrip() for line in lines), *self._hidden(), self._note]
        return "\n".join(said)

    def _hidden(self) -> list[str]:
        if not self.hidden_columns:
            return []
        names = ", ".join(self.hidden_columns)
        return [f"lost in the noise: {names}; leave such a column out or declare tighter bounds, and fit again"]

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *body = self._cells()
        row = "".join(f"<th>{escape(cell)}</th>" for cell in head)
        rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in body)
        caption = f"<caption>Coefficients of the {escape(self._unit)}</caption>"
        notes = "".join(f"<p>{escape(note)}</p>" for note in (*self._hidden(), self._note))
        return f"<table>{caption}<thead><tr>{row}</tr></thead><tbody>{rows}</tbody></table>{notes}"
