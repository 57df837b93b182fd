"""Every published family, by its model_type. A family with names of its own has a file here."""

from deepdive.published.families import efficient, encoders, luke, translators, xlnet
from deepdive.published.form import Family

FAMILIES: dict[str, Family] = {
    one.model_type: one
    for one in (
        *encoders.FAMILIES,
        *efficient.FAMILIES,
        *translators.FAMILIES,
        *xlnet.FAMILIES,
        *luke.FAMILIES,
    )
}
