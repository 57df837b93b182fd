"""The figure of mBART: denoising pretraining in two languages, then fine-tuning on translations."""

from deepdive_book.kit.diagrams import arrow, svg, text
from deepdive_book.kit.diagrams.layers import box

STAGES = (
    ("Pretraining: denoise monolingual text (English shown; the same for French)",
     "He sleeps She [M] </s> <en>", "<en> She drinks milk He sleeps",
     "She drinks milk He sleeps </s>"),
    ("Fine-tuning: translate, with the pretrained weights",
     "She drinks milk </s> <en>", "<fr> Elle boit du lait", "Elle boit du lait </s>"),
)  # fmt: skip


def mbart_diagram() -> str:
    """Both stages of mBART, after figure 1 of Liu et al. 2020."""
    body = []
    for y, (title, source, inputs, targets) in zip((0, 205), STAGES, strict=True):
        body += [
            text(370, y + 16, title, 15, bold=True),
            box(190, y + 95, "bidirectional encoder", "key", 200),
            box(550, y + 95, "causal decoder", "query", 200),
            arrow(292, y + 95, 446, y + 95), text(369, y + 82, "cross-attention", 13),
            arrow(190, y + 142, 190, y + 114), text(190, y + 156, source, 14, "key"),
            arrow(550, y + 142, 550, y + 114), text(550, y + 156, inputs, 14, "query"),
            text(550, y + 174, "decoder input: targets shifted right", 13),
            text(190, y + 174, "encoder input", 13),
            arrow(550, y + 76, 550, y + 58), text(550, y + 44, targets, 14, "output"),
            text(369, y + 44, "targets:", 13),
        ]  # fmt: skip
    return svg(740, 400, body)
