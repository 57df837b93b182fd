"""BERT and those that differ from it in what they read or learn from.

Start with `bert`; then `roberta`, `albert`, `distilbert`; then `electra`, `deberta`, `xlnet`,
`luke`.
"""
