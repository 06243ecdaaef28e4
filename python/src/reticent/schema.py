"""A declaration that is built in a program: column by column, or from a table's types."""

from __future__ import annotations

import json
import os
import pathlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from reticent import _input, _reticent
from reticent._types import Adjacency

Self = TypeVar("Self", bound="Schema")


class Schema(Mapping[str, Any]):
    """The public facts about a table, built in a program.

    A schema is a mapping: give it as `declaration` to an estimator or to `DeclaredEncoder`. Nothing
    of it is read off rows, unless you ask for that by `from_pandas(..., read_values=True)` for a
    table that is public.

    Parameters
    ----------
    target : str, optional
        The column to predict.
    name : str, optional
        The name of the table in reports.
    positive_class : optional
        Of two classes the one that counts as positive; without it, the second.

    Attributes
    ----------
    columns : list of dict
        The columns as the schema file writes them; a blank is None.
    certificate : dict or None
        The release by which `schema_draft` filled the schema in, and its privacy cost.

    Examples
    --------
    >>> from reticent import Schema
    >>> schema = Schema(target="back").number("age", 0, 110, integer=True).categories("back", ["no", "yes"])
    >>> schema.blanks()
    []
    >>> schema["columns"][0]["bounds"]
    {'min': 0, 'max': 110}
    """

    def __init__(self, target: str | None = None, *, name: str | None = None, positive_class: Any = None) -> None:
        self.target = target
        self.name = name
        self.positive_class = positive_class
        self.columns: list[dict[str, Any]] = []
        self.certificate: dict[str, Any] | None = None

    def _put(self: Self, name: str, fields: Mapping[str, Any]) -> Self:
        """Declare a column, or declare it again in its place."""
        column = {"name": name, **{key: value for key, value in fields.items() if value is not None}}
        for place, known in enumerate(self.columns):
            if known["name"] == name:
                self.columns[place] = column
                return self
        self.columns.append(column)
        return self

    def number(
        self: Self,
        name: str,
        low: float | None,
        high: float | None,
        *,
        integer: bool = False,
        basis: str | None = None,
        missing: Any = None,
    ) -> Self:
        """Declare a column of numbers from `low` to `high`.

        Parameters
        ----------
        name : str
            The column.
        low, high : float
            Its bounds, known without the data; None for one that is still blank.
        integer : bool, default=False
            Whether it holds whole numbers.
        basis : {"domain", "data-dictionary", "convention"}, optional
            Where the bounds come from.
        missing : optional
            Marks of missing values, `"indicator"`, or a dictionary such as `{"fill": "middle"}`.

        Returns
        -------
        self
        """
        bounds = {"min": low, "max": high, **({"basis": basis} if basis else {})}
        return self._put(name, {"type": "integer" if integer else "real", "bounds": bounds, "missing": missing})

    def categories(self: Self, name: str, categories: Sequence[Any], *, other: Any = None, missing: Any = None) -> Self:
        """Declare a column that holds one of a list.

        Parameters
        ----------
        name : str
            The column.
        categories : sequence
            The list, known without the data.
        other : optional
            The category, one of the list, that every undeclared one counts as.
        missing : optional
            Marks of missing values, or `"indicator"`.

        Returns
        -------
        self
        """
        fields = {"type": "categorical", "categories": list(categories), "other": other, "missing": missing}
        return self._put(name, fields)

    def boolean(self: Self, name: str) -> Self:
        """Declare a column of truth values.

        Parameters
        ----------
        name : str
            The column.

        Returns
        -------
        self
        """
        return self._put(name, {"type": "boolean"})

    def ignore(self: Self, *names: str) -> Self:
        """Leave columns out, such as identifiers.

        Parameters
        ----------
        *names : str
            The columns.

        Returns
        -------
        self
        """
        for name in names:
            self._put(name, {"role": "ignore"})
        return self

    @classmethod
    def from_pandas(
        cls: type[Self], frame: Any, target: str | None = None, *, read_values: bool = False, name: str | None = None
    ) -> Self:
        """Take names and types from a DataFrame, and leave blank what they do not say.

        Parameters
        ----------
        frame : pandas.DataFrame
            The table. Without `read_values` no cell of it is read: not its numbers, and not the
            list of categories that pandas keeps of a categorical column, because pandas finds that
            list in the cells.
        target : str, optional
            The column to predict.
        read_values : bool, default=False
            Take bounds and categories from the cells. For a table that is public: the largest value
            of a private one is somebody's value.
        name : str, optional
            The name of the table in reports.

        Returns
        -------
        Schema
        """
        schema = cls(target, name=name)
        if read_values:
            warnings.warn(
                "bounds and categories are read off the rows: use this schema only if the table is public",
                UserWarning,
                stacklevel=2,
            )
        for label in frame.columns:
            column, cells = str(label), frame[label]
            kind = getattr(cells.dtype, "kind", "O")
            if kind == "b":
                schema.boolean(column)
            elif kind in "iuf":
                low, high = (cells.min().item(), cells.max().item()) if read_values else (None, None)
                bounds = {"min": low, "max": high}
                schema._put(column, {"type": "real" if kind == "f" else "integer", "bounds": bounds})
            elif kind in "mM":
                schema.ignore(column)
            else:
                found = sorted(cells.dropna().astype(str).unique()) if read_values else None
                schema.columns.append({"name": column, "type": "categorical", "categories": found})
        return schema

    def blanks(self) -> list[str]:
        """The names of columns of which something is still to be declared.

        Returns
        -------
        list of str
        """

        def is_blank(column: Mapping[str, Any]) -> bool:
            bounds = column.get("bounds", {})
            return None in bounds.values() or ("categories" in column and column["categories"] is None)

        return [column["name"] for column in self.columns if is_blank(column)]

    def check(self: Self) -> Self:
        """Raise a ValueError that lists all that is wrong with the schema.

        Returns
        -------
        self
        """
        _reticent.layout(_input.read_declaration(self), {})
        return self

    def to_dict(self) -> dict[str, Any]:
        """The schema as its file holds it.

        Returns
        -------
        dict
        """
        fields = {"name": self.name, "target": self.target, "positive_class": self.positive_class}
        known = {key: value for key, value in fields.items() if value is not None}
        draft = {"draft": self.certificate} if self.certificate is not None else {}
        return {**known, "columns": self.columns, **draft}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema file, for the command.

        Parameters
        ----------
        path : path
            Where to. A file that is there is not replaced.
        """
        with pathlib.Path(path).open("x", encoding="utf-8") as file:
            json.dump(_input.plain(self.to_dict()), file, indent=1)
            file.write("\n")

    def __getitem__(self, key: str) -> Any:
        return self.to_dict()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.to_dict())

    def __len__(self) -> int:
        return len(self.to_dict())

    def __repr__(self) -> str:
        return f"Schema({len(self.columns)} columns, target={self.target!r}, {len(self.blanks())} blank)"


def schema_draft(
    schema: Schema,
    X: Any,
    *,
    epsilon: float | None,
    delta: float | None = None,
    adjacency: Adjacency = "replace-one",
    rows: int | None = None,
    knots: int = 0,
    ledger: str | os.PathLike[str] | None = None,
) -> Schema:
    """Fill what is blank of a schema in from the private table itself, with noise.

    A release like any other: it costs epsilon, and the schema holds its certificate. A model that
    is fitted with the schema states in its ``draft_`` the cost of both together. Facts that you
    declare before are not asked for, and make the rest more exact.

    Parameters
    ----------
    schema : Schema
        The schema with the facts that are known without the table. It stays as it is. A column with
        neither type, bounds nor categories is asked for everything.
    X : pandas.DataFrame
        The private table, with a column for each blank one of the schema.
    epsilon : float or None
        Allowed privacy loss of the draft. With None nothing is released or spent: a ValueError says
        which epsilon would be precise.
    delta : float, optional
        Additive slack of the guarantee; min(1e-6, 1/(10 n)) if not given.
    adjacency : str, default="replace-one"
        Which tables must be hard to tell apart: "replace-one", "add-remove-one" or "zero-out".
    rows : int, optional
        The declared number of rows under add-remove adjacency, where the true number is private.
    knots : int, default=0
        Inner knots for the curve of each column of numbers, at its quantiles; each costs as much as
        a bound.
    ledger : path, optional
        Charge the draft to this ledger before noise is drawn.

    Returns
    -------
    Schema
        A copy that is filled in. Columns in which too little was found are left out, each with a
        warning.

    Examples
    --------
    >>> import pandas as pd
    >>> from reticent import Schema, schema_draft
    >>> frame = pd.DataFrame({"age": [30, 40, 50] * 1000, "back": ["no", "yes", "no"] * 1000})
    >>> known = Schema.from_pandas(frame, "back")
    >>> found = schema_draft(known, frame, epsilon=8.0)
    >>> known.blanks(), found.blanks(), found["columns"][1]["categories"]
    (['age', 'back'], [], ['no', 'yes'])
    """
    private = adjacency == "add-remove-one"
    if private != (rows is not None):
        raise ValueError("`rows` goes with `adjacency=\"add-remove-one\"`: give a number known without the table there, and nothing else")
    budget = {
        "epsilon": epsilon,
        "delta": delta,
        "adjacency": adjacency,
        "rows": len(X) if rows is None else int(rows),
        "knots": int(knots),
    }
    known = {"target": schema.target, "columns": [_known(column) for column in schema.columns]}
    planned = _reticent.PlannedDraft(known, budget)
    if epsilon is None:
        advised = planned.outlook()["advised_epsilon"]
        found = "no epsilon up to 10 is precise for so few rows" if advised is None else f"epsilon={advised} is precise to 2 % of the rows"
        raise ValueError(f"`epsilon` must be given, and {found}; nothing was spent")
    absent = [name for name in planned.names() if name not in {str(label) for label in X.columns}]
    if absent:
        raise ValueError(f"`X` must have a column {absent[0]!r}, which the schema leaves blank; got a table without it")
    columns = {str(label): X[label] for label in X.columns}
    text, certificate, remarks = planned.release([_texts(columns[name]) for name in planned.names()], ledger)
    for remark in remarks:
        warnings.warn(remark, UserWarning, stacklevel=2)
    filled = Schema(schema.target, name=schema.name, positive_class=schema.positive_class)
    asked = set(planned.names())
    drafted = {column["name"]: column for column in json.loads(text)["columns"]}
    filled.columns = [{**column, **_found(drafted[column["name"]])} if column["name"] in asked else column for column in schema.columns]
    filled.certificate = certificate
    return filled


def _known(column: Mapping[str, Any]) -> dict[str, Any]:
    """The declared facts of a column, as the planner reads them."""
    bounds = column.get("bounds") or {}
    categories = column.get("categories")
    return {
        "name": column["name"],
        "role": column.get("role"),
        "kind": column.get("type"),
        "ends": [bounds.get("min"), bounds.get("max")],
        "categories": None if categories is None else [str(_input.plain(category)) for category in categories],
    }


def _found(column: Mapping[str, Any]) -> dict[str, Any]:
    """The facts found of a column, without the blanks of one that is left out."""
    if column.get("role") == "ignore":
        return {"role": "ignore"}
    return {key: value for key, value in column.items() if key not in ("name", "role") and value is not None}


def _texts(cells: Any) -> list[str | None]:
    """Cells as a file holds them; one that is missing, or that has no text, is nothing."""
    return [None if missing else _input.own_text(cell) for cell, missing in zip(cells.tolist(), cells.isna().tolist(), strict=True)]
