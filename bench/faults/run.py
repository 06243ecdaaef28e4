"""Kills, races and slow accountants: is anything lost that was paid for, and is anything spent
twice?

    python bench/faults/run.py --reticent target/release/reticent --out bench/faults/RESULTS.md

Standard library only. Kills at the n-th call need `strace`; without it that part is left out, and
the page says so.

After every kill the same is asked: the ledger checks; every model verifies and is the one that its
charge released; what was charged and never began can be given back; a run that keeps a checkpoint
goes on under its charge and ends with a model; what is recorded as released is there or can be
recovered. A run without a checkpoint that dies between its first noise and the end of its training
cannot go on: its noise is drawn and its weights were in memory alone. These are counted, not
hidden.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import platform
import random
import shutil
import subprocess
import tempfile
import time
from collections import Counter

SCHEMA = {
    "name": "clinic",
    "target": "back",
    "positive_class": "yes",
    "columns": [
        {"name": "age", "type": "real", "bounds": {"min": 0, "max": 100}},
        {"name": "ward", "type": "categorical", "categories": ["surgery", "internal", "other"]},
        {"name": "back", "type": "categorical", "categories": ["no", "yes"]},
    ],
}
CALLS = {
    "write": "write,pwrite64,ftruncate",
    "fsync": "fsync,fdatasync",
    "rename": "rename,renameat,renameat2,link,linkat,unlink,unlinkat",
}
BUDGET = "--epsilon 0.01 --delta 1e-9"
FIT = f"fit --data clinic.csv --schema clinic.json {BUDGET} --ledger c.ledger --force"
SHORT = f"{FIT} --algorithm output-sgd"
LONG = f"{FIT} --algorithm clipped-sgd --steps 1500 --batch 50 --checkpoint run.ck --checkpoint-every 50 --out long.json"
# Noise of a billion beside ten pure mechanisms with a delta: seconds for an accountant.
SLOW = {
    "kind": "composed",
    "events": [{"kind": "gaussian", "noise_multiplier": 1e9, "adjacency": "replace-one"}]
    + [{"kind": "approx-dp", "epsilon": 0.01, "delta": 1e-8, "adjacency": "replace-one"}] * 10,
}


class Folder:
    """A table, its schema, and the command."""

    def __init__(self, binary: str, root: pathlib.Path, name: str) -> None:
        self.binary, self.path = binary, root / name
        self.path.mkdir()
        (self.path / "clinic.json").write_text(json.dumps(SCHEMA))
        rows = [f"{i * 37 % 101},{('surgery', 'internal', 'other')[i % 3]},{'yes' if i * 37 % 101 > 50 else 'no'}" for i in range(400)]
        (self.path / "clinic.csv").write_text("\n".join(["age,ward,back", *rows]) + "\n")

    def start(self, line: str, before: list[str] | None = None) -> subprocess.Popen:
        command = [*(before or []), self.binary, *line.split()]
        return subprocess.Popen(command, cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, line: str, before: list[str] | None = None) -> tuple[int, str, str]:
        process = self.start(line, before)
        out, err = process.communicate()
        return process.returncode, out, err

    def must(self, line: str) -> str:
        code, out, err = self.run(line)
        if code != 0:
            raise AssertionError(f"{line}: exit code {code}: {err}")
        return out

    def standing(self) -> dict:
        return json.loads(self.must("ledger show c.ledger --json"))

    def new_ledger(self, epsilon: float = 50, delta: float = 1e-4) -> None:
        self.must(f"ledger init c.ledger --epsilon {epsilon} --delta {delta}")
        # Later plans are counted by the filter from here on, as in a ledger that is in use.
        self.must("ledger charge c.ledger --epsilon 0.001 --label first")


class Tally(Counter):
    """Counts of the outcomes after kills."""

    def settle(self, folder: Folder) -> None:
        """Asks everything, puts everything in order, and raises if something is lost."""
        try:
            self._settle(folder)
        except AssertionError as error:
            self["losses"] += 1
            print("LOSS:", error, flush=True)

    def _settle(self, folder: Folder) -> None:
        folder.must("ledger check c.ledger")
        if (folder.path / "run.ck").exists():
            charge = json.loads((folder.path / "run.ck").read_text()).get("payment", {}).get("charge")
            folder.must(f"{LONG} --resume")
            self["runs that went on"] += 1
            model = json.loads((folder.path / "long.json").read_text())
            assert model["certificate"]["payment"]["charge"] == charge, "another charge paid"
        standing = folder.standing()
        assert (standing["tight"] or 0) <= standing["budget"]["epsilon"], "overspent"
        for charge in standing["kept_models"]:
            folder.must(f"ledger recover c.ledger --charge {charge} --out recovered{charge}.json")
            self["models recovered from the ledger"] += 1
        for line in standing["charges"]:
            if line["state"] == "charged":
                folder.must(f"ledger refund c.ledger --charge {line['charge']}")
                self["charges given back"] += 1
            if line["state"] == "begun" and line["item"]["label"] not in ("first", "elsewhere"):
                code, _, _ = folder.run(f"ledger recover c.ledger --charge {line['charge']} --out m{line['charge']}.json")
                if code == 0:
                    self["models found beside their place"] += 1
                elif line["item"]["label"] == "clipped-sgd":
                    raise AssertionError(f"charge {line['charge']} kept a checkpoint and cannot go on")
                else:
                    self["killed in training without a checkpoint"] += 1
        standing = folder.standing()
        models = {}
        for file in folder.path.glob("*.json"):
            value = json.loads(file.read_text())
            if not str(value.get("format", "")).startswith("reticent-model/"):
                continue
            folder.must(f"verify {file.name}")
            models[value["certificate"]["payment"]["charge"]] = value["digest"]
            self["models that verify"] += 1
        for line in standing["charges"]:
            if line["state"] == "released":
                assert line["model"] == models.get(line["charge"]), f"the model of charge {line['charge']} is lost"
        assert set(models) <= {line["charge"] for line in standing["charges"] if line["state"] == "released"}, "a model nobody paid for"


def command(kind: str, folder: Folder, number: int) -> str:
    """A command of each kind that writes, in a folder where it can run."""
    if kind == "fit":
        return f"{SHORT} --out model{number}.json"
    if kind == "fit, checkpoint":
        return LONG
    if kind == "resume":
        process = folder.start(LONG)
        while process.poll() is None:
            kept = folder.path / "run.ck"
            if kept.exists() and '"state":{' in kept.read_text():
                break
            time.sleep(0.002)
        process.kill()
        process.communicate()
        return f"{LONG} --resume" if (folder.path / "run.ck").exists() else LONG
    if kind == "report":
        folder.must(f"{SHORT} --out model.json")
        return "report model.json --ledger c.ledger --out report.html"
    return "ledger charge c.ledger --epsilon 0.01"


KINDS = ["fit", "fit, checkpoint", "resume", "report", "ledger charge"]


def random_kills(binary: str, root: pathlib.Path, kills: int, seed: int) -> tuple[Tally, Counter]:
    """So many kills that hit a process which had not ended."""
    tally, killed = Tally(), Counter()
    chance = random.Random(seed)
    longest: dict[str, float] = {}
    i = 0
    while sum(killed[kind, "kills"] for kind in KINDS) < kills:
        kind = KINDS[i % len(KINDS)]
        folder = Folder(binary, root, f"random{i}")
        folder.new_ledger()
        line = command(kind, folder, i)
        started = time.monotonic()
        process = folder.start(line)
        if kind in longest:
            time.sleep(chance.random() * longest[kind])
            killed[kind, "kills"] += process.poll() is None
            process.kill()
        process.communicate()
        if process.returncode == 0:  # the shortest that a whole run took: the machine may be busy
            longest[kind] = min(longest.get(kind, 1e9), time.monotonic() - started)
        tally.settle(folder)
        shutil.rmtree(folder.path)
        i += 1
    return tally, killed


def kills_at_calls(binary: str, root: pathlib.Path) -> tuple[Tally, Counter]:
    """A kill before the first, the second, ... call of a kind, until the command ends."""
    tally, killed = Tally(), Counter()
    for kind in KINDS:
        for name, calls in CALLS.items():
            for when in range(1, 400):
                folder = Folder(binary, root, f"call{kind.replace(', ', '')}{name}{when}".replace(" ", ""))
                folder.new_ledger()
                line = command(kind, folder, when)
                if kind == "fit, checkpoint":
                    line = line.replace("--checkpoint-every 50", "--checkpoint-every 500")
                before = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={calls}:signal=KILL:when={when}"]
                code, _, _ = folder.run(line, before)
                tally.settle(folder)
                shutil.rmtree(folder.path)
                if code == 0:
                    break
                killed[kind, name] += 1
    return tally, killed


def race(binary: str, root: pathlib.Path, processes: int) -> dict:
    """Many fits for the last of a budget."""
    folder = Folder(binary, root, "race")
    folder.must("ledger init c.ledger --epsilon 1 --delta 1e-6")
    fit = SHORT.replace("--epsilon 0.01 --delta 1e-9", "--epsilon 0.6 --delta 1e-7")
    runs = [folder.start(f"{fit} --out racer{i}.json") for i in range(processes)]
    codes = Counter()
    for run in runs:
        run.communicate()
        codes[run.returncode] += 1
    standing = folder.standing()
    folder.must("ledger check c.ledger")
    models = len(list(folder.path.glob("racer*.json")))
    assert models == codes[0] == sum(line["state"] == "released" for line in standing["charges"])
    return {"processes": processes, "models": models, "refused": codes[2], "other": processes - codes[0] - codes[2], "epsilon": standing["tight"]}


def slow_accountant(binary: str, root: pathlib.Path) -> dict:
    """Quick charges beside one that takes an accountant seconds: to the same ledger, and in turn to
    another, on the same busy machine."""
    folder = Folder(binary, root, "slow")
    (folder.path / "slow.json").write_text(json.dumps(SLOW))
    for name in ("other", "c"):
        folder.must(f"ledger init {name}.ledger --epsilon 1000 --delta 0.1")
    started = time.monotonic()
    slow = folder.start("ledger charge c.ledger --event slow.json --delta 1e-7")
    time.sleep(1)  # it has read the ledger and works
    found: dict[str, list[float]] = {"other": [], "c": []}
    while slow.poll() is None and len(found["c"]) < 100:
        for name, times in found.items():
            before = time.monotonic()
            folder.must(f"ledger charge {name}.ledger --epsilon 0.1")
            times.append(time.monotonic() - before)
    slow.communicate()
    assert slow.returncode == 0, "the slow charge was refused"
    return {"other": sorted(found["other"]), "same": sorted(found["c"]), "slow": time.monotonic() - started}


def page(arguments: argparse.Namespace, found: dict) -> str:
    lines = [
        "# Faults: what was measured",
        "",
        f"`python bench/faults/run.py --kills {arguments.kills}`, {platform.system()} {platform.machine()}, {time.strftime('%Y-%m-%d', time.gmtime())}.",
        "A loss is a ledger that does not check, a model that nobody paid for or that does not verify, a charge spent twice, or a paid run",
        "that can neither be recovered, gone on with, nor given back. Not counted as losses, and listed: runs without a checkpoint that were",
        "killed between their first noise and the end of training. Their weights were in memory alone, and their charges stay paid.",
        "",
    ]
    for title, key in [("Kills at random moments", "random"), ("Kills before every write, fsync and rename", "calls")]:
        lines += [f"## {title}", ""]
        if found.get(key) is None:
            lines += ["Left out: `strace` is not installed.", ""]
            continue
        tally, killed = found[key]
        what = {name for (_, name) in killed}
        lines += [f"| command | {' | '.join(sorted(what))} |", "| --- |" + " --- |" * len(what)]
        lines += [f"| {kind} | " + " | ".join(str(killed[kind, name]) for name in sorted(what)) + " |" for kind in KINDS]
        total = sum(killed.values())
        lines += ["", f"{total} kills, **{tally['losses']} losses**. After them: " + ", ".join(f"{count} {name}" for name, count in sorted(tally.items()) if name != "losses") + ".", ""]
    race, slow = found["race"], found["slow"]
    lines += [
        "## Races",
        "",
        f"{race['processes']} processes for the last of a budget of epsilon = 1: {race['models']} models, {race['refused']} refused, {race['other']} others;",
        f"together epsilon <= {race['epsilon']:.4f}. **{int(race['epsilon'] > 1)} overspent.**",
        "",
        "## A slow accountant",
        "",
        f"A charge that takes {slow['slow']:.1f} s, and plain charges beside it, in turn to its ledger and to another one. Seconds for a plain charge",
        "(the two rows differ by the time that the ledger was locked by the slow one):",
        "",
        "| | charges | median | longest |",
        "| --- | --- | --- | --- |",
    ]
    for name, times in [("to another ledger", slow["other"]), ("to the same ledger", slow["same"])]:
        lines.append(f"| {name} | {len(times)} | {times[len(times) // 2]:.3f} | {times[-1]:.3f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reticent", default="target/release/reticent")
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--processes", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="bench/faults/RESULTS.md")
    arguments = parser.parse_args()
    binary = str(pathlib.Path(arguments.reticent).resolve())
    root = pathlib.Path(tempfile.mkdtemp(prefix="faults"))
    found: dict = {"calls": None}
    try:
        found["slow"] = slow_accountant(binary, root)
        print("slow accountant done", flush=True)
        found["race"] = race(binary, root, arguments.processes)
        print("race done", flush=True)
        found["random"] = random_kills(binary, root, arguments.kills, arguments.seed)
        print("random kills done", flush=True)
        if shutil.which("strace"):
            found["calls"] = kills_at_calls(binary, root)
        pathlib.Path(arguments.out).write_text(page(arguments, found))
        lost = sum(part[0]["losses"] for part in (found["random"], found["calls"]) if part)
        raise SystemExit(1 if lost else 0)
    finally:
        shutil.rmtree(root)


if __name__ == "__main__":
    main()
