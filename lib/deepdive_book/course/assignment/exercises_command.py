"""`deepdive exercises`: build the notebooks of each chapter's exercises."""

import click

from deepdive_book.site.pages import exercise_sources, find_root


@click.command()
@click.option("--all", "every", is_flag=True, help="Also write the other forms to build/exercises.")
def exercises(every: bool) -> None:
    """Write the students' form of each chapter's exercises.

    The file is next to its source. With --all, also writes the solved form, the self-study form,
    and the instructor's form, which shows each check's message for each wrong answer.

    \b
    Examples:
      deepdive exercises
      deepdive exercises --all
    """
    from deepdive_book.course.assignment.build import build, build_all

    root = find_root()
    for path in exercise_sources(root):
        for target in [build(path, root), *(build_all(path, root) if every else [])]:
            click.echo(f"written: {target.relative_to(root)}")
