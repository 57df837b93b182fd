"""Models with efficient attention for long texts, or without any attention.

Start with `longformer`, then `bigbird`; each is BERT with another attention mechanism.
"""
