"""Models from before attention, as chapter 1 tells them: neurons, energies, word vectors, ELMo.

Start with `perceptron`, or with `word2vec` for words.
"""
