"""Units: wages of women who were asked up to fifteen times.

The National Longitudinal Survey asked 4,711 women in up to fifteen years (28,534 rows). A guarantee
for rows would protect one answer; a guarantee for units protects all answers of one woman at once.
It costs more, and the table says how much.
"""

import json
import os
import pathlib

import pandas as pd
import reticent

TABLES = pathlib.Path(os.environ.get("RETICENT_TABLES", "."))  # nls_wages.csv.gz and nls_wages.schema.json
table = pd.read_csv(TABLES / "nls_wages.csv.gz")
declaration = json.loads((TABLES / "nls_wages.schema.json").read_text())
declaration.pop("unit", None)
# Women, not rows, are held out: two rows of one woman resemble each other.
held_out = table["idcode"] % 5 == 4

for unit in (None, "idcode"):
    model = reticent.HuberRegressor(epsilon=2.0, delta=1e-5, declaration=declaration, algorithm="clipped-sgd")
    model.fit(table[~held_out], unit=unit, max_rows=None if unit is None else 15)
    score = model.score(table[held_out], table.loc[held_out, "ln_wage"])
    print(model.certificate_["statement"])
    print(f"  R2 on women who were held out: {score:.2f}")
