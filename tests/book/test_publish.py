"""Publishing: workflows that say what exists, and a book that works below any path of a host."""

from __future__ import annotations

import http.server
import re
import shutil
import threading
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit
from urllib.request import urlopen

import constraints
import lxml.html
import pytest
import yaml
from browser import Reader
from checkout import ROOT

from deepdive_book.site.pages import PageError, source
from deepdive_book.site.pages.setup_cell import ADDRESS

WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
GUIDE = ROOT / "docs" / "publishing-and-releasing.md"
BELOW = "/courses/2026/attention/"
NO_ICON = {"/favicon.ico"}  # what browsers ask a host for, unasked


def steps(path: Path) -> list[dict[str, Any]]:
    workflow = yaml.safe_load(path.read_text("utf-8"))
    return [step for job in workflow["jobs"].values() for step in job.get("steps", [])]


def commands(path: Path) -> list[str]:
    return [line for step in steps(path) for line in step.get("run", "").splitlines()]


def blocks(part: str) -> list[str]:
    """The commands that a part of the guide tells a person to run."""
    guide = GUIDE.read_text("utf-8")
    return re.findall(r"```sh\n(.*?)```", section(guide, part), re.DOTALL)


def section(guide: str, part: str) -> str:
    return guide.partition(f"\n## {part}\n")[2].partition("\n## ")[0]


def test_there_is_a_workflow_to_publish_and_one_to_test() -> None:
    assert [path.stem for path in WORKFLOWS] == ["publish", "ranges", "tests", "ways_in"]
    publish, _, tests, _ = WORKFLOWS
    (guide,) = (block for block in blocks("To publish") if "--address auto" in block)
    told = [line.partition("#")[0].strip() for line in guide.splitlines()]
    done = [line for line in commands(publish) if line.startswith("python -m deepdive")]
    assert [line.replace(" --branch published", "") for line in done] == told
    assert commands(publish).index("make read HASHED=1") > commands(publish).index(done[-1])
    assert commands(publish)[-1] == "git push --force origin HEAD:refs/heads/published"
    assert commands(tests) == [".ci/run"]
    uploads = [s for s in steps(publish) if "upload-pages-artifact" in s.get("uses", "")]
    assert [step["with"]["path"] for step in uploads] == ["build/site"]
    # YAML 1.1 reads the word `on` as true
    assert yaml.safe_load(publish.read_text("utf-8"))[True]["push"] == {"branches": ["main"]}


def test_nothing_is_published_before_the_checks_have_passed() -> None:
    publish, _, tests, _ = (yaml.safe_load(path.read_text("utf-8")) for path in WORKFLOWS)
    called = [name for name, job in publish["jobs"].items() if job.get("uses")]
    assert [publish["jobs"][name]["uses"] for name in called] == ["./.github/workflows/tests.yml"]
    assert "workflow_call" in tests[True]
    for name, job in publish["jobs"].items():
        behind = [job.get("needs")] if name == "build" else ["build"]
        assert name in called or behind == [job["needs"]], f"{name} waits for no check"
        assert "if" not in job, f"{name} may run where a check failed"


def test_what_may_write_installs_nothing_and_what_installs_may_not_write() -> None:
    jobs = {
        f"{path.stem} {name}": job
        for path in WORKFLOWS
        for name, job in yaml.safe_load(path.read_text("utf-8"))["jobs"].items()
        if "steps" in job
    }
    for name, job in jobs.items():
        runs = [line.split()[0] for s in job["steps"] for line in s.get("run", "").splitlines()]
        checkouts = [s for s in job["steps"] if "actions/checkout" in s.get("uses", "")]
        if "write" in str(job.get("permissions")):
            assert {*runs} <= {"git"}, f"{name} runs what it installed, with rights"
        else:
            for step in checkouts:
                assert step["with"]["persist-credentials"] is False, f"{name} keeps a key"
    (build,) = [job for name, job in jobs.items() if name == "publish build"]
    installs = [s["run"] for s in build["steps"] if "pip install" in s.get("run", "")]
    assert installs
    assert all("pip install --require-hashes" in text for text in installs)
    assert "make read HASHED=1" in commands(WORKFLOWS[0])
    (apply,) = [line for line in commands(WORKFLOWS[0]) if line.startswith("git apply")]
    assert "--include" in apply, "a patch may change notebooks, and no workflow"


def test_what_publishes_is_pinned_by_hash() -> None:
    """The `book` extra and click, at the versions of constraints.txt, each file by its SHA-256."""
    listed = (ROOT / "tools/read.txt").read_text("utf-8").splitlines()[2:]
    form = re.compile(r"([a-z0-9-]+)==(\S+) --hash=sha256:[0-9a-f]{64}")
    assert all(form.fullmatch(line) for line in listed)
    pins = {match[1]: match[2] for line in listed if (match := form.fullmatch(line))}
    pinned = dict(
        line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines()
        if not line.startswith("#")
    )  # fmt: skip
    assert pins.items() <= pinned.items(), "run tools/constraints.py --hashes"
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = [re.split("[>=<]", line)[0] for line in extras["optional-dependencies"]["book"]]
    assert {*names, "click"} <= {*pins}, "run tools/constraints.py --hashes"


