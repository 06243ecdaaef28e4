"""No cell changes what another row says, whatever it holds and whatever holds it."""

import datetime
import io
import warnings
from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import reticent
from reticent import _input

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::reticent.SeedWarning")

N, ROW = 60, 7
RNG = np.random.default_rng(20261116)
FLAG = RNG.random(N) < 0.5
WHOLE = RNG.integers(0, 4, N)
REAL = RNG.uniform(0, 1, N)
WORD = np.array(["a", "b"])[(REAL > 0.3).astype(int)]
TRUTH = (FLAG + WHOLE + 3 * REAL) > 3.5
# Each is no number and no declared category.
BAD = {
    "text": "x",
    "surrogate": "\ud800",
    "complex": 1 + 2j,
    "numpy complex": np.complex128(1 + 2j),
    "list": [1, 2],
    "array": np.arange(3),
    "signalling": Decimal("sNaN"),
    "huge": 10**5000,
    "long": np.longdouble("1e4000"),
    "moment": datetime.datetime(2026, 11, 16),
    "numpy moment": np.datetime64("2026-11-16"),
    "dictionary": {"a": 1},
}
MISSING = {"None": None, "NaN": float("nan"), "NA": pd.NA, "NaT": pd.NaT}
MATRIX = {"epsilon": float("inf"), "algorithm": "output-gd", "feature_norm": 5.0, "ridge": 0.1, "random_state": 1}
COLUMNS = [
    {"name": "flag", "type": "real", "bounds": {"min": 0, "max": 1}},
    {"name": "kind", "type": "categorical", "categories": ["False", "True"]},
    {"name": "code", "type": "categorical", "categories": [0, 1]},
    {"name": "whole", "type": "integer", "bounds": {"min": 0, "max": 4}},
    {"name": "step", "type": "categorical", "categories": ["0", "1.0", "2", "3"]},
    {"name": "real", "type": "real", "bounds": {"min": 0, "max": 1}},
    {"name": "single", "type": "real", "bounds": {"min": 0, "max": 1}},
    {"name": "word", "type": "categorical", "categories": ["a", "b"]},
]
DECLARATION = {"target": "y", "columns": [*COLUMNS, {"name": "y", "type": "categorical", "categories": [False, True]}]}
FRAME = pd.DataFrame(
    {
        "flag": FLAG,
        "kind": FLAG,
        "code": FLAG,
        "whole": WHOLE,
        "step": WHOLE.astype(float),
        "real": REAL,
        "single": REAL.astype(np.float32),
        "word": WORD,
    }
)
NULLABLE = FRAME.astype(
    {"flag": "boolean", "kind": "boolean", "code": "boolean", "whole": "Int64", "step": "Float64", "real": "Float64", "word": "string"}
)
CATEGORIES = FRAME.astype(dict.fromkeys(["flag", "kind", "code", "whole", "step", "word"], "category"))
FRAMES = {"own": FRAME, "nullable": NULLABLE, "categories": CATEGORIES, "objects": FRAME.astype(object)}
ROWS = np.column_stack([FLAG, WHOLE, REAL]).astype(float)


@pytest.fixture(autouse=True)
def nothing_is_said():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", reticent.SeedWarning)
        yield


def put(column, cell):
    """A column with one cell replaced: of its own type if pandas has a place for the cell there, or
    else as inferred."""
    cells = column.tolist()
    cells[ROW] = cell
    # pandas itself takes a moment for a number where a column is declared so.
    own = [] if isinstance(column.dtype, np.dtype) or isinstance(cell, np.datetime64) else ["category" if column.dtype == "category" else column.dtype]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for dtype in [*own, None]:
            try:
                return pd.Series(cells, dtype=dtype)
            except (TypeError, ValueError, ArithmeticError):
                continue
    return pd.Series(cells, dtype=object)


def encoded(frame):
    return reticent.DeclaredEncoder(declaration=DECLARATION).fit(frame).transform(frame)


@pytest.mark.parametrize("name", FRAME.columns)
@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("cell", BAD | MISSING)
def test_a_cell_of_a_frame_changes_its_own_row(kind, name, cell):
    frame, reference = FRAMES[kind], encoded(FRAME)
    assert (encoded(frame) == reference).all()
    rows = encoded(frame.assign(**{name: put(frame[name], (BAD | MISSING)[cell])}))
    others = np.arange(N) != ROW
    assert (rows[others] == reference[others]).all()
    names = reticent.DeclaredEncoder(declaration=DECLARATION).fit(FRAME).get_feature_names_out()
    own = [text == name or text.startswith(f"{name}=") for text in names]
    numeric = name in ("flag", "whole", "real", "single")
    # A missing number is the middle of its bounds.
    assert any(own) and (rows[ROW, own] == (0.5 if numeric and cell in MISSING else 0.0)).all()
    assert (rows[ROW] == 0.0).all() == (numeric and cell in BAD)


