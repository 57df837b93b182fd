"""Every attention that races: it can be built, is of a comparable size, and says what it cannot."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
import torch

from deepdive_book.kit.experiments import sweep
from deepdive_book.tasks import long_range as tasks
from deepdive_book.tasks import long_variants as variants
from deepdive_book.tasks.long_variants import BAG, FULL

COPY = tasks.copying(64, 16, 4)
CHARACTERS = tasks.characters("to be or not to be, " * 50, 64, 16, "by hand", 4)
PADDED = tasks.listops(40, 16, 8)


@pytest.mark.parametrize("name", [*variants.VARIANTS, BAG])
def test_a_variant_answers_every_task_or_refuses_it(name: str) -> None:
    for task in (COPY, PADDED, CHARACTERS):
        row = variants.race(task, name, steps=1)
        assert json.loads(json.dumps(row, allow_nan=False)) == row
        if row["refused"]:
            assert task is CHARACTERS, row["refused"]
            assert "Causal" in row["refused"]
            assert row["accuracy"] is None
        else:
            assert 0 <= row["accuracy"] <= 1
            assert row["steps"] == 1


@pytest.mark.parametrize("name", [FULL, "Linformer", "LSH", BAG])
def test_sizes_are_made_equal(name: str) -> None:
    wanted = 80_000
    d_ff = variants.equal_size(COPY, name, wanted)
    made = variants.size(variants.build(COPY, name, d_ff=d_ff))
    assert abs(made - wanted) < 300
    assert variants.race(COPY, name, steps=1, parameters=wanted)["parameters"] == made


# Which keys these meet is chosen by looking at the whole row; no later value is mixed in.
CHOOSE_BY_ALL = {"LSH", "ProbSparse", "routing"}


@pytest.mark.parametrize("name", variants.VARIANTS)
def test_causal_variants_do_not_look_ahead(name: str) -> None:
    model, rows = variants.build(CHARACTERS, name).eval(), CHARACTERS.test[0]
    changed = rows.clone()
    changed[:, 40:] = (changed[:, 40:] + 1) % CHARACTERS.vocab
    try:
        before, after = (model(x, CHARACTERS.mask(x)) for x in (rows, changed))
    except ValueError:
        return  # it refuses the mask
    same = torch.allclose(before[:, :40], after[:, :40], atol=1e-5)
    assert same != (name in CHOOSE_BY_ALL)


def test_a_seed_gives_one_result_and_a_sweep_goes_on(tmp_path: Path) -> None:
    measure = partial(variants.race, COPY, steps=2)
    points = [{"name": name, "seed": 0} for name in (FULL, BAG)]
    first = sweep(measure, points[:1], tmp_path / "kept.json")
    rows = sweep(measure, points, tmp_path / "kept.json")
    assert rows[0] == first[0]
    again = sweep(measure, points)
    assert [row["accuracy"] for row in again] == [row["accuracy"] for row in rows]


def test_a_name_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="no variant 'fast'"):
        variants.build(COPY, "fast")
