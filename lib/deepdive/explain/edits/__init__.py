"""Which words, written otherwise, change the decision."""
