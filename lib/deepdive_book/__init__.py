"""The book package: what the pages show and measure, the site, the course, the command line.

kit        what pages share: profile, plots, tables, predictions, diagrams, interactive figures
ch00 ...   one folder a chapter, and studies: figures, runs (experiments), toys (small trained
models) site       pages and how they are run, the atlas of systems, the doctor
course     exercises, assignments, questions, sheets, clinics
"""

from typing import Any


def setup(profile: str = "auto", **options: Any) -> None:
    """Set a page up: profile, seeds, threads, figure style (`deepdive_book.kit.profile.setup`)."""
    from deepdive_book.kit import profile as kit  # loads torch, which `make read` lacks

    kit.setup(profile, **options)
