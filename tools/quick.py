"""Test what a change can have broken, in minutes: `make quick`, before `make test`.

    python tools/quick.py [--since COMMIT] [--list]

A file counts as changed if it differs from `main` (or from COMMIT; on main itself, from HEAD) or if
git doesn't track it yet. The run covers style, the checks of the repository, every changed test
file, and for each changed module: the tests in the folder that mirrors it which import it, and the
laws and parity of the systems and parts that it defines, and of those that depend on it. Who
imports whom is read from the code.

More than `WIDE` modules depend on each module of `deepdive.core`. No short run covers them all, so
such a change gets a sample: the tests of the core, and the laws and parity of its parts and of
`KERNEL_SYSTEMS`. The last line then says that `make test` has the rest. Exits with 1 if anything
failed, otherwise with 0.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from deepdive_book.site.atlas.headers import headers

ROOT = Path(__file__).resolve().parent.parent
LIBRARY, TESTS = ROOT / "lib", ROOT / "tests"  # the folder of both packages
WIDE = 90  # 82 modules depend on BERT's embeddings, about 300 on masks.py
# What stands for the kernel: masks, attention, blocks, norms, and one model of each kind of stack.
KERNEL_TESTS = {"tests/test_core.py", "tests/attention/test_mechanisms.py"}
KERNEL_LAWS = ("attention.multi_head", "attention.softmax", "layers.blocks", "layers.rows")
KERNEL_SYSTEMS = {"transformer", "bert", "gpt", "gpt2", "t5", "lstm"}
ALWAYS = ["tests/test_house.py"]
FOR_ALL = re.compile(
    r"tests/(conftest|scaffold|test_laws|parity_registry|laws/__init__)\.py|pyproject"
)


def git(*words: str) -> list[str]:
    """Return the lines that git prints."""
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def changed(since: str | None) -> list[str]:
    """Return the files that differ from where the work began, and those that are new."""
    if since is None:
        branches = git("branch", "--list", "main", "--format=%(refname:short)")
        since = git("merge-base", "HEAD", "main")[0] if branches else "HEAD"
    listed = git("diff", "--name-only", since) + git("ls-files", "--others", "--exclude-standard")
    return sorted(set(listed))


def name_of(path: Path) -> str:
    """`lib/deepdive/core/norms.py` -> `deepdive.core.norms`; of a case: `laws.layers.norms`."""
    top = LIBRARY if path.is_relative_to(LIBRARY) else TESTS
    return ".".join(path.relative_to(top).with_suffix("").parts).removesuffix(".__init__")


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the modules that a file names in an import, each with what it takes from it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


@cache
def exported() -> dict[str, str]:
    """`deepdive.core.SoftmaxAttention` -> the module that defines it, for each package."""
    found = {}
    for path in LIBRARY.rglob("__init__.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    found[f"{name_of(path)}.{alias.asname or alias.name}"] = node.module
    return found


@cache
def needs(path: Path) -> frozenset[str]:
    """Return the library's modules that a file imports; of a package, those of what it takes."""
    return frozenset(exported().get(name, name) for name in imports(path))


@cache
def modules() -> dict[str, Path]:
    """Return module -> file, of the library and of the cases."""
    files = [*LIBRARY.rglob("*.py"), *(TESTS / "laws").rglob("*.py")]
    return {name_of(path): path for path in files}


def dependents(module: str) -> set[str]:
    """Return the modules of the library that import `module`, directly or by others, without the
    packages' `__init__`, which gather, and the atlas, which shows all.
    """
    passing = {n for n, p in modules().items() if p.name != "__init__.py"}
    passing = {
        n
        for n in passing
        if not n.startswith(("laws", "deepdive_book.site", "deepdive_book.course"))
    }
    found, wave = set[str](), {module}
    while wave:
        wave = {n for n in passing - found if needs(modules()[n]) & wave}
        found |= wave
    return found - {module}


def mirrored(path: Path) -> str:
    """Return the folder of tests that mirrors the folder of a file of either package. What a
    chapter has in figures, runs, and toys is tested in one folder of its own.
    """
    package, *folders = path.relative_to(LIBRARY).parent.parts
    if package == "deepdive_book" and folders and folders[0].startswith(("ch0", "studies")):
        folders = folders[:1]
    return "/".join(["tests", *folders])


def tests_of(module: str) -> set[str]:
    """Return the test files that import a module, and lie in its folder or below it."""
    folder = mirrored(modules()[module])
    files = {p for p in (ROOT / folder).rglob("test_*.py") if module in needs(p)}
    return {path.relative_to(ROOT).as_posix() for path in files if path.parent != TESTS}


