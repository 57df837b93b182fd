"""Models from before attention, as in chapter 1: neurons, energy-based models, word vectors, ELMo.

Start with `perceptron`, or with `word2vec` for word vectors.
"""
