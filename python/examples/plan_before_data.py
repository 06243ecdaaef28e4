"""Compare algorithms and budgets before any data is opened."""

import reticent

ranking = reticent.plan(n=30_000, d=106, loss="logistic", epsilon=1.0, delta=1e-6)
print(ranking[["algorithm", "noise_deviation", "steps", "predicted_excess"]].dropna().to_string(index=False))
reticent.plot.ranking(ranking).figure.savefig("ranking.png")
