"""Attention to a few rows that stand for many: compressed keys, slots.

Start with `nested`: rows pack into slots, and unpack from them.
"""
