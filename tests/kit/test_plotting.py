"""Figures with alternative text, and predictions that the reader's browser keeps."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from deepdive_book.kit import plotting
from deepdive_book.kit.plotting import heads, heatmap, show, style, with_alt
from deepdive_book.kit.predictions import predict

WEIGHTS = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]])
ROWS, COLS = ["le", "chat"], ["the", "green", "cat"]


@pytest.fixture(autouse=True)
def _defaults() -> Any:
    with mpl.rc_context():
        style()
        yield


def images(figure: Figure) -> list[Any]:
    return [image for axes in figure.axes for image in axes.images]


def test_queries_go_down_and_keys_across_with_tokens_as_ticks() -> None:
    axes = heatmap(WEIGHTS, ROWS, COLS).axes[0]
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ROWS
    assert [tick.get_text() for tick in axes.get_xticklabels()] == COLS
    assert axes.get_ylim() == (1.5, -0.5), "the first query is on top"
    assert np.allclose(axes.images[0].get_array(), WEIGHTS)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("key", "query")


@pytest.mark.parametrize(
    ("values", "limits", "colors"),
    [
        (WEIGHTS, (0.0, 0.9), "Blues"),
        (WEIGHTS - 0.5, (-0.5, 0.5), "RdBu_r"),
        (torch.zeros(2, 3), (0.0, 1.0), "Blues"),
        (torch.tensor([[-torch.inf, 1.0, 2.0]] * 2), (0.0, 2.0), "Blues"),
    ],
)
def test_signed_values_diverge_from_zero(values: Any, limits: Any, colors: str) -> None:
    (image,) = images(heatmap(values, ROWS, COLS))[:1]
    assert image.get_clim() == pytest.approx(limits)
    assert image.get_cmap().name == colors


def test_all_heads_share_one_scale() -> None:
    figure = heads(torch.stack([WEIGHTS, WEIGHTS / 10, -WEIGHTS]), ROWS, COLS)
    maps = images(figure)[:3]
    assert [image.get_clim() for image in maps] == [pytest.approx((-0.9, 0.9))] * 3
    assert [axes.get_title() for axes in figure.axes[:3]] == ["head 0", "head 1", "head 2"]


@pytest.mark.parametrize("count", [1, 4, 5, 8])
def test_every_number_of_heads_can_be_drawn(count: int) -> None:
    figure = heads(WEIGHTS.expand(count, 2, 3), ROWS, COLS, names=[str(i) for i in range(count)])
    assert sum(bool(axes.images) for axes in figure.axes) >= count
    assert plotting.png(figure)


@pytest.mark.parametrize(
    ("draw", "got", "expected"),
    [
        (lambda: heatmap(WEIGHTS.T, ROWS, COLS), "(3, 2)", "(2, 3)"),
        (lambda: heatmap(WEIGHTS[None], ROWS, COLS), "(1, 2, 3)", "(2, 3)"),
        (lambda: heads(WEIGHTS, ROWS, COLS), "(2, 3)", "(2, 2, 3)"),
        (lambda: heads(WEIGHTS[None], ROWS, COLS, names=["a", "b"]), "(1, 2, 3)", "(2, 2, 3)"),
    ],
)
def test_a_wrong_shape_is_named(draw: Any, got: str, expected: str) -> None:
    words = f"weights has shape {re.escape(got)}; its names give {re.escape(expected)}"
    with pytest.raises(ValueError, match=words):
        draw()


def test_a_map_says_in_words_where_each_query_looks() -> None:
    alt = heatmap(WEIGHTS, ROWS, COLS, title="Cross-attention").alt  # type: ignore[attr-defined]
    expected = "largest value of each query: le to the (0.90), chat to cat (0.50)."
    assert alt == f"Cross-attention: {expected}"
    long = heatmap(torch.eye(10), list("abcdefghij"), list("abcdefghij"))
    assert long.alt.endswith("h to h (1.00), and 2 more queries.")  # type: ignore[attr-defined]


def test_a_printed_value_can_be_read_on_its_colour() -> None:
    figure = heatmap(WEIGHTS, ROWS, COLS, digits=1)
    colors = {text.get_text(): text.get_color() for text in figure.axes[0].texts}
    assert colors["0.9"] == "white"
    assert colors["0.0"] == "black"


def test_show_in_a_script_prints_the_text_and_without_one_refuses(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show(with_alt(Figure(), "a line that rises"))
    assert capsys.readouterr().out == "[figure: a line that rises]\n"
    with pytest.raises(ValueError, match="alt is empty"):
        show(Figure())
    with pytest.raises(ValueError, match="alt is empty"):
        show("<svg/>")


def test_in_a_notebook_figures_and_drawings_carry_their_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    sent: list[tuple[Any, Any]] = []
    monkeypatch.setattr(plotting, "_shell", lambda: shell)
    monkeypatch.setattr(
        "IPython.display.display", lambda d, metadata, raw: sent.append((d, metadata))
    )
    style()
    figure = heatmap(WEIGHTS, ROWS, COLS)
    data, metadata = shell.display_formatter.format(figure)
    assert data["image/png"][:8] == b"\x89PNG\r\n\x1a\n"
    assert data["text/plain"] == metadata["image/png"]["alt"] == figure.alt  # type: ignore[attr-defined]
    show(figure)
    show("<svg/>", "a box")
    assert sent[0][0].keys() == data.keys()
    assert sent[0][1] == metadata
    assert sent[1] == (
        {"image/svg+xml": "<svg/>", "text/plain": "a box"},
        {"image/svg+xml": {"alt": "a box"}},
    )


def test_a_figure_says_how_large_its_smallest_letters_are() -> None:
    style()
    figure = Figure()
    axes = figure.add_subplot()
    assert plotting.letters(figure) == pytest.approx(10 * 110 / 72, abs=0.1)
    axes.text(0, 0, "note", fontsize=7)
    axes.text(0, 0, "gone", fontsize=3, visible=False)
    assert plotting.letters(figure) == pytest.approx(7 * 110 / 72, abs=0.1)
    assert plotting._shown(figure, "x")[1]["image/png"]["letters"] == plotting.letters(figure)


def test_the_same_figure_gives_the_same_bytes() -> None:
    first, second = (plotting.png(heatmap(WEIGHTS, ROWS, COLS)) for _ in range(2))
    assert first == second


def test_importing_the_library_does_not_import_matplotlib() -> None:
    code = "import deepdive, sys; print([m for m in ('matplotlib', 'click') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- predictions ------------------------------------------------------------------------------

QUESTION = predict("Is 1 < 2 in `code`?", ["no & never", "yes", "<b>"], 1, "It is.", key="1/less")


def test_a_prediction_is_plain_html_and_escapes_its_texts() -> None:
    text = QUESTION._repr_html_()
    assert "Is 1 &lt; 2 in <code>code</code>?" in text
    assert "no &amp; never" in text
    assert text.count('type="radio"') == 3
    assert "<b>" not in text
    assert "http" not in text
    assert text.count("<script>") == text.count("</script>") == 1
    assert "<details><summary>Answer</summary><p><strong>yes</strong>. It is.</p>" in text
    assert repr(QUESTION).startswith("Predict first: Is 1 < 2")


def test_a_key_cannot_close_the_script() -> None:
    text = predict("?", ["a", "b"], 0, "", key="</script><script>alert(1)")._repr_html_()
    assert text.count("</script>") == 1
    given = re.search(r"\}\)\((\{.*\})\)</script>", text)
    assert given is not None
    assert json.loads(given[1])["key"] == "deepdive:</script><script>alert(1)"


@pytest.mark.parametrize(
    ("options", "answer", "words"),
    [(["only"], 0, "options has 1"), (["a", "b"], 2, "answer is 2"), (["a", "b"], -1, "answer is")],
)
def test_a_prediction_without_a_choice_is_refused(options: Any, answer: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        predict("?", options, answer, "")
