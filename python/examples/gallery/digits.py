"""A ledger and a report: several models of the same handwriting.

The 1,797 digits that scikit-learn brings along, and a budget for all that is ever released from
them. A fit is charged before it reads a row; one that no longer fits the budget is refused. The
report is for people who have to sign.
"""

import pathlib

import numpy as np
import reticent
from sklearn.datasets import load_digits

images, digit = load_digits(return_X_y=True)
held_out = np.arange(len(digit)) % 5 == 4
# A pixel is a whole number from 0 to 16, so no image of 64 pixels is longer than this.
longest = 16.0 * 64**0.5

book = reticent.Ledger.init("digits.ledger", epsilon=9.0, delta=1e-4)
given = {"feature_norm": longest, "classes": range(10), "delta": 1e-5, "algorithm": "clipped-sgd", "ledger": book}
for epsilon in (2.0, 6.0):
    model = reticent.LogisticRegression(epsilon=epsilon, **given).fit(images[~held_out], digit[~held_out])
    score = model.score(images[held_out], digit[held_out])
    print(f"epsilon = {epsilon:g}: {score:.2f} of other digits are recognised; left in the ledger: {book.show()['left']:.2f}")

try:
    reticent.LogisticRegression(epsilon=6.0, **given).fit(images[~held_out], digit[~held_out])
except reticent.OverBudget as refusal:
    print("refused:", refusal)

model.save("digits.json")
pathlib.Path("digits.html").write_text(model.report(), encoding="utf-8")
print("verifies with its ledger:", reticent.verify("digits.json", ledger=book)["pass"])