def cases(name: str) -> set[str]:
    """Return the names of the cases that a module of cases holds."""
    text = modules()[name].read_text("utf-8") if name in modules() else ""
    return set(re.findall(r'^@case\(\s*"([^"]+)"', text, re.MULTILINE))


def laws_of(module: str) -> set[str]:
    """Return the cases of a module, in the file that mirrors it and in those that import it, and of
    the modules that depend on it, with their systems.
    """
    reached = {module, *dependents(module)}
    files = {name for name in modules() if name.startswith("laws.")}
    holders = {name for name in files if module in needs(modules()[name])}
    mirrors = {name.replace("deepdive.", "laws.", 1) for name in reached}
    systems = {one.system for one in headers(LIBRARY).values() if one.module in reached}
    everywhere = {case for name in files for case in cases(name)}
    return {case for name in holders | mirrors for case in cases(name)} | systems & everywhere


def kernel_cases() -> set[str]:
    """Return the names of the cases that stand for the kernel."""
    return KERNEL_SYSTEMS.union(*(cases(f"laws.{name}") for name in KERNEL_LAWS))


def users(helper: Path) -> set[str]:
    """Return the test files that import a helper of the tests."""
    found = (path for path in TESTS.rglob("test_*.py") if helper.stem in imports(path))
    return {path.relative_to(ROOT).as_posix() for path in found}


def selection(files: Iterable[str]) -> tuple[set[str], set[str], list[str]]:
    """Return (test files, names of cases, reasons for `make test`) for the changed files."""
    tests, named, kernel = {*ALWAYS}, set[str](), []
    for file in files:
        path = ROOT / file
        if FOR_ALL.match(file):
            kernel.append(f"{file}: every test depends on it")
        elif path.name == "systems.csv":
            tests.add("tests/site/atlas/test_atlas.py")
        elif not path.is_file() or path.suffix != ".py":
            continue
        elif path.name.startswith("test_"):
            tests.add(file)
        elif path.is_relative_to(TESTS / "laws"):
            named |= cases(name_of(path))
        elif path.parent == TESTS:
            tests |= users(path)
        elif path.is_relative_to(ROOT / "tools" / "grader"):
            tests |= {t.relative_to(ROOT).as_posix() for t in TESTS.glob("grader/test_*.py")}
        elif path.is_relative_to(LIBRARY):
            module = name_of(path)
            tests |= tests_of(module)
            if (count := len(dependents(module))) > WIDE:
                kernel.append(f"{file}: {count} modules depend on it")
            else:
                named |= laws_of(module)
    if kernel:
        tests, named = tests | KERNEL_TESTS, named | kernel_cases()
    return tests, named, kernel


def commands(tests: set[str], named: set[str]) -> dict[str, list[str]]:
    """Return the steps: style, and one run of pytest over the tests and the laws of the cases."""
    files = sorted(tests) + ["tests/test_laws.py", "tests/test_parity.py"] * bool(named)
    words = [Path(file).name for file in sorted(tests)]
    for name in sorted(named):
        words += [
            f"law[{name}-".split()[0],
            f"parity[{name}]".split()[0],
        ]  # -k has no space in words
    words += ["test_every"] * bool(named)  # part and system has a case
    return {
        "style": ["ruff", "check", "."],
        "format": ["ruff", "format", "--check", "."],
        "tests": ["pytest", "-q", "-n", "2", "--dist", "load", *files, "-k", " or ".join(words)],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--since", help="the commit to compare with; default: where main was left")
    parser.add_argument("--list", action="store_true", help="say what would run, and run nothing")
    options = parser.parse_args()
    files = changed(options.since)
    tests, named, kernel = selection(files)
    print(
        f"== {len(files)} changed file(s); {len(tests)} test file(s); laws of {len(named)} case(s)"
    )
    print("\n".join(f"   {name}" for name in [*sorted(tests), *sorted(named)]), flush=True)
    start, failed = time.monotonic(), []
    for name, command in commands(tests, named).items() if not options.list else ():
        done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False)
        failed += [name] if done.returncode else []
    if not options.list:
        print(f"== {time.monotonic() - start:.0f} s; failed: {', '.join(failed) or 'nothing'}")
    if kernel:
        print("\n".join(f"   {line}" for line in kernel))
        print("== that was a sample, since this is the kernel: `make test` has the rest")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
