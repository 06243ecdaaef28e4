"""Packages that only some functions need."""

from __future__ import annotations

import importlib
from typing import Any


def needs(package: str, extra: str, what: str) -> Any:
    """A package, or an error that names the extra which brings it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        name = package.split(".")[0]
        raise ImportError(f"{what} needs the package `{name}`: pip install reticent[{extra}]") from error
