"""BERT and its variants, which differ in input, architecture, or pretraining objective.

Start with `bert`; then `roberta`, `albert`, `distilbert`; then those with other pretraining
objectives (`electra`, `xlnet`, `mpnet`, `splinter`), other attention (`deberta`, `convbert`),
inputs beyond words (`luke`, `tabert`), or integer-only inference (`ibert`). `sbert` and `topics`
work on top of any of them.
"""
