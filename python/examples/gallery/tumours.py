"""Classification: is a tumour malignant?

The table of breast tumours that scikit-learn brings along has 569 rows: few for a private model. So
the plan comes first: it says, without a row, what can be expected of each epsilon. Bounds are round
numbers from what the measures mean.
"""

import reticent
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

HIGHEST = {
    "mean radius": 30.0,
    "mean texture": 40.0,
    "mean perimeter": 200.0,
    "mean area": 2500.0,
    "mean smoothness": 0.2,
    "mean compactness": 0.4,
    "mean concavity": 0.5,
    "mean concave points": 0.25,
    "mean symmetry": 0.4,
    "mean fractal dimension": 0.1,
}
declaration = {
    "target": "tumour",
    "positive_class": "malignant",
    "columns": [
        *({"name": name, "type": "real", "bounds": {"min": 0.0, "max": most}} for name, most in HIGHEST.items()),
        {"name": "tumour", "type": "categorical", "categories": ["benign", "malignant"]},
    ],
}

tumours = load_breast_cancer(as_frame=True)
table = tumours.data[list(HIGHEST)]
malignant = tumours.target.map({0: "malignant", 1: "benign"})
train, test, y_train, y_test = train_test_split(table, malignant, random_state=0)

# No row is read here: the number of rows and the declaration are public.
for epsilon in (1.0, 4.0):
    ranking = reticent.plan(n=len(train), declaration=declaration, epsilon=epsilon, delta=1e-5, algorithm="objective")
    print(f"epsilon = {epsilon:g}: {ranking.attrs['outlook']}")

model = reticent.LogisticRegression(epsilon=4.0, delta=1e-5, declaration=declaration, algorithm="objective")
model.fit(train, y_train)
print(model.certificate_["statement"])
print(f"accuracy on {len(test)} other tumours: {model.score(test, y_test):.2f}")
print("verifies:", model.verify()["pass"])
