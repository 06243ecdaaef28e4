"""The scales on which curves are straight between knots, as the engine has them
(`declaration/curve.rs`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _linear(x: Any) -> Any:
    return x


def _symlog(x: Any) -> Any:
    return np.copysign(np.log1p(np.abs(x)), x)


SCALES: dict[str, Callable[[Any], Any]] = {"linear": _linear, "log": np.log, "sqrt": np.sqrt, "symlog": _symlog}
