"""The documentation of the package runs: docstrings, the page, the examples; and its types hold."""

import doctest
import importlib
import pathlib
import pkgutil
import re
import runpy
import subprocess
import sys

import pytest
from conftest import ROOT

import reticent

MODULES = ["reticent"] + [
    module.name for module in pkgutil.walk_packages(reticent.__path__, "reticent.") if not module.name.endswith("._reticent")
]
EXAMPLES = sorted((ROOT / "python" / "examples").glob("*.py"))


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


@pytest.mark.parametrize("name", [name for name in reticent.__all__ if name[0].isupper()])
def test_every_class_is_documented_in_numpydoc_form(name):
    text = getattr(reticent, name).__doc__
    if name in ("OverBudget", "SeedWarning"):
        return
    for heading in ("Parameters\n    -------", "Attributes\n    -------", "Examples\n    -------"):
        assert heading in text, heading
    if name in ("Ledger", "Schema"):
        return  # no estimators
    for parameter in getattr(reticent, name)().get_params():
        assert re.search(rf"\b{parameter}\b.* : ", text), parameter


def test_estimators_name_every_setting_of_the_engine():
    names = {setting["name"] for a in reticent.algorithms() for setting in a["settings"]}
    assert {"steps", "clip", "ridge"} <= names
    defaults = {s["default"] for a in reticent.algorithms() for s in a["settings"] if s["name"] == "calibration"}
    assert defaults == {"tight"}
    for name in ("LogisticRegression", "LinearRegression", "KernelRegressor", "MLPClassifier"):
        text = getattr(reticent, name).__doc__
        assert getattr(reticent, name)().calibration == "tight"
        for setting in names:
            assert re.search(rf"``{setting}``|^    {setting} : ", text, re.MULTILINE), (name, setting)


def test_a_parameter_that_nobody_describes_is_noticed():
    from reticent._parameters import documented

    class Bad:
        def __init__(self, *, epsilon=None, undescribed=None):
            pass

    Bad.__doc__ = "Bad.\n\n    Examples\n    --------\n"
    with pytest.raises(KeyError, match="undescribed"):
        documented(Bad)


@pytest.mark.parametrize("page", ["docs/python.md", "docs/curves.md"])
def test_code_of_the_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, page, "exec"), {})


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    runpy.run_path(str(example), run_name="__main__")


def test_the_notebook_runs(tmp_path):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    for path in (ROOT / "python" / "examples").glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
        outputs = [cell for cell in nbformat.read(path, as_version=4).cells if cell.get("outputs")]
        assert not outputs, "the notebook is kept without outputs"


def test_types():
    pytest.importorskip("mypy")
    source = ROOT / "python" / "src" / "reticent"
    config = ROOT / "python" / "pyproject.toml"
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--strict", str(source), "--no-incremental"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert result.returncode == 0, result.stdout


def test_the_stub_has_what_the_engine_has():
    engine = importlib.import_module("reticent._reticent")
    stub = (pathlib.Path(reticent.__file__).parent / "_reticent.pyi").read_text()
    for name in (name for name in dir(engine) if not name.startswith("_")):
        assert re.search(rf"^((def|class) )?{name}\b", stub, re.MULTILINE), name
    for name in re.findall(r"^(?:def|class) (\w+)", stub, re.MULTILINE):
        assert hasattr(engine, name), name
    for kind in ("FittedModel", "Event"):
        methods = {m for m in dir(getattr(engine, kind)) if not m.startswith("_")}
        body = re.search(rf"^class {kind}:\n((?:    .*\n|\n)+)", stub, re.MULTILINE).group(1)
        assert methods == set(re.findall(r"def (\w+)", body)) - {"__init__"}, kind
