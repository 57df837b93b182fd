"""Where the checkout lies: the one place that knows how deep a test is."""

from __future__ import annotations

from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
