"""A schema that is built in a program."""

import json

import numpy as np
import pytest

import reticent

pd = pytest.importorskip("pandas")


def table():
    rows = np.arange(400)
    return pd.DataFrame(
        {
            "age": 18 + (rows * 37) % 70,
            "ward": np.array(["surgery", "internal", "rare"])[np.minimum(rows % 100, 2)],
            "smoker": rows % 3 == 0,
            "seen": pd.Timestamp("2020-01-01"),
            "back": np.where(rows % 5 == 0, "yes", "no"),
        }
    )


def test_types_are_taken_and_values_are_not():
    frame = table()
    frame["ward"] = frame["ward"].astype("category")
    # The schema of a table without a row of it is the same: nothing else was looked at.
    schema = reticent.Schema.from_pandas(frame, "back")
    assert schema.to_dict() == reticent.Schema.from_pandas(frame.iloc[:0], "back").to_dict()
    assert schema.blanks() == ["age", "ward", "back"]
    assert "internal" not in json.dumps(schema.to_dict())
    with pytest.raises(ValueError, match="3 problems"):
        schema.check()
    schema.number("age", 0, 110, integer=True).categories("ward", ["surgery", "other"], other="other")
    assert schema.categories("back", ["no", "yes"]).check().blanks() == []
    assert [column["name"] for column in schema["columns"]] == list(frame.columns)


def test_a_schema_is_a_declaration(tmp_path):
    frame = table()
    schema = (
        reticent.Schema("back", name="clinic", positive_class="yes")
        .number("age", 0, 110, basis="domain", missing={"fill": "middle"})
        .categories("ward", ["surgery", "other"], other="other")
        .boolean("smoker")
        .ignore("seen")
        .categories("back", ["no", "yes"])
    )
    columns = ["age", "ward", "smoker"]
    encoder = reticent.DeclaredEncoder(declaration=schema).fit(frame[columns])
    encoded = np.asarray(encoder.transform(frame[columns]))
    names = list(encoder.get_feature_names_out())
    # Every ward that is not declared is caught, and a missing age is the middle.
    other = encoded[:, names.index("ward=other")]
    assert (other == (frame["ward"] != "surgery")).all()
    gap = frame[columns].astype({"age": float}).assign(age=np.nan)
    assert (np.asarray(encoder.transform(gap))[:, names.index("age")] == 0.5).all()
    model = reticent.LogisticRegression(epsilon=2.0, declaration=schema).fit(frame[columns], frame["back"])
    assert list(model.classes_) == ["no", "yes"]
    schema.save(tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text()) == schema.to_dict()
    with pytest.raises(FileExistsError):
        schema.save(tmp_path / "s.json")


def test_a_public_table_may_be_read_on_request():
    with pytest.warns(UserWarning, match="public"):
        schema = reticent.Schema.from_pandas(table(), "back", read_values=True)
    assert schema.check()["columns"][0]["bounds"] == {"min": 18, "max": 87}
    assert schema["columns"][1]["categories"] == ["internal", "rare", "surgery"]


def test_a_cell_without_a_text_ends_no_draft():
    class Silent:
        def __str__(self):
            raise ValueError("31415926")

    frame = pd.concat([table()] * 10, ignore_index=True)
    frame["ward"] = frame["ward"].astype(object)
    known = reticent.Schema.from_pandas(frame, "back").number("age", 0, 110)
    frame.at[0, "ward"], frame.at[1, "ward"], frame.at[2, "ward"] = Silent(), "\ud800", 10**5000
    found = reticent.schema_draft(known, frame, epsilon=8.0)
    assert "surgery" in found["columns"][1]["categories"]


def test_a_draft_is_paid_for_certified_and_counted_with_the_model(tmp_path):
    frame = pd.concat([table()] * 10, ignore_index=True)
    known = reticent.Schema.from_pandas(frame, "back").number("age", 0, None, integer=True)
    with pytest.raises(ValueError, match="is precise to 2 % of the rows; nothing was spent"):
        reticent.schema_draft(known, frame, epsilon=None)
    ledger = reticent.Ledger.init(tmp_path / "l", epsilon=20.0, delta=1e-5, filter="basic")
    # At this epsilon each answer fails with odds below 1e-6.
    found = reticent.schema_draft(known, frame, epsilon=8.0, ledger=tmp_path / "l")
    assert known.blanks() == ["age", "ward", "back"] and found.check().blanks() == []
    ages = found["columns"][0]["bounds"]
    assert ages["min"] == 0 and 87 <= ages["max"] <= 180 and ages["basis"] == "released"
    assert found["columns"][1]["categories"] == ["internal", "rare", "surgery", "other"]
    columns = ["age", "ward", "smoker"]
    given = {"declaration": found, "algorithm": "objective", "epsilon": 1.0}
    model = reticent.LogisticRegression(**given, ledger=tmp_path / "l").fit(frame[columns], frame["back"])
    assert model.draft_["certificate"] == found["draft"]
    assert 8.0 <= model.draft_["together"]["epsilon"] <= 9.0
    assert model.verify()["pass"] and len(ledger.show()["charges"]) == 2
    # A ledger that did not pay for the draft pays for no model with it.
    reticent.Ledger.init(tmp_path / "other", epsilon=20.0, delta=1e-5)
    with pytest.raises(ValueError, match="was not charged for the draft"):
        reticent.LogisticRegression(**given, ledger=tmp_path / "other").fit(frame[columns], frame["back"])
    by_hand = reticent.Schema("back").number("age", 0, 110).ignore("ward", "smoker", "seen").categories("back", ["no", "yes"])
    assert reticent.LogisticRegression(epsilon=1.0, declaration=by_hand).fit(frame[["age"]], frame["back"]).draft_ is None
