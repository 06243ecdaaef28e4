"""The project's files: which paths exist, and which words its code has."""

import ast
import fnmatch
import functools
import pathlib
import re
import subprocess

# The checks themselves speak of files and names that are not there.
HERE = ("xtask/documents/", "python/tests/test_documents.py")
# One token of Rust: a comment, a text, a character, or a word.
RUST = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(\#*)".*?"\1|b?"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'|[A-Za-z_]\w*""",
    re.DOTALL,
)
DEFINED = re.compile(r"\b(?:fn|struct|enum|trait|type|const|static|mod|macro_rules!)\s+(\w+)")
WORD = re.compile(r"[A-Za-z_]\w*(?:-\w+)*")
DATA = (".json", ".jsonl", ".toml", ".txt", ".pyi", ".yml", ".html", ".css", ".js", ".ipynb")


class Tree:
    """The tree that the pages are compared with."""

    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.files = listed(self.root)
        parents = {str(p) for file in self.files for p in pathlib.PurePosixPath(file).parents}
        self.folders = parents - {"."}

    def text(self, file):
        """The text of a file."""
        return (self.root / file).read_text(encoding="utf-8", errors="replace")

    def has(self, path, page=""):
        """Whether a path is there: from the root, from its page's folder, or as the end of one."""
        path = re.sub(r"<[^>]*>", "*", path.removeprefix("./")).rstrip("/")
        beside = str(pathlib.PurePosixPath(page).parent / path)
        known = self.files | self.folders
        if "*" not in path:
            return path in known or beside in known or path in self._ends
        return any(fnmatch.fnmatch(file, pattern) for file in known for pattern in (path, beside, f"*/{path}"))

    @functools.cached_property
    def _ends(self):
        """Every end of a path: `plan/mod.rs` is one of `crates/reticent-optim/src/plan/mod.rs`."""
        parts = [path.split("/") for path in self.files | self.folders]
        return {"/".join(part[i:]) for part in parts for i in range(len(part))}

    @functools.cached_property
    def _sources(self):
        """Words, texts and definitions of each source file."""
        own = (file for file in sorted(self.files) if not file.startswith(HERE))
        found = {file: read(self.text(file), file) for file in own if file.endswith((".rs", ".py", ".R", *DATA))}
        return {file: source for file, source in found.items() if source}

    @functools.cached_property
    def names(self):
        """Names in code."""
        return set().union(*(names for names, _, _ in self._sources.values()))

    @functools.cached_property
    def texts(self):
        """Words in the texts that the code holds, and in its data."""
        return set().union(*(texts for _, texts, _ in self._sources.values()))

    def defines(self, owner, name):
        """Whether a Rust file that has the owner, or is named for it, defines the name."""
        for file, (names, _, defined) in self._sources.items():
            parts = file.removesuffix(".rs").replace("-", "_").split("/")
            if file.endswith(".rs") and (owner in names or owner in parts):
                if name in defined or (name[0].isupper() and name in names):
                    return True
        return False

    def constant(self, name):
        """The values of a Rust constant of this name."""
        pattern = re.compile(rf"\bconst {name}: \w+ = ([-\d._e]+);")
        rust = (file for file in self.files if file.endswith(".rs"))
        return {value.replace("_", "") for file in rust for value in pattern.findall(self.text(file))}

    def python(self, dotted):
        """Whether `reticent.a.b` is a name that the Python package defines or takes in."""
        folder, names = "python/src/reticent", dotted.split(".")[1:]
        for i, name in enumerate(names):
            if f"{folder}/{name}" in self.folders:
                folder = f"{folder}/{name}"
                continue
            file = f"{folder}/{name}.py" if f"{folder}/{name}.py" in self.files else f"{folder}/__init__.py"
            rest = names[i + 1 :] if file.endswith(f"/{name}.py") else names[i:]
            return all(part in bound(self.text(file)) for part in rest[:1])
        return True


def listed(root):
    """The files that git knows or would take; all files where git is not used."""
    command = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
    if (root / ".git").exists():
        names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    else:
        names = (path.relative_to(root).as_posix() for path in root.rglob("*"))
        names = (name for name in names if not name.startswith("target/"))
    return {name for name in names if name and (root / name).is_file()}


def read(text, file):
    """The names, the words in texts, and the definitions of a source file."""
    if file.endswith(".rs"):
        names, texts = set(), set()
        for token in RUST.finditer(text):
            token = token.group()
            if token.startswith(("//", "/*")):
                continue
            if token[-1] in "\"'#":
                texts.update(words(token))
            else:
                names.add(token)
        return names, texts, set(DEFINED.findall(text))
    if file.endswith(".py"):
        return python_words(text)
    if file.endswith(".R"):
        return words(re.sub(r"#[^\n]*", " ", text)), set(), set()
    return set(), words(text), set()


def words(text):
    """The words of a text, those with hyphens whole and in parts."""
    whole = set(WORD.findall(text))
    return whole | {part for word in whole for part in word.split("-")}


def python_words(text):
    """The same for Python. The text of a docstring is no code."""
    names, texts = set(), set()
    syntax = ast.parse(text)
    prose = {id(node.value) for node in ast.walk(syntax) if isinstance(node, ast.Expr)}
    for node in ast.walk(syntax):
        for field in ("id", "attr", "name", "arg", "module", "asname"):
            value = getattr(node, field, None)
            if isinstance(value, str):
                names.update(value.split("."))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in prose:
            texts.update(words(node.value))
    return names, texts, set()


def bound(text):
    """The names that a Python module binds at its top, under conditions too."""
    found, nodes = set(), list(ast.parse(text).body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        else:
            nodes += ast.iter_child_nodes(node)
    return found
