"""Data that only pages use: generated texts, images, sounds, and tasks; readers of single pages.

What the library offers to everyone (fetching, reading, batches of real data) is `deepdive.data`.
"""
