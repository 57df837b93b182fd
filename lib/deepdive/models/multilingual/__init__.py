"""One model for many languages.

`veco`  an encoder with an attention to another sentence that is plugged in, or out
"""
