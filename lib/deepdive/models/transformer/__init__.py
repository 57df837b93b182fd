"""The Transformer, and translation and language models with its architecture.

Start with `transformer`; `marian` and `fsmt` are variants of it.
"""
