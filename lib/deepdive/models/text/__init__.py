"""Models that write text, one token after the other.

Start with `llama`, today's decoder; the Transformer's own is in `deepdive.models.transformer`.
"""
