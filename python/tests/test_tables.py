"""Tables with column names: pandas, polars, pyarrow; and the transformers."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import reticent

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

TABLE, DECLARATION = reticent.census(2000, seed=1)
FEATURES = TABLE.drop(columns="income")
KINDS = {
    "pandas": lambda t: t,
    "categories": lambda t: t.astype({"education": "category", "sex": "category"}),
    "objects": lambda t: t.astype(object),
    "polars": pl.from_pandas,
    "pyarrow": pa.Table.from_pandas,
    "chunks": lambda t: pa.concat_tables([pa.Table.from_pandas(t[:700]), pa.Table.from_pandas(t[700:])]),
    "shuffled": lambda t: t[t.columns[::-1]].assign(more=1),
}


@pytest.mark.filterwarnings("ignore::reticent.SeedWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_model(kind):
    given = KINDS[kind](FEATURES)
    base = reticent.LogisticRegression(epsilon=2.0, declaration=DECLARATION, random_state=5)
    model = clone(base).fit(given, TABLE["income"])
    reference = clone(base).fit(FEATURES, TABLE["income"].to_numpy())
    assert (model.coef_ == reference.coef_).all()
    assert (model.predict_proba(given) == reference.predict_proba(FEATURES)).all()
    assert model.classes_.tolist() == ["<=40K", ">40K"]
    assert model.feature_names_in_.tolist() == FEATURES.columns.tolist()
    assert model.n_features_in_ == 7


ARRAYS = {
    "objects": lambda t: t.to_numpy(dtype=object),
    "texts": lambda t: t.to_numpy(dtype=object).astype(str),
    "lists": lambda t: t.to_numpy(dtype=object).tolist(),
}


@pytest.mark.filterwarnings("ignore::reticent.SeedWarning")
@pytest.mark.parametrize("kind", ARRAYS)
def test_an_array_of_declared_columns_is_read_cell_by_cell(kind):
    given = ARRAYS[kind](FEATURES)
    base = reticent.LogisticRegression(epsilon=2.0, declaration=DECLARATION, random_state=5)
    model, reference = clone(base).fit(given, TABLE["income"]), clone(base).fit(FEATURES, TABLE["income"])
    assert (model.coef_ == reference.coef_).all()
    assert (reference.predict_proba(given) == reference.predict_proba(FEATURES)).all()
    encoder = reticent.DeclaredEncoder(declaration=DECLARATION)
    assert (encoder.fit(given).transform(given) == encoder.fit(FEATURES).transform(FEATURES)).all()


def test_a_cell_of_an_array_changes_its_own_row_whatever_it_makes_of_the_array():
    """One text makes NumPy and pandas hold numbers as texts or objects; what others say stays the
    same."""
    columns = [c for c in DECLARATION["columns"] if c["name"] in ("age", "hours", "income")]
    encoder = reticent.DeclaredEncoder(declaration={"target": "income", "columns": columns})
    numbers = FEATURES[["age", "hours"]].to_numpy(dtype=float)
    numbers[3] = [np.nan, 40.0]
    numbers[4] = [np.inf, 40.0]
    reference = encoder.fit(numbers).transform(numbers)
    others = np.arange(len(numbers)) != 7
    for cell in ["secret", "", "nan", None, True, 10**400]:
        objects = numbers.astype(object)
        objects[7, 0] = cell
        for array in [objects, objects.tolist(), objects.astype(str)]:
            rows = encoder.transform(array)
            assert (rows[others] == reference[others]).all(), cell


@pytest.mark.filterwarnings("ignore::reticent.SeedWarning")
@pytest.mark.parametrize("wrap", [pd.DataFrame, pl.DataFrame, lambda x: pa.table(pd.DataFrame(x).rename(columns=str))])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frames_of_numbers_are_matrices(wrap, dtype):
    X = np.random.default_rng(1).uniform(-1, 1, size=(500, 3)).astype(dtype)
    y = (X[:, 0] > 0).astype(int)
    base = reticent.LogisticRegression(epsilon=2.0, feature_norm=2.0, classes=[0, 1], random_state=5)
    model = clone(base).fit(wrap(X), y)
    # In double precision: only an array says its own.
    assert (model.coef_ == clone(base).fit(X.astype(np.float64), y).coef_).all()
    assert (model.predict(wrap(X)) == model.predict(wrap(X[:])) ).all()


def test_a_bad_cell_of_a_table_is_silent():
    broken = FEATURES.astype(object)
    broken.loc[0, "age"] = "secret"
    broken.loc[1, "age"] = np.nan
    broken.loc[2, "education"] = 17
    model = reticent.LogisticRegression(epsilon=2.0, declaration=DECLARATION).fit(broken, TABLE["income"])
    assert model.certificate_["void"] is None
    assert model.predict(broken).shape == (2000,)


def test_a_missing_column_is_named():
    with pytest.raises(ValueError, match="education"):
        reticent.LogisticRegression(epsilon=2.0, declaration=DECLARATION).fit(FEATURES.drop(columns="education"), TABLE["income"])


def test_a_regression_by_declaration():
    columns = [c for c in DECLARATION["columns"] if c["name"] != "income"]
    declaration = {"target": "hours", "columns": columns}
    model = reticent.HuberRegressor(epsilon=2.0, declaration=declaration).fit(FEATURES, FEATURES["hours"])
    assert ((model.predict(FEATURES) >= 1) & (model.predict(FEATURES) <= 99)).all()


def test_the_encoder_gives_the_rows_of_the_declaration():
    encoder = reticent.DeclaredEncoder(declaration=DECLARATION).fit(FEATURES)
    rows = encoder.transform(FEATURES)
    names = encoder.get_feature_names_out().tolist()
    assert rows.shape == (2000, len(names)) and "sex=female" in names
    assert (rows[:, names.index("sex=female")] == (FEATURES["sex"] == "female")).all()
    np.testing.assert_allclose(rows[:, names.index("age")], (FEATURES["age"] - 18) / 72)
    assert np.linalg.norm(rows, axis=1).max() <= encoder.feature_norm_ == pytest.approx(7**0.5)
    unknown = FEATURES.assign(sex="other", age=500)
    rows = encoder.transform(unknown)
    assert (rows[:, names.index("age")] == 1.0).all()
    assert (rows[:, names.index("sex=female")] + rows[:, names.index("sex=male")] == 0.0).all()


def test_encoder_and_model_in_a_pipeline():
    model = make_pipeline(
        reticent.DeclaredEncoder(declaration=DECLARATION),
        reticent.LogisticRegression(epsilon=4.0, feature_norm=7**0.5, classes=["<=40K", ">40K"]),
    )
    assert model.fit(FEATURES, TABLE["income"]).score(FEATURES, TABLE["income"]) > 0.7


def test_the_scaler_clamps_and_scales():
    scaler = reticent.BoundedScaler(low=[0, -1], high=[10, 1], symmetric=True).fit(np.zeros((1, 2)))
    assert scaler.transform([[5, 0], [20, -3]]).tolist() == [[0.0, 0.0], [1.0, -1.0]]
    assert scaler.feature_norm_ == pytest.approx(2**0.5)
    assert scaler.transform(np.zeros((1, 2), dtype=np.float32)).dtype == np.float32
    # A row with what is no number is a row of zeros.
    assert scaler.transform([[np.nan, 1]]).tolist() == [[0.0, 0.0]]
    for bad in ({}, {"low": 0}, {"low": 0, "high": [1, 2, 3]}, {"low": 1, "high": 0}):
        with pytest.raises(ValueError, match="low|high|bounds"):
            reticent.BoundedScaler(**bad).fit(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="declaration"):
        reticent.DeclaredEncoder().fit(FEATURES)


def test_of_a_declaration_a_closed_list_is_published(tmp_path):
    marker = "row 300 is Ann"
    columns = [{**column, "note": marker} for column in DECLARATION["columns"]]
    columns.append({"name": marker, "role": "id", "type": marker})
    declaration = {**DECLARATION, "columns": columns, "class_counts": {marker: [300, marker]}}
    model = reticent.LogisticRegression(epsilon=2.0, declaration=declaration)
    with pytest.warns(UserWarning, match=r"not published: `class_counts`, `columns\[0\]\.note`"):
        model.fit(FEATURES, TABLE["income"])
    path = tmp_path / "model.json"
    model.save(path)
    again = pickle.loads(pickle.dumps(model))
    texts = [path.read_text(), model.report(), repr(model.certificate_), repr(model.verify()), repr(again.get_params())]
    assert not any(marker in text for text in texts)
    assert marker.encode() not in pickle.dumps(model)
    assert model.verify()["pass"] and (again.predict(FEATURES) == model.predict(FEATURES)).all()
    assert marker in repr(model.get_params()), "the parameters are the caller's own"
    # Unfitted ones stay inside ensembles and searches, and encoders stand before a model that is
    # handed on.
    assert marker.encode() not in pickle.dumps(clone(model))
    with pytest.warns(UserWarning, match="not published"):
        encoder = reticent.DeclaredEncoder(declaration=model.declaration).fit(FEATURES)
    same = pickle.loads(pickle.dumps(encoder))
    assert marker.encode() not in pickle.dumps(encoder)
    assert (same.transform(FEATURES) == encoder.transform(FEATURES)).all()
