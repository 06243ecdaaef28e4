"""The hosted checks name chores, jobs, machines and artefacts that are there."""

import re

import yaml
from conftest import ROOT

JOBS = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]
# Machines that are offered; those with a number are retired sooner.
MACHINES = {"ubuntu-latest", "ubuntu-24.04-arm", "macos-15-intel", "macos-latest", "windows-latest", "windows-11-arm"}


def steps(job, key):
    """The values that the steps of a job have at a key."""
    return [step[key] for step in job["steps"] if key in step]


def test_every_chore_is_one_of_ours_and_every_job_that_is_needed_is_there():
    chores = set(re.findall(r'^ +"(\w+)" => ', (ROOT / "xtask" / "src" / "main.rs").read_text(), re.MULTILINE))
    parts = set(re.findall(r'^    "(\w+)": ', (ROOT / "xtask" / "dist" / "__main__.py").read_text(), re.MULTILINE))
    for name, job in JOBS.items():
        for command in steps(job, "run"):
            for words in re.findall(r"^cargo (.+)$", command, re.MULTILINE):
                words = words.split()
                # Everything that cargo does can be done anywhere by the same chore.
                assert words[0] == "xtask" and words[1] in chores, (name, words)
                assert words[1] != "dist" or set(words[2:]) <= parts, (name, words)
        assert set(job.get("needs", [])) <= set(JOBS), name


def test_machines_are_offered_and_each_has_its_oldest_python():
    for name, job in JOBS.items():
        machines = [job["runs-on"]] if "matrix" not in job["runs-on"] else [m["os"] for m in job["strategy"]["matrix"]["include"]]
        assert set(machines) <= MACHINES, name
    matrix = JOBS["dist"]["strategy"]["matrix"]["include"]
    assert {m["os"] for m in matrix} == MACHINES
    # interpreters.py knows the same exception.
    assert {m["os"]: m["oldest"] for m in matrix if m["oldest"] != "3.10"} == {"windows-11-arm": "3.11"}
    assert "(3, 11)" in (ROOT / "xtask" / "dist" / "interpreters.py").read_text()


def test_a_release_has_everything_that_was_made():
    release = JOBS["release"]
    assert set(release["needs"]) == set(JOBS) - {"release"}
    stored = {step["with"]["name"] for job in JOBS.values() for step in job["steps"] if "upload-artifact" in step.get("uses", "")}
    fetched = [step["with"] for step in release["steps"] if "download-artifact" in step.get("uses", "")]
    patterns = [given.get("pattern", given.get("name")).replace("*", ".*") for given in fetched]
    assert stored == {"dist-${{ matrix.os }}", "dist-crates", "site"}
    assert all(any(re.fullmatch(pattern, name) for pattern in patterns) for name in stored)


def test_interpreters_are_found_by_their_names_on_every_system():
    import importlib
    import sys

    sys.path.insert(0, str(ROOT / "xtask"))
    name = importlib.import_module("dist.interpreters").NAME
    for file in ("python3.10", "python3", "python.exe", "python3.10.exe", "python3.exe"):
        assert name.fullmatch(file), file
    for file in ("python3.10-config", "pythonw.exe", "python3-config", "python2.7", "python310.dll"):
        assert not name.fullmatch(file), file
