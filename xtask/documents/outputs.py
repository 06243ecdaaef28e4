"""Sessions: a `text` block that begins with `$ ` shows commands and exactly what they print.

A line `...` stands for any lines. Below `<!-- figures vary -->` numbers may differ by 0.05 or by 5
%, because they depend on fresh noise; words may not.
"""

import math
import os
import pathlib
import re
import subprocess

from .pages import FENCE

VARY = "<!-- figures vary -->"
BUILT = "cargo run --release --bin reticent -- "
NUMBERS = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")


class Session:
    """A folder in which the commands of a page are typed, one after the other."""

    def __init__(self, folder, binary):
        self.folder = pathlib.Path(folder)
        commands = self.folder / "commands"
        commands.mkdir()
        (commands / "reticent").symlink_to(pathlib.Path(binary).resolve())
        path = f"{commands}{os.pathsep}{os.environ['PATH']}"
        self.environment = {**os.environ, "PATH": path, "RETICENT_CACHE": str(self.folder / "cache")}

    def type(self, line):
        """The output of a command, errors included, without the blanks that end a line."""
        if line.startswith("cd "):
            self.folder = self.folder / line.removeprefix("cd ")
            return []
        line = line.replace(BUILT, "reticent ").split("  #")[0]
        run = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return [text.rstrip() for text in run.stdout.rstrip("\n").split("\n")] if run.stdout else []


def check(page, session):
    """Every command of a page that prints something else, as `page:line: what`."""
    faults = []
    for start, vary, _, shown in sessions(page.text):
        for command, lines in commands(shown):
            printed = session.type(command)
            if not alike(lines, printed, vary):
                told = "\n    ".join(printed)
                place = f"{page.path}:{page.text.count(chr(10), 0, start) + 1}"
                faults.append(f"{place}: `{command}` prints something else:\n    {told}")
    return faults


def rewrite(text, session):
    """The text with what its commands print now."""
    pieces, end = [], 0
    for start, vary, indent, shown in sessions(text):
        block = []
        for command, lines in commands(shown):
            printed = session.type(command)
            block.append(f"$ {command}")
            block += lines if vary and alike(lines, printed, vary) else shortened(lines, printed)
        pieces += [text[end:start], "".join(f"{indent}{line}\n" for line in block)]
        end = start + len(shown)
    return "".join(pieces) + text[end:]


def sessions(text):
    """Where the sessions stand, whether their figures vary, their indent, and what they show."""
    for found in FENCE.finditer(text):
        if found.group(3) == "text" and found.group(4).lstrip().startswith("$ "):
            vary = text[: found.start()].rstrip().endswith(VARY)
            yield found.start(4), vary, found.group(1), found.group(4)


def commands(shown):
    """The commands of a session, each with the lines below it."""
    for part in re.split(r"^ *\$ ", shown, flags=re.MULTILINE)[1:]:
        command, *lines = part.rstrip("\n").split("\n")
        yield command, [line.rstrip() for line in lines]


def alike(shown, printed, vary):
    """Whether what is shown is what was printed."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(alike(shown[1:], printed[i:], vary) for i in range(len(printed) + 1))
    return bool(printed) and same(shown[0], printed[0], vary) and alike(shown[1:], printed[1:], vary)


def same(shown, printed, vary):
    """Whether two lines agree. The last digits depend on the processor, which adds in its own
    order."""
    if NUMBERS.sub("0", shown) != NUMBERS.sub("0", printed):
        return False
    pairs = zip(NUMBERS.findall(shown), NUMBERS.findall(printed), strict=True)
    # Two predictions at epsilon 1 differ by 0.057 in standard deviation: by 0.25 once in 80,000
    # pairs.
    relative, absolute = (0.05, 0.25) if vary else (1e-9, 0.0)
    return all(math.isclose(float(a), float(b), rel_tol=relative, abs_tol=absolute) for a, b in pairs)


def shortened(shown, printed):
    """The current output; where the end was left out, it stays so."""
    if shown and shown[-1] == "...":
        return [*printed[: len(shown) - 1], "..."]
    return printed
