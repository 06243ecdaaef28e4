"""A model file can be evaluated by the lines of docs/curves.md, which know nothing of this
package."""

import csv
import math
import re

import numpy as np
import pytest
from conftest import ROOT

WARDS = ["surgery", "internal", "other"]
NUMBERS = [
    {"name": "age", "type": "real", "missing": "indicator", "bounds": {"min": 0, "max": 110}},
    {"name": "day", "type": "integer", "bounds": {"min": 0, "max": 6}},
    {"name": "plain", "type": "real", "bounds": {"min": -2, "max": 3}, "basis": "linear"},
    {"name": "ward", "type": "categorical", "categories": WARDS},
]
TARGETS = {
    "stay": {"name": "stay", "type": "real", "bounds": {"min": 2, "max": 30}},
    "back": {"name": "back", "type": "categorical", "categories": ["no", "yes"]},
}


@pytest.fixture(scope="module")
def margin():
    """The function of the page."""
    page = (ROOT / "docs" / "curves.md").read_text()
    (block,) = re.findall(r"```python\n(def margin.*?)```", page, re.DOTALL)
    assert len(block.splitlines()) <= 25
    found = {}
    exec(compile(block, "docs/curves.md", "exec"), found)
    return found["margin"]


@pytest.mark.parametrize("knots", ["--linear", "--knots=2", "--knots=5", "--knots=9"])
@pytest.mark.parametrize("target", TARGETS)
def test_the_lines_of_the_page_predict_what_the_command_predicts(reticent, margin, target, knots):
    reticent.write_schema([*NUMBERS, TARGETS[target]], target=target)
    draw = np.random.default_rng(5)
    count = 400
    table = {
        "age": [draw.choice(["", "0", "110", "-4", "1e9", "55", "27.5", "36.6666", repr(draw.uniform(0, 110))]) for _ in range(count)],
        "day": draw.integers(-1, 8, count),
        "plain": draw.choice(["-2", "3", "0.5", "", "9"], count),
        "ward": draw.choice([*WARDS, "garden", ""], count),
        "stay": draw.uniform(0, 40, count),
        "back": draw.choice(["no", "yes"], count),
    }
    reticent.write_csv(table)
    pairs = ["--pairs", "age:ward,day:plain,age:day"]
    model = reticent.fit("--data", "table.csv", "--schema", "schema.json", "--epsilon", 2, knots, *pairs)
    reticent("predict", "--model", "model.json", "--data", "table.csv", "--out", "answers.csv")
    with (reticent.folder / "answers.csv").open() as file:
        answers = list(csv.DictReader(file))
    for place, answer in enumerate(answers):
        row = {name: None if str(cells[place]) == "" else str(cells[place]) for name, cells in table.items() if name not in TARGETS}
        found = margin(model, row)
        if target == "back":
            assert 1 / (1 + math.exp(-found)) == pytest.approx(float(answer["probability yes"]), abs=1e-12)
        else:
            low, high = 2, 30
            number = low + (max(-1.0, min(found, 1.0)) + 1) / 2 * (high - low)
            assert number == pytest.approx(float(answer["prediction"]), abs=1e-9)
