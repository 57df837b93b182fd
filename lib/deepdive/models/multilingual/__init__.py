"""One model for many languages.

`multilingual_transformer`
            an encoder-decoder with tokens and embeddings for the source and target languages
`mbert`     BERT over one vocabulary of 104 languages, without language ids
`xlm`       an encoder with language embeddings, also trained on translations
`xlmr`      RoBERTa over 100 languages, without language ids
`rembert`   decoupled input and output embeddings, narrow and wide
`canine`    no vocabulary: hashed code points, downsampled by four for a deep stack
`labse`     a dual encoder: translations have similar vectors in every language
`muse`      a dual encoder trained for three tasks: answers, translations, entailment
`unicoder`  an encoder that recovers a sentence from its translation's embeddings
`infoxlm`   an encoder whose middle layer is trained by contrast between translations
`ernie_m`   an encoder whose masked tokens attend only to the other language
`veco`      an encoder with cross-attention to another sentence that is plugged in or out
`veco_seq2seq`
            the same weights as an encoder-decoder

Start with `mbert`, which only changes BERT's vocabulary. mBART, an encoder-decoder, is
`deepdive.models.generative.mbart`. The pretraining objectives are in
`deepdive.training.objectives`.
"""