def test_both_ends_of_the_ranges_are_tried_by_the_guide_s_commands() -> None:
    """The workflow runs what a person is told to run, on the oldest Python and the newest."""
    workflow = ROOT / ".github/workflows/ranges.yml"
    told = [line for block in blocks("Dependencies") for line in block.splitlines()]
    assert commands(workflow) == told
    named = [s["with"]["python-version"] for s in steps(workflow) if "setup-python" in str(s)]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    lowest = project["requires-python"].removeprefix(">=")
    assert named == [lowest, lowest, "3.x"], "the ways in, the oldest, the newest"


def test_the_oldest_of_each_dependency_is_named_by_its_version(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["constraints.py", "--oldest"])
    constraints.main()
    lines = capsys.readouterr().out.splitlines()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert {line.replace(">=", "==") for line in project["dependencies"]} <= set(lines)
    assert "pytest==8.3" in lines
    assert all(re.fullmatch(r"[A-Za-z0-9-]+==[0-9.]+(post\d+)?", line) for line in lines)
    names = [line.partition("==")[0] for line in lines]
    assert len(names) == len(set(names)), "two lower ends for one package"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_names_targets_that_exist_and_versions(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    for command in commands(path):
        words = command.split()
        if words[0] == "make":
            assert words[1] in targets
        elif path.stem == "ways_in":
            assert command in (ROOT / "INSTALL.md").read_text("utf-8"), "what a reader is told"
        elif words[0] == "git":
            assert path.stem == "publish", "only what publishes writes to the repository"
        elif (
            "/bin/" in words[0] or words[0] == "python"
        ):  # of an environment that the workflow made
            files = [word for word in words[1:] if word.startswith("tools/")]
            assert all((ROOT / word).exists() for word in files)
        else:
            assert (ROOT / words[0]).is_file()
    used = [step["uses"] for step in steps(path) if "uses" in step]
    assert used
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", name) for name in used), used
    assert len(
        re.findall(r"uses: actions/\S+  # v\d+\.\d+\.\d+\n", path.read_text("utf-8"))
    ) == len(used)
    named = re.findall(r"(?<![\w/])(?:lib|tests|book|tools)/[\w./-]+", path.read_text("utf-8"))
    assert all((ROOT / name).exists() for name in named)
    assert "https://" not in path.read_text("utf-8"), "a host has its place in ADDRESS"
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    more = [
        name for name, job in workflow["jobs"].items() if "write" in str(job.get("permissions"))
    ]
    assert more == (["site", "notebooks"] if path.stem == "publish" else [])


def test_the_guide_names_settings_and_files_that_exist() -> None:
    guide = section(GUIDE.read_text("utf-8"), "To publish")
    for name in re.findall(r"`((?:lib|\.github|\.ci)/[^`]*)`", guide):
        assert (ROOT / name).exists(), name
    setup = ROOT / "lib/deepdive_book/site/pages/setup_cell.py"
    assert re.search(r"^ADDRESS = ", setup.read_text(), re.M)
    assert {"`ADDRESS`", "`DEEPDIVE_MIRROR`", "`build/site`"} <= set(re.findall(r"`\w.*?`", guide))


def test_every_page_and_exercise_gets_its_address_from_the_one_setting() -> None:
    """What holds the project's address but the setting is written from it, by a command."""
    for path in [*ROOT.glob("*.md"), *ROOT.glob("*.*ml"), *ROOT.glob("book/*.*"), *WORKFLOWS]:
        assert not ADDRESS or ADDRESS not in path.read_text("utf-8"), path


# --- what people write to us in ------------------------------------------------------------------

FORMS = sorted(ROOT.glob(".github/ISSUE_TEMPLATE/[!c]*.yml"))
KINDS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}


def test_there_are_forms_for_a_bug_a_wrong_statement_and_a_new_system() -> None:
    assert [path.stem for path in FORMS] == ["bug", "new_system", "wrong_statement"]


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_is_what_github_reads(path: Path) -> None:
    """A form with an unknown field, or two fields of one name, is not offered to anybody."""
    form = yaml.safe_load(path.read_text("utf-8"))
    assert set(form) == {"name", "description", "title", "labels", "body"}
    asked = [part for part in form["body"] if part["type"] != "markdown"]
    assert {part["type"] for part in form["body"]} <= KINDS
    assert len({part["id"] for part in asked}) == len(asked) > 1
    assert all(part["attributes"]["label"] for part in asked)
    for part in form["body"]:
        assert set(part) <= {"type", "id", "attributes", "validations"}
    for name in re.findall(r"\b[A-Z]+\.md\b", path.read_text("utf-8")):
        assert (ROOT / name).is_file()


