"""Words that parameters take, as types: a misspelt one is found before anything runs."""

from __future__ import annotations

from typing import Literal

Adjacency = Literal["replace-one", "add-remove-one", "zero-out"]
UnitAdjacency = Literal["replace-one-unit", "add-remove-one-unit", "zero-out-unit"]

Algorithm = Literal[
    "auto",
    "clipped-sgd",
    "coordinate-mean",
    "gradient-sgd",
    "least-squares",
    "mirror",
    "noisy-sgd",
    "objective",
    "output-gd",
    "output-sgd",
    "permuted-sgd",
    "phased",
    "random-round",
    "shuffled-mirror",
    "truncated-mirror",
]
