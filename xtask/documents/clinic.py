"""The table of the guide: 4,000 simulated patients for `docs/schemas/clinic.schema.json`.

`python3 xtask/documents/clinic.py FOLDER` writes both into a folder.
"""

import pathlib
import sys


def clinic(rows=4000):
    """The patients as CSV."""
    lines = ["patient,age,systolic,ward,readmitted"]
    for i in range(rows):
        age, pressure = 20 + i * 37 % 71, 100 + i * 13 % 90
        ward = ("surgery", "internal", "intensive", "other", "?")[i % 5]
        back = "yes" if age + pressure + (i * 29 % 60) > 220 else "no"
        lines.append(f"p{i},{age},{pressure},{ward},{back}")
    return "\n".join(lines) + "\n"


def prepare(folder, root):
    """Puts the table and its schema into a folder."""
    (folder / "clinic.csv").write_text(clinic())
    schema = root / "docs" / "schemas" / "clinic.schema.json"
    (folder / "clinic.schema.json").write_text(schema.read_text())


if __name__ == "__main__":
    if len(sys.argv) != 2 or not pathlib.Path(sys.argv[1]).is_dir():
        sys.exit("name a folder that is there: python3 xtask/documents/clinic.py FOLDER")
    prepare(pathlib.Path(sys.argv[1]), pathlib.Path(__file__).resolve().parents[2])
