"""Cross-attention of DETR's object queries, drawn over a scene with their boxes."""

import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from deepdive.models.vision.detr import Detr
from deepdive.training.objectives.set_prediction import costs, hungarian
from deepdive_book.ch06b.runs.detr import cross_attention, inside_box, pixels, truths
from deepdive_book.data.scenes import Scenes
from deepdive_book.kit.palette import PALETTE
from deepdive_book.kit.plotting import with_alt

ORANGE = PALETTE[4]


def query_attention(model: Detr, scenes: Scenes, scene: int, most: int = 4) -> Figure:
    """Return a panel per matched query: the scene, dimmed where its attention is small, its
    predicted box (solid) and its object's (dashed).
    """
    image, truth = pixels(scenes)[scene : scene + 1], truths(scenes)[scene]
    with torch.no_grad():
        logits, boxes = (x[0] for x in model(image))
    attention = cross_attention(model, image)[0]
    queries, objects = hungarian(costs(logits, boxes, truth))
    queries, objects = queries[:most], objects[:most]
    figure = Figure(figsize=(2.3 * len(queries), 2.7), layout="constrained")
    panels = figure.subplots(1, len(queries), squeeze=False)[0]
    side = image.shape[-1]
    notes = []
    for axes, q, j in zip(panels, queries.tolist(), objects.tolist(), strict=True):
        weights = attention[q] / attention[q].max()
        wide = weights.repeat_interleave(side // len(weights), 0)
        wide = wide.repeat_interleave(side // len(weights), 1)
        axes.imshow((image[0] * (0.25 + 0.75 * wide)).permute(1, 2, 0).clamp(0, 1).numpy())
        for box, style, color in ((boxes[q], "-", ORANGE), (truth.boxes[j], ":", "#ffffff")):
            x, y, w, h = (side * box - torch.tensor([0.5, 0.5, 0, 0])).tolist()
            axes.add_patch(Rectangle((x - w / 2, y - h / 2), w, h, fill=False, linestyle=style,
                                     edgecolor=color, linewidth=2))  # fmt: skip
        kind = int(logits[q, :-1].argmax())
        axes.set(xticks=[], yticks=[])
        axes.set_title(f"query {q + 1}: {scenes.names[kind]}", fontsize=10)
        inside = inside_box(attention[q], truth.boxes[j])
        axes.set_xlabel(f"{100 * inside:.0f}% of attention in the box", fontsize=9)
        notes.append(f"query {q + 1} ({scenes.names[kind]}) {100 * inside:.0f}%")
    return with_alt(
        figure,
        "The scene once per matched query, bright where the query's cross-attention is large, with "
        "its predicted box and the object's. Attention at positions in the object's box: "
        + ", ".join(notes) + ".",
    )  # fmt: skip
