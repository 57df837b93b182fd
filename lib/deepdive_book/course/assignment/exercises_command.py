"""`deepdive exercises`: the notebooks that are made of each chapter's exercises."""

import click

from deepdive_book.site.pages import exercise_sources, find_root


@click.command()
@click.option("--all", "every", is_flag=True, help="The other forms too, into build/exercises.")
def exercises(every: bool) -> None:
    """Write the students' form of each chapter's exercises.

    It lies beside its source. With --all also the solved form, the one for self-study, and the
    instructor's, which says what each check tells each wrong answer.

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