@pytest.mark.parametrize("first", ["True", "maybe", "1", ""])
@pytest.mark.parametrize("reader", ["pandas", "arrow"])
def test_what_a_program_guesses_of_a_column_changes_no_other_row(reader, first):
    """One cell decides whether the readers see truth values, numbers or texts."""
    columns = [
        {"name": "kind", "type": "categorical", "categories": [True, False]},
        {"name": "flag", "type": "real", "bounds": {"min": 0, "max": 1}},
        {"name": "gap", "type": "categorical", "categories": ["no", "False"], "missing": ["True"]},
        {"name": "y", "type": "categorical", "categories": [False, True]},
    ]
    cells = [first, *np.where(FLAG, "True", "FALSE")]
    lines = "\n".join(f"{cell},{cell},{cell},{cell}" for cell in cells)
    text = f"kind,flag,gap,y\n{lines}\n".encode()
    if reader == "pandas":
        frame = pd.read_csv(io.BytesIO(text))
        target = frame.pop("y")
    else:
        csv = pytest.importorskip("pyarrow.csv")
        frame = csv.read_csv(io.BytesIO(text))
        target = frame.column("y").to_numpy(zero_copy_only=False)
    declaration = {"target": "y", "columns": columns}
    rows = reticent.DeclaredEncoder(declaration=declaration).fit(frame).transform(frame)[1:]
    zero = np.zeros(N)
    assert (rows == np.column_stack([FLAG, ~FLAG, FLAG, zero, ~FLAG])[:, : rows.shape[1]]).all()
    for classes in ([0, 1], [False, True], ["False", "True"], ["no", "True"]):
        labels = _input.class_labels(np.asarray(target), _input.declared_classes(classes))[1:]
        numbers = [_input._number(label) for label in labels]
        assert numbers == FLAG.astype(float).tolist(), classes


def test_missing_numbers_and_moments_stay_what_they_are_beside_a_text():
    moments = pd.Series(pd.date_range("2026-01-01", periods=N)).where(REAL > 0.2)
    reals = pd.Series(np.where(REAL > 0.2, REAL, np.nan))
    arrow = pd.Series(pd.array(REAL, dtype="double[pyarrow]")) * np.where(REAL > 0.2, 1.0, np.nan)
    others = np.arange(N) != ROW
    for column in (moments, reals, reals.astype("Float64"), arrow):
        forms = (column, put(column.astype(object), "x"))
        own, mixed = (encoded(FRAME.assign(real=given)) for given in forms)
        assert (own[others] == mixed[others]).all(), column.dtype
        own, mixed = (reticent.BoundedScaler(low=0, high=1).fit_transform(given.to_frame()) for given in forms)
        assert (own[others] == mixed[others]).all(), column.dtype


def matrices(cell, column):
    """One table of numbers in every form that can hold this cell."""
    rows = [[bool(f), int(w), float(r)] for f, w, r in zip(FLAG, WHOLE, REAL, strict=True)]
    rows[ROW][column] = cell
    array = np.empty((N, 3), dtype=object)
    for place in np.ndindex(N, 3):
        array[place] = rows[place[0]][place[1]]
    yield "list", rows
    yield "tuples", [tuple(row) for row in rows]
    yield "objects", array
    yield "objects in a frame", pd.DataFrame(array)
    frame = pd.DataFrame({"flag": FLAG, "whole": WHOLE, "real": REAL})
    for types in ({}, {"flag": "boolean", "whole": "Int64"}, {"flag": "category", "whole": "category"}):
        typed = frame.astype(types)
        name = frame.columns[column]
        yield f"frame {types}", typed.assign(**{name: put(typed[name], cell)})


@pytest.mark.parametrize("column", range(3))
@pytest.mark.parametrize("cell", BAD | MISSING)
def test_a_cell_of_a_matrix_changes_its_own_row(cell, column):
    broken = ROWS.copy()
    broken[ROW] = np.nan
    base = reticent.LogisticRegression(**MATRIX, classes=[False, True])
    reference = clone(base).fit(broken, TRUTH).coef_
    scaled = reticent.BoundedScaler(low=0, high=4).fit_transform(broken)
    for form, X in matrices((BAD | MISSING)[cell], column):
        assert (clone(base).fit(X, TRUTH).coef_ == reference).all(), form
        assert (reticent.BoundedScaler(low=0, high=4).fit_transform(X) == scaled).all(), form


@pytest.mark.parametrize("column", range(3))
def test_good_cells_mean_the_same_in_every_form(column):
    base = reticent.LogisticRegression(**MATRIX, classes=[False, True])
    reference = clone(base).fit(ROWS, TRUTH).coef_
    for form, X in matrices(ROWS[ROW, column].item(), column):
        assert (clone(base).fit(X, TRUTH).coef_ == reference).all(), form


