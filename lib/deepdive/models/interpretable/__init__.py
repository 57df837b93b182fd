"""Classifiers that are made to be explained. Start with `attentive`, the model on which the debate
about attention as an explanation was held; those that explain themselves stand beside it.
"""
