"""Page 6b.1b classifies a photograph of the reader's own: its cells, run on a file."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from checkout import ROOT
from PIL import Image

from deepdive.data import DataError
from deepdive.data.images import generated_shapes
from deepdive.layers.heads import ImageClassifier
from deepdive.models.vision import vit
from deepdive_book.ch06b.runs import vit as vit_runs
from deepdive_book.site.pages import Page
from deepdive_book.site.pages.source import load

SIDE, P = 40, 10
TITLES = (
    "Classify one photograph",
    "A photograph of your own",
    "The photograph and its attention rollout",
)
ORIENTATION = 0x0112


def cells() -> list[str]:
    """The source of the page's three cells, in order."""
    page = Page(ROOT / "chapters/06b_vision/01b_patches_more.py", ROOT)
    by_title = {cell.metadata.get("title"): cell.source for cell in load(page).cells}
    return [by_title[title] for title in TITLES]


def names(channels: int) -> dict[str, Any]:
    """What the page has made before these cells, with a small model that was not trained."""
    torch.manual_seed(0)
    config = vit.TINY.but(image_size=SIDE, patch_size=P, channels=channels)
    test = generated_shapes(8, SIDE)
    pixels = np.repeat(test.pixels, channels, axis=1)
    test = type(test)(pixels, test.labels, test.names)
    model = ImageClassifier(vit.vit(config), config.d_model, len(test.names)).eval()

    data = SimpleNamespace(side=SIDE, test=test)
    return {"runs": vit_runs, "model": model, "data": data, "P": P}


def run(monkeypatch: pytest.MonkeyPatch, path: str, channels: int = 3) -> dict[str, Any]:
    """What the cells have made when the page's reader gives this path."""
    monkeypatch.setenv("DEEPDIVE_PHOTO", path)
    made = names(channels)
    for cell in cells():
        exec(cell, made)
    return made


@pytest.mark.parametrize("channels", [1, 3])
def test_a_jpeg_is_classified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, channels: int
) -> None:
    """A telephone's: 4:3, stored on its side. The probabilities are those of the upright square."""
    side = Image.new("RGB", (1200, 1600), "white")
    side.paste((200, 120, 90), (0, 200, 600, 1400))
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    path = tmp_path / "IMG_1.jpg"
    side.transpose(Image.Transpose.ROTATE_90).save(path, exif=exif, quality=95)
    made = run(monkeypatch, f'"{path}"', channels)
    assert made["mine"].shape == (channels, SIDE, SIDE)
    assert made["mine"][0, :, SIDE // 4].max() < 220 < made["mine"][0, :, -SIDE // 4].min()
    assert made["probabilities"].sum() == pytest.approx(1)
    assert made["weights"].shape == ((SIDE // P) ** 2,)
    x = (torch.from_numpy(made["mine"]).float()[None] / 255 - 0.5) / 0.25
    with torch.no_grad():
        assert torch.equal(made["model"](x).softmax(-1)[0], made["probabilities"])


def test_without_a_file_the_test_sets_first_photograph_is_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = run(monkeypatch, "")
    assert np.array_equal(made["mine"], made["test"].pixels[0])


def test_a_file_that_is_no_picture_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no picture")
    with pytest.raises(DataError, match="not a picture that can be read"):
        run(monkeypatch, str(path))
