"""The Transformer, and translators and language models of its form.

Start with `transformer`; `marian` and `fsmt` are what differs.
"""
