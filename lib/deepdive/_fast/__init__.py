"""Optimized forms of modules defined elsewhere: manual backward passes, tiles, torch's kernels.

No chapter teaches them. A mechanism says its equation in `structured`, and its `fast` calls what is
here (`attention.structure`); `tests/_fast/test_forms.py` holds the two equal. `FastLinear` and
`FastDropout` replace torch's where `deepdive.optimize(model)` puts them.
"""
