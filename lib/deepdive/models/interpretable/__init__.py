"""Interpretable classifiers. Start with `attentive`, the model of the debate on attention as
explanation; self-explaining models are also here.
"""
