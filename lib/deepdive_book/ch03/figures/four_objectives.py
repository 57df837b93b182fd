"""Four pretraining objectives on one text: the encoder's input, and the targets above it."""

from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.diagrams.layers import box, text_at

WORDS = ["the", "cow", "saw", "another", "cow", "sleep"]
MASK, QUESTION = "[MASK]", "[QUEST]"
PANELS = [  # name, which tokens differ in the input, the target of each position
    ("Masked language modeling (BERT): predict the masked tokens",
     {2: MASK, 5: MASK}, {2: "saw", 5: "sleep"}),
    ("Replaced token detection (ELECTRA): original or replaced?",
     {2: "heard"}, dict.fromkeys(range(6), "original") | {2: "replaced"}),
    ("Permuted language modeling (MPNet): predict one after the other",
     {2: MASK, 5: MASK}, {5: "1st: sleep", 2: "2nd: saw"}),
    ("Recurring span selection (Splinter): select the other occurrence",
     {4: QUESTION}, {4: "position 2"}),
]  # fmt: skip
WIDTH, HEIGHT, STEP = 94, 132, 98


def four_objectives() -> str:
    """Return the diagram as SVG; `ALT` describes it."""
    body = []
    for panel, (name, changed, targets) in enumerate(PANELS):
        top = 8 + panel * HEIGHT
        body.append(text_at(6, top + 10, name, 15))
        for i, word in enumerate(WORDS):
            x, y = 52 + STEP * i, top + 94
            role = "query" if i in changed else "key"
            body.append(box(x, y, changed.get(i, word), role, WIDTH))
            if i in targets:
                body += [arrow(x, y - 18, x, y - 38, "output"),
                         text(x, y - 50, targets[i], 15, "output")]  # fmt: skip
    return svg(600, 4 * HEIGHT, body)
