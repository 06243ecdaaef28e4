"""Units of several rows: all rows of one person are protected together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reticent import LogisticRegression

DECLARATION = {
    "target": "back",
    "columns": [
        {"name": "age", "type": "real", "bounds": {"min": 0, "max": 1}},
        {"name": "back", "type": "categorical", "categories": ["no", "yes"]},
    ],
    "unit": {"column": "patient", "max_rows": 3},
}


def visits(extra: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of 80 persons with two visits each, the first of whom has some more."""
    draw = np.random.default_rng(0)
    persons = np.concatenate([np.repeat(np.arange(80), 2), np.zeros(extra, dtype=int)])
    x = draw.random((len(persons), 3)) / 2
    return x, (x[:, 0] > 0.25).astype(int), persons


def estimator(**more: object) -> LogisticRegression:
    given = {"epsilon": 1.0, "delta": 1e-3, "random_state": 1, "algorithm": "clipped-sgd", **more}
    return LogisticRegression(**given)  # type: ignore[arg-type]


def test_the_number_of_units_is_planned_for_and_that_of_rows_is_told_nowhere() -> None:
    certificates = []
    for extra in (0, 30):
        x, y, persons = visits(extra)
        model = estimator(feature_norm=1.0, classes=[0, 1]).fit(x, y, unit=persons, max_rows=4)
        assert model.plan_["problem"]["rows"] == 80
        assert model.plan_["problem"]["unit"] == {"column": "unit", "max_rows": 4, "weighting": "equal"}
        assert model.certificate_["budget"]["adjacency"] == "replace-one-unit"
        certificates.append(model.certificate_)
    assert certificates[0] == certificates[1]


def test_one_row_each_is_a_row() -> None:
    x, y, _ = visits()
    rows = estimator(feature_norm=1.0, classes=[0, 1]).fit(x, y)
    units = estimator(feature_norm=1.0, classes=[0, 1]).fit(x, y, unit=np.arange(len(x)), max_rows=1)
    assert (rows.coef_ == units.coef_).all()


def test_a_column_of_the_table_holds_the_unit() -> None:
    x, y, persons = visits()
    table = pd.DataFrame({"age": x[:, 0], "patient": persons})
    labels = np.where(y == 1, "yes", "no")
    declared = estimator(declaration=DECLARATION).fit(table, labels)
    assert declared.plan_["problem"]["rows"] == 80
    assert declared.verify()["pass"] is False, "a seed voids the certificate"
    assert "patient" in declared._model.to_json()
    plain = {key: value for key, value in DECLARATION.items() if key != "unit"}
    named = estimator(declaration=plain).fit(table, labels, unit="patient", max_rows=3)
    assert (named.coef_ == declared.coef_).all()
    # A missing value makes a unit of its own.
    table["patient"] = table["patient"].astype(object)
    table.loc[[0, 5], "patient"] = [None, ""]
    alone = estimator(declaration=DECLARATION).fit(table, labels)
    assert alone.plan_["problem"]["rows"] == 82


def test_a_unit_is_the_text_of_its_cell() -> None:
    x, y, persons = visits()
    given = {"feature_norm": 1.0, "classes": [0, 1]}

    def units(*cells: object) -> int:
        changed = np.array(persons, dtype=object)
        changed[: len(cells)] = cells
        return int(estimator(**given).fit(x, y, unit=changed, max_rows=3).plan_["problem"]["rows"])

    # Of persons 0, 1 and 2, two rows each, nothing is left.
    assert units("J\ufffdrg", " J\ufffdrg ", "\ufffd", "\ufffd", 7.5, "7.5") == 77 + 3
    # A missing cell is a unit of its own, however it is spelled; so is one that is no text.
    assert units("NA", "na", "null", None, float("nan"), ".") == 77 + 6
    assert units("\ud800", "\ud800", pd.NA, pd.NaT, "None", "N/A") == 77 + 6
    # A whole number is the same unit as a number with a point and as its text.
    assert units(500, 500.0, "500", np.float64(500), "a", "a") == 77 + 2
    # So is a truth value, and a date with a time of midnight.
    assert units(True, "true", "2024-02-29", pd.Timestamp("2024-02-29"), "7.50", 7.5) == 77 + 3


def test_half_a_declaration_is_refused() -> None:
    x, y, persons = visits()
    given = {"feature_norm": 1.0, "classes": [0, 1]}
    with pytest.raises(ValueError, match="declare `max_rows`"):
        estimator(**given).fit(x, y, unit=persons)
    with pytest.raises(ValueError, match="`max_rows` goes with `unit`"):
        estimator(**given).fit(x, y, max_rows=3)
    with pytest.raises(ValueError, match="one `unit` for each row") as refused:
        estimator(**given).fit(x, y, unit=persons[1:], max_rows=3)
    assert str(len(x)) not in str(refused.value)
    with pytest.raises(ValueError, match="names the column `doctor`"):
        estimator(**given).fit(x, y, unit="doctor", max_rows=3)
