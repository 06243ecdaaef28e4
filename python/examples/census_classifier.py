"""Fit a private classifier to a table by its declaration, check the certificate, and save the
model."""

import reticent

train, declaration = reticent.census(20_000, seed=1)
test, _ = reticent.census(5_000, seed=2)

model = reticent.LogisticRegression(epsilon=1.0, declaration=declaration)
model.fit(train.drop(columns="income"), train["income"])

print(model.certificate_["statement"])
print("verifies:", model.verify()["pass"])
print("accuracy on other synthetic people:", round(model.score(test, test["income"]), 3))
model.save("census.json")
