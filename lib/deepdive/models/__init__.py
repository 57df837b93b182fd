"""Architectures, a folder a chapter: `before`, `seq2seq`, `transformer`, `bert`, `efficient`.

A file is its difference from its parent: what differs, a builder, a table of sizes.
"""
