"""Every published family, by its model_type. A family with names of its own has a file here."""

from deepdive.published.families import (
    bart,
    convbert,
    deberta,
    deberta_v2,
    decoders,
    detr,
    efficient,
    electra,
    encoders,
    gpts,
    ibert,
    luke,
    mpnet,
    segformer,
    sound,
    speech,
    splinter,
    swin,
    switch,
    t5,
    timesformer,
    translators,
    vit,
    xlnet,
)
from deepdive.published.form import Family

FAMILIES: dict[str, Family] = {
    one.model_type: one
    for one in (
        *encoders.FAMILIES,
        *electra.FAMILIES,
        *convbert.FAMILIES,
        *deberta.FAMILIES,
        *deberta_v2.FAMILIES,
        *efficient.FAMILIES,
        *mpnet.FAMILIES,
        *splinter.FAMILIES,
        *translators.FAMILIES,
        *bart.FAMILIES,
        *xlnet.FAMILIES,
        *ibert.FAMILIES,
        *luke.FAMILIES,
        *timesformer.FAMILIES,
        *vit.FAMILIES,
        *swin.FAMILIES,
        *segformer.FAMILIES,
        *sound.FAMILIES,
        *detr.FAMILIES,
        *decoders.FAMILIES,
        *gpts.FAMILIES,
        *speech.FAMILIES,
        *t5.FAMILIES,
        *switch.FAMILIES,
    )
}
