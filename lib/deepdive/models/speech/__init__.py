"""Speech Transformers. Start with `wav2vec2`: BERT's encoder over a waveform; `hubert` and
`data2vec_audio` differ from it in the pretraining objective. Speech-to-text models are also here.
"""
