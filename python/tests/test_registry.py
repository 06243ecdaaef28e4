"""The entry for the registry of deployments keeps to the registry's schema.

`registry_fields.json` lists the schema's fields as of July 2026: type, whether required, allowed
values.
"""

import datetime
import json
import pathlib

import pytest
import yaml
from conftest import ROOT

FIELDS = json.loads((pathlib.Path(__file__).parent / "registry_fields.json").read_text())
TYPES = {"string": str, "array": list, "object": dict, "number": (int, float), "integer": int}

SCHEMA = {
    "name": "clinic: \"beds\"",
    "target": "back",
    "columns": [
        {"name": "age: # in 'years'", "type": "real", "bounds": {"min": 0, "max": 100}},
        {"name": "ward", "type": "categorical", "categories": ["surgery", "other"]},
        {"name": "back", "type": "categorical", "categories": ["no", "yes"]},
    ],
}

RELEASE = r"""
name = "Readmissions"
curators = ["General Hospital", "- a: list #"]
intended_use = '''Two lines,
with: a colon, a "quote" and a tab\there'''
region = "yes"
sector = "Healthcare"
publication_date = 2026-11-18
row = "one stay"
releases = "many"
release_plan = "Yearly; each release is charged to the same ledger."
source = "dynamic"
justification = "null"
authors = ["1.5"]
actors = "Wards see predictions."
unprotected = "The name of the hospital."
exploration = "Last year's public table was looked at."
security = "Two people have access."
sources = "https://example.org"
notes = "none"
"""


def faults(entry, fields=FIELDS):
    """The faults of an entry, by the list of fields."""
    found = []

    def walk(node, path):
        prefix = path + "." if path else ""
        known = {name for name in fields if name.startswith(prefix) and "." not in name[len(prefix) :]}
        for name in known:
            if fields[name].get("required") and name[len(prefix) :] not in node:
                found.append(f"{name} is missing")
        for key, value in node.items():
            name = prefix + key
            if name not in known:
                found.append(f"{name} is no field")
                continue
            kinds = fields[name].get("type", [])
            kinds = tuple(TYPES[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds))
            if kinds and not isinstance(value, tuple(t for kind in kinds for t in (kind if isinstance(kind, tuple) else (kind,)))):
                found.append(f"{name} has the wrong type")
            if value not in fields[name].get("one_of", [value]):
                found.append(f"{name} is not one of the allowed values")
            if value in ("", []):
                found.append(f"{name} is empty")
            if isinstance(value, dict):
                walk(value, name)

    walk(entry, "")
    return found


@pytest.mark.parametrize(
    "flags",
    [
        ["--algorithm", "output-gd", "--noise", "gaussian"],
        ["--algorithm", "output-gd", "--delta", 0],
        ["--algorithm", "clipped-sgd", "--adjacency", "add-remove-one", "--rows", 200],
        ["--algorithm", "clipped-sgd", "--unit", "patient", "--max-rows", 2, "--delta", 1e-4],
    ],
    ids=["gaussian", "pure", "add-remove", "units"],
)
def test_an_entry_has_the_fields_types_and_values_of_the_registry(reticent, flags):
    reticent.write_schema(**SCHEMA)
    ages, wards = [i * 37 % 101 for i in range(200)], [["surgery", "other"][i % 2] for i in range(200)]
    table = {"age: # in 'years'": ages, "ward": wards, "back": [["no", "yes"][age > 50] for age in ages], "patient": [i % 90 for i in range(200)]}
    reticent.write_csv(table)
    reticent.fit("--data", "table.csv", "--schema", "schema.json", "--epsilon", 0.5, *flags)
    (reticent.folder / "release.toml").write_text(RELEASE)
    reticent("report", "model.json", "--format", "registry")
    entry = yaml.safe_load((reticent.folder / "registry.yaml").read_text())
    assert faults(entry) == []
    assert entry["status"] == "Draft" and entry["tier"] == 3
    deployment = entry["deployment"]
    basic = deployment["basic"]
    assert basic["data_curators"] == ["General Hospital", "- a: list #"]
    assert basic["intended_use"] == 'Two lines,\nwith: a colon, a "quote" and a tab\\there'
    assert basic["data_product_region"] == "yes"
    assert datetime.date.fromisoformat(basic["publication_date"]) == datetime.date(2026, 11, 18)
    assert deployment["implementation"]["justification"] == "null"
    assert deployment["administrative"]["registry_authors"] == ["1.5"]
    budget = reticent.model()["certificate"]["budget"]
    pure = budget["delta"] == 0
    parameters = deployment["privacy_loss"]["privacy_parameters"]
    assert parameters == {"epsilon": 0.5} | ({} if pure else {"delta": budget["delta"]})
    assert deployment["dp_variant"]["variant_name"] == ("Pure DP" if pure else "Approximate DP")
    template = ROOT / "docs" / "schemas" / "release.toml"
    reticent("report", "model.json", "--format", "registry", "--release", template, "--out", "template.yaml")
    assert faults(yaml.safe_load((reticent.folder / "template.yaml").read_text())) == []
    if "--unit" in flags:
        assert "`patient`" in deployment["privacy_loss"]["privacy_unit"]
        assert "200" not in json.dumps(entry)  # under units the number of rows is private
    # The checker itself: each of these is one fault.
    for path, value, word in [
        (("status",), "Done", "allowed"),
        (("deployment", "privacy_loss", "privacy_parameters", "epsilon"), "0.5", "type"),
        (("deployment", "basic", "data_curators"), [], "empty"),
        (("deployment", "basic", "more"), "x", "no field"),
    ]:
        broken = yaml.safe_load((reticent.folder / "registry.yaml").read_text())
        node = broken
        for step in path[:-1]:
            node = node[step]
        node[path[-1]] = value
        assert [word in fault for fault in faults(broken)] == [True], path
