"""SHA-256 of everything that is handed over, as `sha256sum --check` reads it."""

import hashlib

from .tools import OUT, say


def build():
    """Writes SHA256SUMS."""
    files = sorted(path for path in OUT.rglob("*") if path.is_file() and path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(OUT).as_posix()}\n" for file in files]
    (OUT / "SHA256SUMS").write_text("".join(lines))
    say(f"SHA256SUMS: {len(files)} files")
