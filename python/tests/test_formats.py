"""Tables written by other libraries give the same model, cell for cell."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.ipc
import pyarrow.parquet
import pytest

ROWS = 150
CITIES = ["Oslo", "Pisa", "Łódź"]
SCHEMA = [
    {"name": "age", "type": "real", "bounds": {"min": 0, "max": 100}},
    {"name": "city", "type": "categorical", "categories": CITIES},
    {"name": "visits", "type": "integer", "bounds": {"min": 0, "max": 20}},
    {"name": "member", "type": "categorical", "categories": [True, False]},
    {"name": "back", "type": "categorical", "categories": ["no", "yes"]},
]


@pytest.fixture
def table():
    """Arrow columns with nulls in each feature."""
    rng = np.random.default_rng(11)
    holes = rng.random((4, ROWS)) < 0.1
    age, visits = rng.uniform(-10, 110, ROWS), rng.integers(0, 25, ROWS)
    city = rng.choice([*CITIES, "Rome"], ROWS)
    back = np.where(age + visits > 60, "yes", "no")
    return pa.table(
        {
            "age": pa.array(age, mask=holes[0]),
            "city": pa.array(city, mask=holes[1]),
            "visits": pa.array(visits, mask=holes[2]),
            "member": pa.array(rng.random(ROWS) < 0.5, mask=holes[3]),
            "back": pa.array(back),
        }
    )


def text(table):
    """The table as CSV: a null is an empty cell."""
    def cell(value):
        return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

    rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
    lines = [",".join(table.column_names), *(",".join(map(cell, row)) for row in rows)]
    return "\n".join(lines) + "\n"


def model_of(reticent, *flags):
    """Weights and predictions for one seed."""
    data = flags[flags.index("--data") + 1]
    model = reticent.fit("--schema", "schema.json", "--epsilon", 2, "--insecure-seed", 5, *flags)
    rows = reticent.json("predict", "--model", "model.json", "--data", data)["predictions"]
    return model["weights"], rows


def test_every_way_to_write_a_table_gives_the_same_model(reticent, table):
    reticent.write_schema(SCHEMA, target="back")
    folder = reticent.folder
    (folder / "table.csv").write_text(text(table))
    expected = model_of(reticent, "--data", "table.csv")
    assert len(expected[1]) == ROWS

    with gzip.open(folder / "table.csv.gz", "wt", encoding="utf-8") as file:
        file.write(text(table))
    dictionary = table.set_column(1, "city", table["city"].dictionary_encode())
    dictionary = dictionary.set_column(4, "back", dictionary["back"].dictionary_encode())
    pa.parquet.write_table(table, folder / "plain.parquet", compression="none")
    for codec in ["snappy", "zstd", "gzip"]:
        pa.parquet.write_table(table, folder / f"{codec}.parquet", compression=codec)
    pa.parquet.write_table(dictionary, folder / "dictionary.parquet", row_group_size=40)
    reordered = table.select(["back", "visits", "city", "age", "member"])
    pa.parquet.write_table(reordered.append_column("more", table["age"]), folder / "more.parquet")
    narrow = table.set_column(2, "visits", table["visits"].cast(pa.int8()))
    narrow = narrow.set_column(1, "city", table["city"].cast(pa.large_string()))
    pa.parquet.write_table(narrow, folder / "narrow.parquet", version="1.0")
    pa.feather.write_feather(table, folder / "table.arrow", compression="uncompressed")
    pa.feather.write_feather(dictionary, folder / "lz4.arrow", compression="lz4", chunksize=40)
    pa.feather.write_feather(narrow, folder / "zstd.feather", compression="zstd")
    with pa.ipc.new_stream(folder / "table.arrows", table.schema) as stream:
        stream.write_table(table, max_chunksize=33)
    names = [p.name for p in folder.iterdir() if p.suffix not in {".json", ".csv"}]
    assert len(names) == 12
    for name in sorted(names):
        assert model_of(reticent, "--data", name) == expected, name


def test_numpy_files_of_every_type_give_the_same_model(reticent):
    rng = np.random.default_rng(2)
    x = rng.integers(0, 256, (ROWS, 6))
    y = rng.integers(0, 3, ROWS)
    vector = {"name": "x", "type": "uint8", "dimension": 6, "bounds": {"min": 0, "max": 255}}
    label = {"name": "y", "type": "categorical", "categories": [0, 1, 2]}
    reticent.write_schema([vector, label], target="y")
    folder = reticent.folder
    reticent.write_csv({**{f"x[{j}]": x[:, j] for j in range(6)}, "y": y})
    expected = model_of(reticent, "--data", "table.csv")
    for kind in ["u1", "<i2", "<i4", "<i8", "<f4", "<f8", ">f8", ">i2"]:
        np.save(folder / "x.npy", x.astype(kind))
        np.save(folder / "y.npy", y.astype("u1" if kind == "u1" else kind))
        assert model_of(reticent, "--data", "x.npy", "--labels", "y.npy") == expected, kind
    np.save(folder / "x.npy", np.asfortranarray(x.astype("<f8")))
    assert model_of(reticent, "--data", "x.npy", "--labels", "y.npy") == expected
    np.save(folder / "x.npy", x.reshape(ROWS, 2, 3).astype("<f4"))
    assert model_of(reticent, "--data", "x.npy", "--labels", "y.npy") == expected
    (folder / "x.npy.gz").write_bytes(gzip.compress((folder / "x.npy").read_bytes()))
    assert model_of(reticent, "--data", "x.npy.gz", "--labels", "y.npy") == expected
    lists = pa.table({"x": pa.array(x.tolist(), pa.list_(pa.float32(), 6)), "y": y})
    pa.parquet.write_table(lists, folder / "lists.parquet")
    assert model_of(reticent, "--data", "lists.parquet") == expected


def test_a_changed_cell_changes_the_model(reticent, table):
    reticent.write_schema(SCHEMA, target="back")
    pa.parquet.write_table(table, reticent.folder / "one.parquet")
    flipped = ["yes" if cell == "no" else "no" for cell in table["back"].to_pylist()]
    other = table.set_column(4, "back", pa.array([flipped[0], *table["back"].to_pylist()[1:]]))
    pa.parquet.write_table(other, reticent.folder / "other.parquet")
    first = model_of(reticent, "--data", "one.parquet")[0]
    assert model_of(reticent, "--data", "other.parquet")[0] != first
