"""Intervals: what do coefficients of house prices say?

20,640 districts of California (Pace and Barry, 1997). With `intervals` a part of the budget pays
for the curvature, and each coefficient comes with an interval that covers sampling and privacy
noise. Counts of rooms and people fill a small part of their bounds and repeat each other: while the
noise hides one of the columns, no coefficient has an interval, so three are kept.
"""

import json
import os
import pathlib

import pandas as pd
import reticent

TABLES = pathlib.Path(os.environ.get("RETICENT_TABLES", "."))  # california_housing.csv.gz and california_housing.schema.json
table = pd.read_csv(TABLES / "california_housing.csv.gz")

KEPT = {"housing_median_age", "median_income", "latitude", "median_house_value"}
declaration = json.loads((TABLES / "california_housing.schema.json").read_text())
declaration["columns"] = [
    column if column["name"] in KEPT else {"name": column["name"], "role": "id", "type": "text"}
    for column in declaration["columns"]
]

model = reticent.HuberRegressor(epsilon=4.0, delta=1e-6, declaration=declaration, intervals=95)
model.fit(table)
print(model.summary())
low, high = model.conf_int(level=90).T
print("narrowest interval of 90 %:", (high - low).min().round(1))
print(model.certificate_["statement"])
