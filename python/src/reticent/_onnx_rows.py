"""Rows of declared columns in ONNX: clamped, scaled, on their curves, one-hot, with their pairs, as
the encoder makes them.

Numbers are inputs of type double, and so are categories that all spell numbers or truth values;
other categories are texts, compared as they are spelled. NaN, the empty text and declared marks are
missing; an infinite number makes its row one of zeros.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from reticent import _input, _reticent
from reticent._scales import SCALES

class Graph:
    """Nodes one after another, each named by what it gives."""

    def __init__(self) -> None:
        from onnx import helper, numpy_helper

        self.helper, self.numpy_helper = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, name: str, value: Any) -> str:
        self.constants.append(self.numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(self.helper.make_node(kind, inputs, [output], **attributes))
        return output


class Rows:
    """The nodes that make encoded rows of columns."""

    def __init__(self, graph: Graph, layout: dict[str, Any]) -> None:
        self.graph, self.layout = graph, layout
        # Whether a cell of the row is no number, as 0 or 1.
        self.broken: list[str] = []
        # For columns that take part in a pair, what they have on their side of it.
        self.sides: dict[int, str] = {}
        self.one, self.zero = graph.constant("one", 1.0), graph.constant("zero", 0.0)
        self.axis = graph.constant("axis", np.array([1]))

    def encode(self, column_of: Any) -> str:
        """The rows; `column_of` gives the input of a column, for its kind of cell and its width."""
        kept = [(place, column) for place, column in enumerate(self.layout["inputs"]) if column["start"] is not None]
        blocks = [self._column(place, column, column_of) for place, column in kept]
        blocks += [self._pair(place, pair) for place, pair in enumerate(self.layout.get("pairs", []))]
        whole = self._whole(blocks[0])
        if self.layout["encoding"]["intercept"]:
            blocks.append(self.graph.node("Identity", [whole], "constant"))
        row = self.graph.node("Concat", blocks, "encoded", axis=1)
        # Not by a product: a feature that is no number would stay one.
        row = self.graph.node("Where", [self.graph.node("Greater", [whole, self.zero], "readable"), row, self.zero], "row")
        if self.layout["norm_bound"] < self.layout["structural_bound"]:
            return clipped(self.graph, row, self.layout["norm_bound"], "row")
        return row

    def _whole(self, block: str) -> str:
        """1 for a row whose every cell can be read, else 0; a block has the number of rows."""
        if not self.broken:
            none = self.graph.node("Mul", [block, self.zero], "none")
            self.broken.append(self.graph.node("ReduceSum", [none, self.axis], "never"))
        worst = self.graph.node("Max", self.broken, "worst") if len(self.broken) > 1 else self.broken[0]
        return self.graph.node("Sub", [self.one, worst], "whole")

    def _column(self, place: int, column: dict[str, Any], column_of: Any) -> str:
        (kind, facts), name = next(iter(column["kind"].items())), f"column_{place}"
        if column.get("date") or kind == "hashed":
            what = "dates" if column.get("date") else "hashed categories or words"
            raise ValueError(
                f"column `{column['name']}` holds {what}, which ONNX has no operators for: predict with Reticent, or drop the column"
            )
        if kind == "one_hot":
            block, missing = self._categories(name, column, facts["categories"], column_of)
            if self._is_paired(place):
                self.sides[place] = block
        elif kind in ("entries", "vector"):
            return self._vector(name, kind, facts, column_of(column, "number", facts["len"]))
        else:
            block, missing = self._number(place, name, column, facts, column_of(column, "number", 1))
        if not column.get("indicator"):
            return block
        return self.graph.node("Concat", [block, self._cast(missing, f"{name}_indicator")], f"{name}_whole", axis=1)

    def _is_paired(self, place: int) -> bool:
        return any(place in pair["inputs"] for pair in self.layout.get("pairs", []))

    def _cast(self, flags: str, output: str) -> str:
        return self.graph.node("Cast", [flags], output, to=11)

    def _missing(self, name: str, cell: str, marks: list[str]) -> str:
        """Whether a number stands for a missing value."""
        missing = self.graph.node("IsNaN", [cell], f"{name}_nan")
        for place, mark in enumerate(marks):
            value = _input._number(mark)
            if np.isfinite(value):
                equal = self.graph.node("Equal", [cell, self.graph.constant(f"{name}_mark_{place}", value)], f"{name}_is_mark_{place}")
                missing = self.graph.node("Or", [missing, equal], f"{name}_missing_{place}")
        return missing

    def _number(self, place: int, name: str, column: dict[str, Any], facts: dict[str, Any], cell: str) -> tuple[str, str]:
        graph = self.graph
        missing = self._missing(name, cell, column["missing"])
        if column.get("fill") is not None:
            cell = graph.node("Where", [missing, graph.constant(f"{name}_fill", column["fill"]), cell], f"{name}_filled")
            missing = graph.node("IsNaN", [cell], f"{name}_never_missing")
        self.broken.append(self._cast(graph.node("IsInf", [cell], f"{name}_inf"), f"{name}_broken"))
        low, high = facts["min"], facts["max"]
        bounded = np.isfinite(high)
        known = graph.node("Where", [missing, graph.constant(f"{name}_min", low if bounded else 0.0), cell], f"{name}_known")
        if bounded:
            known = graph.node("Clip", [known, f"{name}_min", graph.constant(f"{name}_max", high)], f"{name}_clamped")
        if "curve" in facts:
            block = self._curve(name, facts["curve"], known, missing)
        else:
            block = self._scaled(name, known, low, high) if bounded else known
            block = graph.node("Where", [missing, self.zero, block], f"{name}_block")
        if self._is_paired(place):
            line = {"basis": "tent", "scale": "linear", "knots": [low, high], "even": True}
            self.sides[place] = block if "curve" in facts else self._curve(f"{name}_line", line, known, missing)
        return block, missing

    def _scaled(self, name: str, known: str, low: float, high: float) -> str:
        """From the bounds to [0, 1], or to [-1, 1]."""
        graph = self.graph
        above = graph.node("Sub", [known, graph.constant(f"{name}_low", low)], f"{name}_above")
        share = graph.node("Div", [above, graph.constant(f"{name}_width", high - low)], f"{name}_share")
        if self.layout["encoding"]["numeric_range"] != "symmetric":
            return share
        twice = graph.node("Mul", [share, graph.constant(f"{name}_two", 2.0)], f"{name}_twice")
        return graph.node("Sub", [twice, self.one], f"{name}_symmetric")

    def _on_scale(self, name: str, scale: str, known: str) -> str:
        graph = self.graph
        if scale == "linear":
            return known
        if scale in ("log", "sqrt"):
            return graph.node(scale.capitalize(), [known], f"{name}_scaled")
        more = graph.node("Add", [graph.node("Abs", [known], f"{name}_size"), self.one], f"{name}_more")
        sign = graph.node("Sign", [known], f"{name}_sign")
        return graph.node("Mul", [sign, graph.node("Log", [more], f"{name}_log")], f"{name}_scaled")

    def _curve(self, name: str, curve: dict[str, Any], known: str, missing: str) -> str:
        """The features of a number between knots; see `declaration/curve.rs` for the same in the
        engine."""
        graph, knots = self.graph, np.array(curve["knots"])
        ends = SCALES[curve["scale"]](knots[[0, -1]])
        above = graph.node(
            "Sub", [self._on_scale(name, curve["scale"], known), graph.constant(f"{name}_first", float(ends[0]))], f"{name}_from_first"
        )
        place = graph.node("Div", [above, graph.constant(f"{name}_reach", float(ends[1] - ends[0]))], f"{name}_unclamped")
        place = graph.node("Clip", [place, self.zero, self.one], f"{name}_place")
        intervals = len(knots) - 1
        if curve["even"]:
            place = graph.node("Mul", [place, graph.constant(f"{name}_intervals", float(intervals))], f"{name}_at")
            places = np.arange(len(knots), dtype=float)
        else:
            places = np.clip((SCALES[curve["scale"]](knots) - ends[0]) / (ends[1] - ends[0]), 0.0, 1.0)
        features = self._bins(name, place, places) if curve["basis"] == "bins" else self._tents(name, place, places)
        return graph.node("Where", [missing, self.zero, features], f"{name}_features")

    def _tents(self, name: str, place: str, places: Any) -> str:
        """1 at a knot and 0 at its neighbours: the lower of the rising and the falling side, held
        to [0, 1]."""
        graph, widths = self.graph, np.diff(places)
        before, rise = np.append(places[0] - 1.0, places[:-1]), np.append(1.0, widths)
        after, fall = np.append(places[1:], places[-1] + 1.0), np.append(widths, 1.0)
        gone = graph.node("Sub", [place, graph.constant(f"{name}_before", before[None])], f"{name}_gone")
        left = graph.node("Sub", [graph.constant(f"{name}_after", after[None]), place], f"{name}_left")
        rising = graph.node("Div", [gone, graph.constant(f"{name}_rise", rise[None])], f"{name}_rising")
        falling = graph.node("Div", [left, graph.constant(f"{name}_fall", fall[None])], f"{name}_falling")
        lower = graph.node("Min", [rising, falling], f"{name}_lower")
        return graph.node("Clip", [lower, self.zero, self.one], f"{name}_tents")

    def _bins(self, name: str, place: str, places: Any) -> str:
        """1 in the bin that begins at the last end not above the number; the upper bound is in the
        last bin."""
        graph = self.graph
        starts = graph.constant(f"{name}_starts", places[None, 1:-1])
        passed = self._cast(graph.node("LessOrEqual", [starts, place], f"{name}_reached"), f"{name}_passed")
        index = graph.node("ReduceSum", [passed, self.axis], f"{name}_index")
        numbers = graph.constant(f"{name}_bins", np.arange(len(places) - 1, dtype=float)[None])
        return self._cast(graph.node("Equal", [index, numbers], f"{name}_is_bin"), f"{name}_one_bin")

    def _categories(self, name: str, column: dict[str, Any], categories: list[str], column_of: Any) -> tuple[str, str]:
        graph = self.graph
        values = np.array([_input._number(category) for category in categories])
        if np.isfinite(values).all():
            cell = column_of(column, "number", 1)
            missing = self._missing(name, cell, column["missing"])
            equal = graph.node("Equal", [cell, graph.constant(f"{name}_values", values[None])], f"{name}_equal")
            block = graph.node("Where", [missing, self.zero, self._cast(equal, f"{name}_hot")], f"{name}_block")
            return block, missing
        cell = column_of(column, "text", 1)
        spellings = ["", *_reticent.missing_spellings()]
        keys = {text: -2 for spelled in spellings for text in (spelled, spelled.lower(), spelled.upper())}
        keys.update({category: index for index, category in enumerate(categories)})
        keys.update({mark: -2 for mark in column["missing"]})
        index = graph.node(
            "LabelEncoder",
            [cell],
            f"{name}_index",
            domain="ai.onnx.ml",
            keys_strings=list(keys),
            values_int64s=list(keys.values()),
            default_int64=-1,
        )
        numbers = graph.constant(f"{name}_numbers", np.arange(len(categories))[None])
        block = self._cast(graph.node("Equal", [index, numbers], f"{name}_equal"), f"{name}_block")
        return block, graph.node("Equal", [index, graph.constant(f"{name}_none", np.array([[-2]]))], f"{name}_missing")

    def _vector(self, name: str, kind: str, facts: dict[str, Any], cell: str) -> str:
        graph = self.graph
        odd = graph.node("Or", [graph.node("IsNaN", [cell], f"{name}_nan"), graph.node("IsInf", [cell], f"{name}_inf")], f"{name}_odd")
        numbers = self._cast(odd, f"{name}_odd_number")
        self.broken.append(graph.node("ReduceMax", [numbers], f"{name}_broken", axes=[1]))
        kept = graph.node("Where", [odd, self.zero, cell], f"{name}_kept")
        if kind == "vector":
            return clipped(graph, kept, facts["norm"], name)
        if not np.isfinite(facts["max"]):
            return kept
        low, high = graph.constant(f"{name}_min", facts["min"]), graph.constant(f"{name}_max", facts["max"])
        return self._scaled(name, graph.node("Clip", [kept, low, high], f"{name}_clamped"), facts["min"], facts["max"])

    def _pair(self, place: int, pair: dict[str, Any]) -> str:
        """Every product of a feature of the one and a feature of the other."""
        graph, name = self.graph, f"pair_{place}"
        one = graph.node("Unsqueeze", [self.sides[pair["inputs"][0]], graph.constant(f"{name}_last", np.array([2]))], f"{name}_one")
        other = graph.node("Unsqueeze", [self.sides[pair["inputs"][1]], self.axis], f"{name}_other")
        products = graph.node("Mul", [one, other], f"{name}_products")
        count = int(np.prod([next(iter(f.values())) if "categories" in f else _features(f["curve"]) for f in pair["factors"]]))
        return graph.node("Reshape", [products, graph.constant(f"{name}_shape", np.array([-1, count]))], f"{name}_block")


def _features(curve: dict[str, Any]) -> int:
    knots: list[float] = curve["knots"]
    return len(knots) - int(curve["basis"] == "bins")


def clipped(graph: Graph, row: str, norm: float, name: str) -> str:
    """Rows clipped to a norm. As the encoder: dividing by the largest entry first keeps the squares
    in range for every finite row."""
    largest = graph.node("ReduceMax", [graph.node("Abs", [row], f"{name}_sizes")], f"{name}_largest", axes=[1])
    positive = graph.node("Greater", [largest, "zero"], f"{name}_positive")
    scale = graph.node("Where", [positive, largest, "one"], f"{name}_scale")
    unit = graph.node("Div", [row, scale], f"{name}_unit")
    squares = graph.node("ReduceSum", [graph.node("Mul", [unit, unit], f"{name}_squared"), "axis"], f"{name}_squares")
    length = graph.node("Sqrt", [squares], f"{name}_length")
    limit = graph.node("Div", [graph.constant(f"{name}_norm", float(norm)), length], f"{name}_limit")
    return graph.node("Mul", [unit, graph.node("Min", [scale, limit], f"{name}_factor")], f"{name}_clipped")
