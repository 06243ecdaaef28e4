"""Shared fixtures of the tests: the command, and a folder to run it in."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

# MLflow counts its users over the network; tests say nothing to anybody.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The checks of the documents, which `cargo xtask docs` runs too.
sys.path.insert(0, str(ROOT / "xtask"))


class Command:
    """Runs `reticent` in a folder."""

    def __init__(self, folder):
        binary = os.environ.get("RETICENT", ROOT / "target" / "release" / "reticent")
        self.binary = pathlib.Path(binary).resolve()
        assert self.binary.exists(), "build the command first: cargo xtask test does"
        self.folder = folder

    def __call__(self, *arguments, code=0):
        """Runs the command, checks its exit code, and gives what it printed."""
        run = subprocess.run(
            [str(self.binary), *map(str, arguments)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == code, (arguments, run.stdout, run.stderr)
        return run.stdout

    def json(self, *arguments):
        """The output of the command with --json, parsed."""
        return json.loads(self(*arguments, "--json"))

    def fit(self, *arguments):
        """Fits and gives the model file."""
        self("fit", *arguments, "--out", "model.json", "--force")
        return self.model()

    def model(self, name="model.json"):
        """A model file."""
        return json.loads((self.folder / name).read_text())

    def write_schema(self, columns, **fields):
        """Writes schema.json."""
        (self.folder / "schema.json").write_text(json.dumps({"columns": columns, **fields}))

    def write_csv(self, table, name="table.csv"):
        """Writes a dictionary of columns as text; numbers keep all their digits."""
        rows = zip(*table.values(), strict=True)
        lines = [",".join(table), *(",".join(str(cell) for cell in row) for row in rows)]
        (self.folder / name).write_text("\n".join(lines) + "\n")


@pytest.fixture
def reticent(tmp_path):
    """The command, in a folder of its own."""
    return Command(tmp_path)


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real tables beside the repository."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"the real tables are not here: {folder}")
    return folder
