"""One model for many languages.

`labse`     a dual encoder: translations lie near each other, whatever their language
`muse`      a dual encoder trained for three tasks: answers, translations, entailment
`unicoder`  an encoder that says a sentence again from its translation's rows
`infoxlm`   an encoder whose middle layer knows a translation among many sentences
`ernie_m`   an encoder whose gaps are filled by looking at the other language alone

mBART stands beside BART (`deepdive.models.text.mbart`). What these are trained for stands in
`deepdive.training.objectives`.
"""
