"""The table of the guide, as `reticent demo --table clinic` writes it."""

import subprocess


def prepare(folder, binary):
    """Puts the table and its schema into a folder."""
    subprocess.run([str(binary), "demo", "--table", "clinic", "--out", str(folder)], capture_output=True, check=True)
