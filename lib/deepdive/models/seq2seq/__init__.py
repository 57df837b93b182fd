"""Recurrent encoder-decoders: sequence to sequence, with attention, and deep with GNMT.

Start with `seq2seq`; `attention_seq2seq` adds attention to it.
"""
