"""Every part of the library on a graphics card, or on one that is not there (`card_parts.py`)."""

import os
import subprocess
import sys
from pathlib import Path

from proofs import WHOLE


def test_every_part_on_a_card() -> None:
    """In a process of its own: torch would take the stand-in for this one's accelerator too.

    That process runs one file, so it is not asked for every proof as a whole run is.
    """
    parts = Path(__file__).with_name("card_parts.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", str(parts)]
    alone = {name: value for name, value in os.environ.items() if name != WHOLE}
    done = subprocess.run(command, env=alone, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout
