"""Splinter in two sizes, with the head that it was trained with."""

from deepdive.models.bert import splinter
from deepdive.published.families.encoders import BERT, SETTINGS, UNUSED, like
from deepdive.published.form import Head
from deepdive.published.names import Names

# The parts of one selector, theirs -> ours, for the first token and for the last.
SELECTOR = {
    "query_{}_transform.dense": "ask.0",
    "query_{}_transform.LayerNorm": "ask.2",
    "{}_transform.dense": "answer.0",
    "{}_transform.LayerNorm": "answer.2",
    "{}_classifier": "product",
}
SPLINTER = like(
    BERT,
    "Splinter",
    splinter.splinter,
    splinter.BASE,
    settings=SETTINGS | {"question": "question_token_id"},
    expected={},
    unused=(*UNUSED, "splinter_qass."),
    heads={
        "spans": Head(
            "SplinterForQuestionAnswering",
            splinter.Splinter,
            Names(
                {
                    f"splinter_qass.{theirs.format(end)}": f"{end}.{ours}"
                    for end in ("start", "end")
                    for theirs, ours in SELECTOR.items()
                }
            ),
        )
    },
)
FAMILIES = (SPLINTER,)