TARGETS = {
    "flags": ([False, True], TRUTH),
    "flags as numbers": ([0, 1], TRUTH),
    "numbers as flags": ([False, True], TRUTH.astype(int)),
    "numbers": ([0, 1], TRUTH.astype(int)),
    "reals": ([0.0, 1.0], TRUTH.astype(float)),
    "numbers as texts": (["0", "1"], TRUTH.astype(float)),
    "texts": (["no", "yes"], np.where(TRUTH, "yes", "no")),
}


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("cell", BAD | MISSING)
def test_a_label_changes_its_own_row(kind, cell):
    classes, y = TARGETS[kind]
    base = reticent.LogisticRegression(**MATRIX, classes=classes)
    fallback = TRUTH.copy()
    fallback[ROW] = False
    reference = clone(base).fit(ROWS, np.array(classes)[fallback.astype(int)]).coef_
    labels = y.tolist()
    labels[ROW] = (BAD | MISSING)[cell]
    objects = np.empty(N, dtype=object)
    objects[:] = y.tolist()
    objects[ROW] = labels[ROW]
    forms = {"list": labels, "tuple": tuple(labels), "objects": objects, "object column": pd.Series(objects, dtype=object)}
    for dtype in (None, "category", {"b": "boolean", "i": "Int64", "f": "Float64"}.get(y.dtype.kind, "string")):
        forms[f"column {dtype}"] = put(pd.Series(y, dtype=dtype), labels[ROW])
    for form, given in forms.items():
        assert (clone(base).fit(ROWS, given).coef_ == reference).all(), form


@pytest.mark.parametrize("cell", BAD | MISSING)
def test_a_target_changes_its_own_row(cell):
    base = reticent.HuberRegressor(**MATRIX, label_bound=2.0)
    fallback = TRUTH.astype(float)
    fallback[ROW] = np.nan
    reference = clone(base).fit(ROWS, fallback).coef_
    for y in (TRUTH, TRUTH.astype(int)):
        labels = y.tolist()
        labels[ROW] = (BAD | MISSING)[cell]
        for given in (labels, put(pd.Series(y), labels[ROW])):
            assert (clone(base).fit(ROWS, given).coef_ == reference).all()


def test_numbers_of_any_precision_are_silent():
    long = ROWS.astype(np.longdouble)
    long[ROW] = np.longdouble("1e4000")
    base = reticent.LogisticRegression(**MATRIX, classes=[False, True])
    broken = np.where(np.arange(N)[:, None] == ROW, np.nan, ROWS)
    reference = clone(base).fit(broken, TRUTH).coef_
    for X in (long, pd.DataFrame(long)):
        assert (clone(base).fit(X, TRUTH).coef_ == reference).all()


def test_only_an_array_says_its_precision():
    single = ROWS.astype(np.float32)
    given = {"f32": [single], "f64": [[*single], pd.DataFrame(single), ROWS], "sparse": [sparse.csr_array(single)]}
    for X, precision in ((X, precision) for precision, tables in given.items() for X in tables):
        assert _input.read_matrix(reticent.LogisticRegression(), X, reset=True)[3] == precision


def test_an_array_of_complex_numbers_is_refused():
    base = reticent.LogisticRegression(**MATRIX, classes=[0, 1])
    for X, y in ((ROWS + 1j, WHOLE), (ROWS, WHOLE + 1j), (sparse.csr_array(ROWS + 1j), WHOLE)):
        with pytest.raises(ValueError, match="Complex data not supported"):
            clone(base).fit(X, y)


@pytest.mark.parametrize("adjacency", ["add-remove-one", "add_remove_one", "add-remove"])
def test_no_message_shows_a_private_number_of_rows(adjacency):
    model = reticent.MLPClassifier(
        epsilon=2.0, delta=1e-6, feature_norm=5.0, classes=[0, 1], hidden=2, adjacency=adjacency, rows=50, settings={"steps": 2}
    )
    wrong = [(ROWS, WHOLE[:-1]), (ROWS[:, :0], WHOLE), (ROWS, np.column_stack([WHOLE, WHOLE]))]
    for X, y in wrong:
        with pytest.raises(ValueError, match="inconsistent|0 feature|1d array") as caught:
            clone(model).fit(X, y)
        assert str(N) not in str(caught.value) and str(N - 1) not in str(caught.value)
    # An empty table is a table like any other.
    assert clone(model).fit(ROWS[:0], WHOLE[:0]).plan_ == clone(model).fit(ROWS, WHOLE).plan_


def test_a_flat_sparse_array_is_refused_as_such():
    flat = sparse.coo_array(np.ones(3))
    if flat.ndim != 1:
        pytest.skip("SciPy has flat sparse arrays from 1.13 on")
    with pytest.raises(ValueError, match="dim 2 is required"):
        reticent.LogisticRegression(classes=[0, 1], **MATRIX).fit(flat, [0, 1, 0])
