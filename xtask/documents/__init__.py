"""Holds the documents to the tree: paths, commands, flags, names, and figures that have a source.

`cargo xtask docs` checks, `cargo xtask docs --write` also rewrites the figures. Only the standard
library is used, so that it runs before anything is installed.
"""
