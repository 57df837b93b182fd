"""Models that write text, one token after the other.

Start with `llama`, today's decoder, or with `t5` or `bart`, which read one text and write another;
the Transformer's own are in `deepdive.models.transformer`.
"""
