"""Explanations of a model's output. They access a model only through its hook points and tensors.

The methods differ in their input: embeddings at a hook point (`gradients`, `backward`), a game on
subsets of the input (`games`), recorded tensors (`rollout`, `attention_weights`, `heads`,
`probes`). `classifiers` has models whose causes are known; `evaluation` compares explanations.
`audits` tests for unintended behavior: a bias, a memorized secret.
"""
