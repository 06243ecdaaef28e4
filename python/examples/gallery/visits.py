"""Counts: how often does somebody see a doctor in a year?

20,186 person-years of the RAND Health Insurance Experiment. A count has a mean that depends on the
columns through its logarithm, so coefficients are factors: the model is Poisson regression. The
declared maximum is a bound that few exceed, not the largest that can be: it is the unit of the
noise. More visits count as that many.
"""

import json
import math
import os
import pathlib

import pandas as pd
import reticent

TABLES = pathlib.Path(os.environ.get("RETICENT_TABLES", "."))  # doctor_visits.csv.gz and doctor_visits.schema.json
table = pd.read_csv(TABLES / "doctor_visits.csv.gz", dtype={"health": str})
declaration = json.loads((TABLES / "doctor_visits.schema.json").read_text())
held_out = table.index % 5 == 4

model = reticent.GeneralizedLinearRegressor(
    loss="poisson", epsilon=1.0, delta=1e-6, declaration=declaration, algorithm="clipped-sgd"
)
model.fit(table[~held_out])
predicted = model.predict(table[held_out])
print(f"visits in a year: {table.loc[held_out, 'mdu'].mean():.1f} on average, predicted from {predicted.min():.1f} to {predicted.max():.1f}")

names = model.certificate_["plan"]["problem"] and model._model.to_dict()["features"]
factor = math.exp(dict(zip(names, model.coef_, strict=False))["physlim"])
print(f"a physical limitation multiplies the expected visits by about {factor:.2f}")
print(model.certificate_["statement"])
