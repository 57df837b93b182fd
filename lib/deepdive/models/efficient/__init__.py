"""Models whose attention costs less: for long texts, or without any attention.

Start with `longformer`, then `bigbird`; each is BERT with other attention.
"""
