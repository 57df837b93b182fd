"""One model for many languages.

`multilingual_transformer`
            an encoder and a decoder that are told which languages they read and write
`mbert`     BERT over one vocabulary of 104 languages: nothing tells it which one it reads
`xlm`       an encoder with a row for each language, which is trained on translations too
`xlmr`      RoBERTa over 100 languages, told nothing
`rembert`   what enters and what scores the words are two matrices, narrow and wide
`canine`    no vocabulary: code points, hashed, four of them one row of a deep stack
`labse`     a dual encoder: translations lie near each other, whatever their language
`muse`      a dual encoder trained for three tasks: answers, translations, entailment
`unicoder`  an encoder that says a sentence again from its translation's rows
`infoxlm`   an encoder whose middle layer knows a translation among many sentences
`ernie_m`   an encoder whose gaps are filled by looking at the other language alone
`veco`      an encoder with an attention to another sentence that is plugged in, or out
`veco_writer`
            the same weights, as an encoder and a decoder

Start with `mbert`, which adds nothing to BERT but its vocabulary. mBART, which writes, is
`deepdive.models.generative.mbart`. What these are trained for stands in
`deepdive.training.objectives`.
"""
