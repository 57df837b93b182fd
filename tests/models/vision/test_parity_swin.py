"""Swin against transformers in float64: shifted windows, the bias of offsets, merged patches."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

import pytest
import torch
import torch.nn.functional as F
from parity_bert import reference, saved_and_loaded
from parity_proofs import alike, rows
from parity_registry import equal, parity
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import SwinConfig, SwinModel

from deepdive.attention import ShiftedAttention
from deepdive.layers.windows import Merging, Windows
from deepdive.models.vision import swin
from deepdive.positions import GridBias
from deepdive.published import family, from_config, load

SETTINGS: dict[str, Any] = {
    "image_size": 16, "patch_size": 2, "num_channels": 3, "embed_dim": 8, "depths": [2, 2],
    "num_heads": [2, 4], "window_size": 4, "mlp_ratio": 2.0,
}  # fmt: skip
# In memory the package calls the parts of a layer otherwise than in its files.
TABLE = "relative_position_bias_table"
IN_MEMORY = (
    (r"attention\.q_proj", "attention.self.query"),
    (r"attention\.k_proj", "attention.self.key"),
    (r"attention\.v_proj", "attention.self.value"),
    (r"attention\.o_proj", "attention.output.dense"),
    (rf"attention\.relative_position_bias\.{TABLE}", f"attention.self.{TABLE}"),
    (r"mlp\.fc1", "intermediate.dense"),
    (r"mlp\.fc2", "output.dense"),
)
WITHOUT_POOLER: Any = partial(SwinModel, add_pooling_layer=False)


@parity("swin", swin.Swin, Windows, Merging, GridBias, ShiftedAttention)
def swin_agrees() -> None:
    theirs = reference(WITHOUT_POOLER, SwinConfig, **SETTINGS)
    ours = saved_and_loaded(theirs, load)
    names = family("swin").table(config=ours.config)
    # In the second stage of a square image a window is the whole of it, and nothing is shifted; of
    # a wide one it is not, and each side is rolled. The last image has no whole patches, windows,
    # and fours.
    for image in (rows(2, 3, 16, 16), rows(2, 3, 32, 48, seed=1), rows(1, 3, 27, 45, seed=2)):
        expected = reference(WITHOUT_POOLER, SwinConfig, **SETTINGS)  # a call changes its windows
        alike(ours, expected, ours(image), expected(image).last_hidden_state, [*IN_MEMORY, names])


def test_each_stage_is_theirs() -> None:
    theirs = reference(WITHOUT_POOLER, SwinConfig, **SETTINGS)
    ours, image = saved_and_loaded(theirs, load), rows(2, 3, 16, 16)
    first, second = ours.grids(image)  # type: ignore[operator]
    told = theirs(image, output_hidden_states=True)
    equal(ours.merges[0](first).flatten(1, 2), told.hidden_states[1])  # type: ignore[index,operator]
    equal(second.flatten(1, 2), told.hidden_states[2])


def test_published_sizes() -> None:
    """Liu et al. 2021, table 1 (a): 29, 50, 88 and 197 million, with a head for 1,000 kinds."""
    for config, width, head_count, depth, millions in (
        (swin.SMALLEST, 96, (3, 6, 12, 24), 6, 29),
        (swin.SMALL, 96, (3, 6, 12, 24), 18, 50),
        (swin.BASE, 128, (4, 8, 16, 32), 18, 88),
        (swin.LARGE, 192, (6, 12, 24, 48), 18, 197),
    ):
        with torch.device("meta"):
            theirs = SwinModel(
                SwinConfig(embed_dim=width, num_heads=head_count, depths=(2, 2, depth, 2)),
                add_pooling_layer=False,
            )
            ours = swin.swin(config)
        number = sum(p.numel() for p in ours.parameters())
        assert number == theirs.num_parameters()
        with_head = number + 1000 * (config.widths[-1] + 1)
        assert round(with_head / 1e6) in (millions, millions - 1)


def test_older_files_hold_the_rows_of_the_table_too(tmp_path: Any) -> None:
    theirs = reference(WITHOUT_POOLER, SwinConfig, **SETTINGS)
    theirs.save_pretrained(tmp_path)
    file = tmp_path / "model.safetensors"
    at = "encoder.layers.0.blocks.0.attention.self.relative_position_index"
    save_file({**load_file(file), at: torch.zeros(16, 16, dtype=torch.int64)}, file)
    assert load(tmp_path).config.window == 4


def test_more_layers_than_the_file_has_are_refused_at_once(tmp_path: Any) -> None:
    reference(WITHOUT_POOLER, SwinConfig, **SETTINGS).save_pretrained(tmp_path)
    settings = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(settings | {"depths": [2, 10**12]}))
    with pytest.raises(ValueError, match=r"1,000,000,000,002 layers in depths"):
        load(tmp_path)


def test_settings_that_are_not_built_are_refused() -> None:
    good = SwinConfig(**SETTINGS).to_dict()
    for changes, message in (
        ({"qkv_bias": False}, "qkv_bias=False"),
        ({"use_absolute_embeddings": True}, "use_absolute_embeddings=True"),
        ({"depths": [2, 2, 2]}, "expected one per stage"),
        ({"num_heads": [3, 4]}, "heads=3 does not divide d_model=8"),
    ):
        with pytest.raises(ValueError, match=message):
            from_config({**good, **changes})


def alone(self: Any, grid: Tensor) -> Tensor:
    kept, self.shift = self.shift, 0
    try:
        return WINDOWS(self, grid)
    finally:
        self.shift = kept


def repeated(grid: Tensor, multiple: int) -> Tensor:
    below, right = (-side % multiple for side in grid.shape[1:3])
    wide = F.pad(grid.movedim(-1, 1), (0, right, 0, below), mode="replicate")
    return wide.movedim(1, -1)


def line_by_line(grid: Tensor) -> Tensor:
    four = grid.unflatten(2, (-1, 2)).unflatten(1, (-1, 2))
    return four.permute(0, 1, 3, 2, 4, 5).flatten(3)


OFFSETS, WINDOWS = GridBias.offsets, Windows.forward
MUTATIONS: dict[str, tuple[Callable[[], None], str, Any]] = {
    "windows that never move": (
        swin_agrees, "deepdive.layers.windows.Windows.forward", alone),
    "opposite edges meet": (
        swin_agrees, "deepdive.layers.windows.sides",
        lambda height, width, shift, device: torch.zeros(1, height, width, 1, dtype=torch.int64)),
    "edges repeated, not zeros": (swin_agrees, "deepdive.layers.windows.padded", repeated),
    "offsets from the key to the query": (
        swin_agrees, "deepdive.positions.grid.GridBias.offsets",
        lambda self, q, k: OFFSETS(self, q, k).transpose(-2, -1)),
    "fours merged line by line": (
        swin_agrees, "deepdive.layers.windows.Merging.forward",
        lambda self, grid: self.reduce(self.norm(line_by_line(grid)))),
}  # fmt: skip


def test_the_proof_is_green() -> None:
    swin_agrees()


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_is_seen(name: str) -> None:
    proof, target, wrong = MUTATIONS[name]
    with mock.patch(target, wrong), pytest.raises(AssertionError):
        proof()
