"""Tuned forms of what another room defines: backward passes by hand, tiles, torch's own kernels.

No chapter teaches them. A mechanism says its equation in `structured`, and its `fast` calls what is
here (`attention.structure`); `tests/fast/test_forms.py` holds the two equal. `Linear` and `Dropout`
stand in for torch's.
"""
