"""Tuned forms of what another room defines: backward passes by hand, tiles, torch's own kernels.

No chapter teaches them. A test holds each equal to its definition.
"""
