"""All published model families by model_type. Families with similar names share a file."""

from deepdive.published.families import (
    bart,
    bert_relatives,
    deberta,
    deberta_v2,
    decoders,
    detr,
    efficient,
    encoders,
    funnel,
    gpts,
    multilingual,
    prophetnet,
    segformer,
    sound,
    speech,
    swin,
    switch,
    t5,
    timesformer,
    translators,
    vit,
    xlnet,
)
from deepdive.published.form import Family

FILES = (
    encoders, bert_relatives, deberta, deberta_v2, efficient, multilingual, translators, bart,
    prophetnet, xlnet, funnel, timesformer, vit, swin, segformer, sound, detr, decoders, gpts,
    speech, t5, switch,
)  # fmt: skip
FAMILIES: dict[str, Family] = {one.model_type: one for file in FILES for one in file.FAMILIES}
