"""Models that write text, one token after the other.

Start with `llama`, today's decoder, or with `t5`, which reads one text and writes another; the
Transformer's own are in `deepdive.models.transformer`.
"""
