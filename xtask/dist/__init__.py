"""The artefacts that are handed over to users: `cargo xtask dist`, see `__main__.py`."""
