"""Transformers that read sound. Start with `wav2vec2`: BERT's encoder over a waveform; `hubert` and
`data2vec_audio` differ from it in what they learn. Those that write text stand beside them.
"""
