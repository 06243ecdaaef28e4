"""The commands that can be typed: those of `reticent` with their flags, and the project's own
chores."""

import functools
import re
import subprocess


# The words that we type after `cargo`.
CARGO = ("bench", "build", "clippy", "deny", "doc", "fmt", "nextest", "run", "test", "xtask")


class Commands:
    """The built command's own account of itself, and the flags of scripts and chores."""

    def __init__(self, tree, binary):
        self.tree = tree
        self.binary = binary

    @functools.cached_property
    def flags(self):
        """From each command, as `fit` or `ledger init`, to its flags: read off its completions."""
        run = subprocess.run([str(self.binary), "completions", "bash"], capture_output=True, text=True, check=True)
        lines = r"^ +([\w,-]+)\)\n +cmd=\"(\w+)\""
        names = {"reticent": ""}
        for place, name in re.findall(lines, run.stdout, re.MULTILINE):
            parent, word = place.split(",")
            names[name] = f"{names[parent]} {word}".strip()
        options = re.findall(r'^ +(reticent\w*)\)\n +opts="([^"]*)"', run.stdout, re.MULTILINE)
        found = {names[name]: {word for word in words.split() if word.startswith("-")} for name, words in options}
        if not found.get("fit"):
            raise ValueError(f"`{self.binary} completions bash` lists no flags of fit")
        return found

    @functools.cached_property
    def any_flag(self):
        """Every flag of every command, of the scripts and of the chores."""
        scripts = (file for file in self.tree.files if file.endswith(".py") or file.startswith("xtask/src/"))
        texts = (self.tree.text(file) for file in scripts if not file.startswith(("python/", "xtask/documents/")))
        named = {flag for text in texts for flag in re.findall(r'"(--[a-z][\w-]*)"', text)}
        return named.union(*self.flags.values())

    @functools.cached_property
    def chores(self):
        """The words that follow `cargo xtask`."""
        rust = (file for file in self.tree.files if file.startswith("xtask/src/"))
        return {name for file in rust for name in re.findall(r'^ +"(\w+)" => ', self.tree.text(file), re.MULTILINE)}

    @functools.cached_property
    def targets(self):
        """Names that cargo takes: packages and what they build."""
        found = set()
        for file in self.tree.files:
            if file.endswith("Cargo.toml"):
                found.update(re.findall(r'^name = "([\w-]+)"', self.tree.text(file), re.MULTILINE))
            elif re.search(r"/(tests|benches|examples)/[\w-]+(/main)?\.rs$", file):
                found.add(re.sub(r"(/main)?\.rs$", "", file).rsplit("/", 1)[-1])
        return found

    def is_command(self, words):
        """Whether words are a command line of ours, `reticent` left out or not."""
        words = without_variables(words) or [""]
        if words[0] in ("reticent", "cargo", "python", "python3"):
            return len(words) > 1
        first = words[0] in self.flags and len(words) > 1
        return first and (words[1].startswith("--") or " ".join(words[:2]) in self.flags)

    def faults(self, words):
        """The faults of a command line."""
        words = without_variables(words)
        if words[0] == "cargo":
            return self._cargo(words[1:])
        if words[0].startswith("python"):
            paths = [word for word in words[1:2] if "/" in word or word.endswith(".py")]
            return [f"`{path}` is no file" for path in paths if not self.tree.has(path)]
        words = words[1:] if words[0] == "reticent" else words
        name = ""
        while words and f"{name} {words[0]}".strip() in self.flags:
            name, words = f"{name} {words[0]}".strip(), words[1:]
        below = any(other.startswith(f"{name} ".lstrip()) for other in self.flags if other != name)
        if below and words and re.fullmatch(r"[a-z][a-z-]+\d?", words[0]):
            return [f"`{f'reticent {name}'.strip()}` has no command `{words[0]}`"]
        given = [word.split("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)]
        given = [flag.rstrip(".,;:") for flag in given]
        return [f"`reticent {name}` has no flag `{flag}`" for flag in given if flag not in self.flags.get(name, ())]

    def _cargo(self, words):
        if words[0] not in CARGO:
            return [f"`cargo` has no command `{words[0]}`"]
        if words[0] == "xtask" and len(words) > 1 and words[1] not in self.chores:
            return [f"`cargo xtask` has no chore `{words[1]}`"]
        takes = ("-p", "--package", "--bin", "--bench", "--test", "--example")
        named = [b for a, b in zip(words, words[1:], strict=False) if a in takes and re.fullmatch(r"[a-z][\w-]*", b)]
        faults = [f"cargo builds nothing named `{name}`" for name in named if name not in self.targets]
        if "--" in words and words[0] == "run" and "reticent" in words:
            faults += self.faults(["reticent", *words[words.index("--") + 1 :]])
        return faults


def without_variables(words):
    """A command line without the variables that are set before it."""
    first = next((i for i, word in enumerate(words) if not re.match(r"[A-Z][A-Z0-9_]*=", word)), len(words))
    return words[first:]