def test_the_text_for_a_change_asks_for_commands_and_files_that_exist() -> None:
    text = (ROOT / ".github/pull_request_template.md").read_text("utf-8")
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    assert {"test", "notebooks"} <= set(re.findall(r"`make ([a-z-]+)`", text)) <= targets
    for name in re.findall(r"\b[A-Z]+\.md\b|`python ([\w/.]+)`", text):
        assert not name or (ROOT / name).is_file()


def test_what_is_said_of_the_sandbox_names_what_there_is() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    for name in re.findall(r"`((?:lib|tests|tools)/[^`]*)`", text):
        assert (ROOT / name).is_file(), name
    walls = (ROOT / "tools/grader/src/deepdive_grader/sandbox.py").read_text("utf-8")
    assert "--trust-submissions" in text
    assert "--trust-submissions" in walls
    for wall in (
        "_NEWUSER",
        "_NEWNS",
        "_NEWPID",
        "_NEWNET",
        "_NEWIPC",
        "_NEWUTS",
        "calls.refuse()",
    ):
        assert wall in walls, f"SECURITY.md says that there is {wall}"


def test_a_new_setup_cell_leaves_the_outputs(tmp_path: Path) -> None:
    text = '# %% [markdown]\n# # 1.1 A\n\n# %% tags=["setup"]\nold\n\n# %%\n1 + 1\n'
    folder = tmp_path / "chapters" / "01_demo"
    folder.mkdir(parents=True)
    (folder / "01_a.py").write_text(text)
    page = source.Page(folder / "01_a.py", tmp_path)
    notebook = source.load(page)
    notebook.cells[2].execution_count = 7
    source.write(notebook, page.notebook)
    page.source.write_text(text.replace("old", "new"))
    source.refresh_prose(page)
    kept = source.committed(page).cells
    assert (kept[1].source, kept[2].execution_count) == ("new", 7)
    page.source.write_text(text.replace("1 + 1", "1 + 2"))
    with pytest.raises(PageError, match="other code"):
        source.refresh_prose(page)


# --- served ------------------------------------------------------------------------------------


class Server:
    """The built book below a path of a host of this machine; what was asked for, and answered."""

    def __init__(self, folder: Path) -> None:
        self.answers: list[tuple[str, int]] = []
        answers = self.answers

        class Handler(http.server.SimpleHTTPRequestHandler):
            def log_request(self, code: Any = "-", size: Any = "-") -> None:
                answers.append((urlsplit(self.path).path, int(code)))

            def log_error(self, format: str, *args: Any) -> None:
                pass

        handler = partial(Handler, directory=str(folder))
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self.http.server_port}{BELOW}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture(scope="module")
def served(book: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("host")
    shutil.copytree(book, folder / BELOW.strip("/"))
    server = Server(folder)
    yield server
    server.http.shutdown()


def test_every_page_and_what_it_loads_is_served_below_a_path(served: Server) -> None:
    served.answers.clear()
    asked: set[str] = set()
    waiting = [served.address]
    while waiting:
        address = waiting.pop()
        asked.add(address)
        with urlopen(address) as answer:  # raises where the answer is no success
            if "html" not in answer.headers["Content-Type"]:
                continue
            page: Any = lxml.html.fromstring(answer.read())
        for url in page.xpath("//a/@href | //link/@href | //script/@src | //img/@src"):
            assert not url.startswith("/"), f"{address}: {url} is not relative"
            target = urljoin(address, url).partition("#")[0]
            if target.startswith("http://127.0.0.1") and target not in asked:
                asked.add(target)
                waiting.append(target)
    assert {path for path, _ in served.answers if not path.startswith(BELOW)} == set()
    assert {code for _, code in served.answers} == {200}
    pages = {path.removeprefix(BELOW) for path, _ in served.answers}
    assert {"search.html", "contents.html", "_static/book.css"} <= pages
    assert "chapters/02_transformer/05_self_attention.html" in pages
    assert "chapters/02_transformer/05_self_attention.ipynb" in pages


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("search.html?q=softmax", "search finished"),
        ("chapters/02_transformer/05_self_attention.html", "bank"),
    ],
)
def test_a_browser_asks_only_below_the_path(
    served: Server, reader: Reader, name: str, words: str
) -> None:
    served.answers.clear()
    page = reader.open(served.address + name)
    page.get_by_text(words).first.wait_for()
    asked = {answer for answer in served.answers if answer[0] not in NO_ICON}
    assert all(path.startswith(BELOW) and code in (200, 304) for path, code in asked), asked
    if "search" in name:
        assert f"{BELOW}_static/search_data.js" in {path for path, _ in asked}
        links = page.locator("#search-results li a")
        found = links.evaluate_all("links => links.map(x => x.getAttribute('href'))")
        assert len(found) > 3
        assert not [link for link in found if link.startswith(("/", "http"))]
