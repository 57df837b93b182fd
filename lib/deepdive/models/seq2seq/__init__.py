"""From a text to a text by recurrent networks: without attention, with it, stacked as GNMT.

Start with `seq2seq`; `attention_seq2seq` is what differs.
"""
