"""BERT and those that differ from it in what they read or learn from.

Start with `bert`; then `roberta`, `albert`, `distilbert`; then those that learn from
other questions (`electra`, `xlnet`, `mpnet`, `splinter`), attend otherwise (`deberta`, `convbert`),
read more than words (`luke`, `tabert`) or count in whole numbers (`ibert`). `sbert` and `topics`
stand on any of them.
"""
