"""The book built as `make read` builds it, for the tests of what readers get.

python tests/book_build.py FOLDER         # beforehand; the tests take it from DEEPDIVE_SITE
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from checkout import ROOT

ABSENT = ("torch", "numpy", "matplotlib")


def build(root: Path, out: Path) -> subprocess.CompletedProcess[str]:
    """Build the book of a checkout in a process in which importing torch fails."""
    script = ROOT / "book" / "build.py"
    code = (
        "import runpy, sys\n"
        f"for name in {ABSENT!r}: sys.modules[name] = None\n"
        f"sys.argv = ['build.py', '--root', {str(root)!r}, '--out', {str(out)!r}]\n"
        f"runpy.run_path({str(script)!r}, run_name='__main__')"
    )
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    done = build(ROOT, Path(sys.argv[1]))
    sys.stderr.write(done.stderr)
    sys.exit(done.returncode)
