"""Attention whose T x S matrix is a product of thin ones: projected keys, landmarks, features.

Start with `linformer`: the keys of a text, projected to a few rows.
"""
