"""The book package: what the pages show and measure, the site, the course, the command line.

kit            what pages share: profile, plots, tables, predictions, diagrams, interactive figures
ch00 to ch07   one folder a chapter, as in chapters/ (ch04 multilingual, ch05 efficient, ch06a text,
               ch06b vision, ch06c speech, ch07 explainability), and studies, the case studies:
               figures (NAME.py, and NAME.js for its behavior), runs (experiments), toys (small
               trained models)
data, tasks    data that only pages use; training for a task
site           pages and how they are run, the atlas of systems, the doctor
course         exercises, assignments, questions, sheets, clinics
"""

from typing import Any


def setup(profile: str = "auto", **options: Any) -> None:
    """Set a page up: profile, seeds, threads, figure style (`deepdive_book.kit.profile.setup`)."""
    from deepdive_book.kit import profile as kit  # loads torch, which `make read` lacks

    kit.setup(profile, **options)
