"""Autoregressive text generation models: decoders and encoder-decoders.

Start with `llama`, a modern decoder, or with the encoder-decoders `t5` or `bart`; the original
Transformer is in `deepdive.models.transformer`.
"""
