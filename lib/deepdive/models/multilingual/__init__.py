"""One model for many languages.

`veco`         an encoder with an attention to another sentence that is plugged in, or out
`veco_writer`  the same weights, as an encoder and a decoder
"""
