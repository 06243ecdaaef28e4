"""The crates that are published, each built from its package alone."""

import json

from .tools import CARGO, OUT, TARGET, VERSION, run, say


def published():
    """The crates that may be published, each after those that it needs: the order of publishing."""
    metadata = json.loads(run(CARGO, "metadata", "--format-version", "1", "--no-deps", "--locked"))
    packages = {p["name"]: p for p in metadata["packages"] if p["publish"] is None}
    order = []

    def add(name):
        if name in order:
            return
        for needed in packages[name]["dependencies"]:
            if needed["name"] in packages and needed["kind"] != "dev":
                add(needed["name"])
        order.append(name)

    for name in sorted(packages):
        add(name)
    return order


def build():
    """Packages every crate; cargo builds each from its package and those of the others."""
    names = published()
    flags = [flag for name in names for flag in ("--package", name)]
    run(CARGO, "package", "--locked", "--allow-dirty", *flags)
    folder = OUT / "crates"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        file = f"{name}-{VERSION}.crate"
        (folder / file).write_bytes((TARGET / "package" / file).read_bytes())
    (folder / "ORDER").write_text("".join(f"{name}\n" for name in names))
    say(f"{len(names)} crates; publish them in the order of crates/ORDER")
