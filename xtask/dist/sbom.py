"""The components of the command and of the wheel as CycloneDX: every crate that is linked or that
builds one.

Names, versions, licences and the graph come from cargo, digests from the lock file.
"""

import json
import sys
import tomllib
import uuid

from .tools import CARGO, MACHINE, OUT, ROOT, SYSTEM, VERSION, run, say

PRODUCTS = {"reticent-cli": "command", "reticent-python": "wheel"}
NAMESPACE = uuid.UUID("6f1d3c52-35ad-4f39-9f6e-3a4f0a9d2c11")


def build():
    """Writes one file for each product, and has a validator of the schema read it."""
    metadata = json.loads(run(CARGO, "metadata", "--format-version", "1", "--locked", "--filter-platform", triple()))
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    digests = {(p["name"], p["version"]): p.get("checksum") for p in lock["package"]}
    for package, product in PRODUCTS.items():
        text = json.dumps(bill(metadata, digests, package), indent=1)
        validate(text)
        (OUT / f"reticent-{product}-{VERSION}-{SYSTEM}-{MACHINE}.cdx.json").write_text(text + "\n")


def triple():
    """The machine that the compiler builds for."""
    lines = run("rustc", "--version", "--verbose").splitlines()
    (host,) = [line.removeprefix("host: ") for line in lines if line.startswith("host: ")]
    return host


def bill(metadata, digests, product):
    """The bill of materials of one package."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    (root,) = [key for key, package in packages.items() if package["name"] == product]
    needed, queue = {}, [root]
    while queue:
        key = queue.pop()
        if key in needed:
            continue
        kinds = {d["pkg"]: {k["kind"] for k in d["dep_kinds"]} for d in nodes[key]["deps"]}
        # Without what only tests need.
        needed[key] = sorted(other for other, kind in kinds.items() if kind != {"dev"})
        queue += needed[key]
    names = {key: f"pkg:cargo/{packages[key]['name']}@{packages[key]['version']}" for key in needed}
    say(f"{product}: {len(needed) - 1} components")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": uuid.uuid5(NAMESPACE, json.dumps(sorted(names.values()))).urn,
        "version": 1,
        "metadata": {"component": {**component(packages[root], names[root], digests), "type": "application"}},
        "components": [component(packages[key], names[key], digests) for key in sorted(needed, key=names.get) if key != root],
        "dependencies": [{"ref": names[key], "dependsOn": sorted({names[other] for other in needed[key]})} for key in sorted(needed, key=names.get)],
    }


def component(package, name, digests):
    """One component."""
    digest = digests.get((package["name"], package["version"]))
    # Some packages still write a slash for OR.
    licence = (package["license"] or "").replace("/", " OR ").replace("  ", " ")
    return {
        "type": "library",
        "bom-ref": name,
        "name": package["name"],
        "version": package["version"],
        "purl": name,
        **({"licenses": [{"expression": licence}]} if licence else {}),
        **({"hashes": [{"alg": "SHA-256", "content": digest}]} if digest else {}),
    }


def validate(text):
    """Ends if the text does not keep to the schema."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if fault is not None:
        sys.exit(f"the bill of materials of {MACHINE} is not valid CycloneDX: {fault}")
