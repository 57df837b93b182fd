"""Optimized forms of modules defined elsewhere: manual backward passes, tiles, torch's kernels.

No chapter teaches them. A mechanism's `structured` implements its equation, and its `fast` calls
this package (`attention.structure`); `tests/_fast/test_forms.py` checks that both are equal.
`deepdive.optimize(model)` replaces torch's layers by `FastLinear` and `FastDropout`.
"""
