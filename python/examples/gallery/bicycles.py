"""Curves and surfaces: how many bicycles are rented in an hour?

17,379 hours of a bicycle rental (Fanaee-T and Gama, 2013; UCI, CC BY 4.0). Each number has a curve,
and the course of a day has one for working days and one for others: that the two differ is known
without a row. Every fifth hour is held out.
"""

import os
import pathlib

import pandas as pd
import reticent

TABLES = pathlib.Path(os.environ.get("RETICENT_TABLES", "."))  # bike_hour.csv.gz and bike_hour.schema.json
table = pd.read_csv(TABLES / "bike_hour.csv.gz")
held_out = table.index % 5 == 4

for pairs in (None, [("hr", "workingday"), ("yr", "hr")]):
    model = reticent.AdditiveRegressor(
        epsilon=1.0, delta=1e-6, declaration=TABLES / "bike_hour.schema.json", pairs=pairs, algorithm="clipped-sgd"
    )
    model.fit(table[~held_out])
    score = model.score(table[held_out], table.loc[held_out, "cnt"])
    print(f"pairs {pairs}: R2 {score:.2f} on hours that were held out")

# Each part of the sum can be drawn and read by itself.
curve = model.curves_["atemp"]
print("warmth adds from", curve["values"].min().round(), "to", curve["values"].max().round(), "bicycles")
print(model.certificate_["statement"])
