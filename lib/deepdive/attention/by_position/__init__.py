"""Attention that chooses its keys by where they stand: windows, blocks, strides, global tokens.

Start with `window`: a mask, and the same result without its closed pairs.
"""
