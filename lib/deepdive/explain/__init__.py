"""Explanations of a model's output. They know a model only through its hook points and tensors.

Three kinds of input, and so three kinds of method: rows at a hook point (`gradients`, `backward`),
a game of parts that stay or go (`games`), recorded tensors (`rollout`, `attention_weights`,
`heads`, `probes`). `classifiers` holds models of which the cause is known; `judging` compares.
`audits` looks for what was not meant: a bias, a secret that is told.
"""
