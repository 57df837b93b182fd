"""`deepdive assignment`: a course with exercises, from its folder to a table of grades."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deepdive_book.site.pages import find_root
from deepdive_book.site.pages.commands import Group

if TYPE_CHECKING:
    from deepdive_book.course.assignment.course import Course
    from deepdive_book.course.assignment.marking import Result

COURSE = click.argument("course", type=click.Path(path_type=Path))
CHAPTER = click.argument("chapter")


class Assignments(Group):
    """Shows errors of a course as one line."""

    def invoke(self, ctx: click.Context) -> object:
        from deepdive_book.course.assignment.errors import AssignmentError
        from deepdive_book.course.assignment.grader import SandboxError

        try:
            return super().invoke(ctx)
        except (AssignmentError, SandboxError) as error:
            raise click.ClickException(str(error)) from error


def _opened(course: Path, chapter: str) -> tuple["Course", str]:
    """The course in this folder, and the full name of a chapter."""
    from deepdive_book.course.assignment.course import Course
    from deepdive_book.course.assignment.release import chapter_named

    return Course.open(course), chapter_named(chapter, find_root())


@click.group(cls=Assignments)
def assignment() -> None:
    """Run a course: release, collect, grade, feedback, export.

    Submissions are graded in a sandbox. COURSE is the folder of a course and CHAPTER the number or
    name of a chapter; 2_clinic is the bug clinic of chapter 2. The commands need nbgrader (install
    it with `pip install -e ".[instructors]"` in a checkout), and `grade` needs the sandbox
    (`pip install ./tools/grader`).

    \b
    Run them in this order:
      deepdive assignment create course
      deepdive assignment release course 2
      deepdive assignment collect course 2 download.zip
      deepdive assignment grade course 2
      deepdive assignment feedback course 2
      deepdive assignment export course grades.csv
    """


@assignment.command()
@COURSE
@click.option("--secret", is_flag=True, help="Give each student own numbers, names, and bugs.")
@click.option(
    "--overlay",
    type=click.Path(path_type=Path),
    help="A private folder with your own exercises, CHAPTER/exercises.py.",
)
def create(course: Path, secret: bool, overlay: Path | None) -> None:
    """Create a course folder.

    \b
    Examples:
      deepdive assignment create nlp-2026
      deepdive assignment create nlp-2026 --secret --overlay my-exercises
    """
    from deepdive_book.course.assignment import course as courses
    from deepdive_book.course.assignment import records

    made = courses.create(course, secret=secret, overlay=overlay)
    records.enrol(made)
    click.echo(f"{course}: created a course without students or chapters")
    click.echo(f"Next: write {course}/roster.csv, then deepdive assignment release {course} 2")


@assignment.command()
@COURSE
@click.argument("chapters", nargs=-1, required=True, metavar="CHAPTER...")
@click.option("--renew", is_flag=True, help="Copy the exercises from the book again.")
def release(course: Path, chapters: tuple[str, ...], renew: bool) -> None:
    """Write the notebooks to hand out to students.

    Writes one form for all, or in a course with a secret one form per student.

    \b
    Example:
      deepdive assignment release nlp-2026 0 2
    """
    from deepdive_book.course.assignment import course as courses
    from deepdive_book.course.assignment import release as releasing

    opened, root = courses.Course.open(course), find_root()
    for name in [releasing.chapter_named(word, root) for word in chapters]:
        made = releasing.release(opened, name, root, renew=renew)
        where = made[0].relative_to(opened.root) if len(made) == 1 else f"release/*/{name}"
        points = sum(courses.points_of(courses.read(opened.source(name))).values())
        click.echo(f"{name}: {points:g} points; {len(made)} form{'s' * (len(made) > 1)}, {where}")
    click.echo(f"Next: hand it out; later deepdive assignment collect {course} {name} DOWNLOAD")


@assignment.command()
@COURSE
@CHAPTER
@click.option("--students", default=6, type=click.IntRange(1, 1000), help="Default 6.")
@click.option("--out", default=Path("rehearsal.zip"), type=click.Path(path_type=Path))
def rehearse(course: Path, chapter: str, students: int, out: Path) -> None:
    """Simulate the submissions of a class, to try the commands.

    Fills an empty roster with simulated students; use a separate course.

    \b
    Example:
      deepdive assignment rehearse trial 2 --out download.zip
    """
    from deepdive_book.course.assignment import rehearse as class_

    opened, name = _opened(course, chapter)
    opened.released(name)
    invited = class_.create_class(opened, students)
    class_.submit(opened, name, invited, out)
    click.echo(f"{out}: {len(invited)} submissions in Moodle's format")
    click.echo(f"Next: deepdive assignment collect {course} {name} {out}")


@assignment.command()
@COURSE
@CHAPTER
@click.argument("download", type=click.Path(exists=True, path_type=Path))
@click.option("--replace", is_flag=True, help="Replace earlier submissions by newer ones.")
@click.option("--late", is_flag=True, help="Mark all submissions of this download as late.")
def collect(course: Path, chapter: str, download: Path, replace: bool, late: bool) -> None:
    """Import submissions from a folder or zip.

    Accepts downloads from Moodle, Canvas, and Blackboard.

    \b
    Example:
      deepdive assignment collect nlp-2026 2 download.zip
    """
    from deepdive_book.course.assignment import collect as collecting

    opened, name = _opened(course, chapter)
    report = collecting.collect(opened, name, download, replace=replace, late=late)
    counts = {
        "taken": report.taken,
        "replaced": report.replaced,
        "unchanged": report.same,
        "late": report.late,
    }
    kept = f"{len(report.kept)} not replaced" if report.kept else "nothing"
    click.echo(", ".join(f"{len(who)} {word}" for word, who in counts.items() if who) or kept)
    for text in report.notes:
        click.echo(f"  {text}")
    if report.kept:
        click.echo("An earlier version exists and was kept; use --replace to take the new one:")
        click.echo(f"  {', '.join(report.kept)}")
    if report.unmatched:
        click.echo("Not imported:")
        for file, why in report.unmatched:
            click.echo(f"  {file}: {why}")
    if report.missing:
        click.echo(f"No submission from: {', '.join(report.missing)}")
    click.echo(f"Next: deepdive assignment grade {course} {name}")


@assignment.command()
@COURSE
@CHAPTER
@click.option("--jobs", default=2, type=click.IntRange(1, 64), help="Processes (default 2).")
@click.option("--again", is_flag=True, help="Also regrade submissions flagged `crowded`.")
@click.option(
    "--trust-submissions",
    is_flag=True,
    help="Run student code without a sandbox, with your permissions; marks the grade book.",
)
def grade(course: Path, chapter: str, jobs: int, again: bool, trust_submissions: bool) -> None:
    """Grade the collected submissions that are not graded yet.

    Press Ctrl-C to stop; run the same command to resume.

    \b
    Example:
      deepdive assignment grade nlp-2026 2 --jobs 4
    """
    from tqdm import tqdm

    from deepdive_book.course.assignment import marking

    opened, name = _opened(course, chapter)
    left = marking.outstanding(opened, name, trust=trust_submissions, again=again)
    done = len(opened.handed_in(name)) - len(left)
    click.echo(f"{len(left)} to grade, {done} graded already")
    results = marking.mark(opened, name, left, jobs=jobs, trust=trust_submissions)
    graded: list[Result] = []
    try:
        for result in tqdm(results, total=len(left), unit="submission", disable=None):
            graded.append(result)
            if not sys.stderr.isatty():  # where no bar is drawn
                click.echo(f"{len(graded)} of {len(left)}: {result.student}")
    except KeyboardInterrupt:
        for result in graded:
            click.echo(_line(result))
        there = len(left) - len(marking.outstanding(opened, name, trust=trust_submissions))
        click.echo(f"stopped: {there} of {len(left)} graded; run the same command to resume")
        sys.exit(130)
    for result in sorted(graded, key=lambda result: left.index(result.student)):
        click.echo(_line(result))
    if any(result.waiting for result in graded):
        click.echo(f"Grade the rest manually: jupyter lab in {course}, Nbgrader, Formgrader")
    click.echo(f"Next: deepdive assignment feedback {course} {name}")


def _line(result: "Result") -> str:
    words = [f"{result.student}  {result.points:g} of {result.max_points:g}"]
    words += [f"{result.waiting:g} to grade manually"] if result.waiting else []
    words += [f"refused: {result.refused}"] if result.refused else []
    for what in ("found", "missing", "double", "unclear", "tampered", "stopped", "library"):
        names = getattr(result, what)
        label = {"found": "repaired"}.get(what, what)
        words += [f"{label}: {', '.join(names)}"] if names else []
    words += [word for word in ("late", "trusted", "crowded") if word in result.flags]
    return "; ".join(words)


@assignment.command()
@COURSE
@CHAPTER
def feedback(course: Path, chapter: str) -> None:
    """Write a feedback page for each graded student.

    Feedback pages contain no hidden tests or solutions.

    \b
    Example:
      deepdive assignment feedback nlp-2026 2
    """
    from tqdm import tqdm

    from deepdive_book.course.assignment import feedback as pages
    from deepdive_book.course.assignment import marking
    from deepdive_book.course.assignment.limited import LimitedError

    opened, name = _opened(course, chapter)
    opened.released(name)
    ids = [s for s in opened.handed_in(name) if marking.result_of(opened, s, name)]
    withheld: dict[str, list[str]] = {}
    left_out: dict[str, str] = {}
    for student in tqdm(ids, unit="page", disable=None):
        try:
            _, cells = pages.feedback(opened, name, student)
            withheld |= {student: cells} if cells else {}
        except LimitedError as error:
            left_out[student] = str(error)
    click.echo(f"{len(ids) - len(left_out)} pages in {course}/feedback/*/{name}")
    for student, why in left_out.items():
        click.echo(f"No page for {student}: the notebook cannot be rendered: {why}")
    if withheld:
        click.echo("Withheld because they quote a hidden test or a solution; check them yourself:")
    for student, cells in withheld.items():
        click.echo(f"  {student}: {', '.join(cells)}")
    click.echo(f"Next: deepdive assignment export {course} grades.csv")


@assignment.command()
@COURSE
@click.argument("path", type=click.Path(path_type=Path), default="grades.csv", metavar="[FILE.csv]")
def export(course: Path, path: Path) -> None:
    """Export all grades as CSV, one line per student.

    The default file is grades.csv.

    \b
    Example:
      deepdive assignment export nlp-2026 grades.csv
    """
    from deepdive_book.course.assignment.course import Course
    from deepdive_book.course.assignment.export import export as write

    opened = Course.open(course)
    waiting = write(opened, path)
    counts = [(len(opened.students), "student"), (len(opened.chapters), "chapter")]
    click.echo(f"{path}: " + ", ".join(f"{n} {word}{'s' * (n != 1)}" for n, word in counts))
    if waiting:
        click.echo(f"{waiting} submissions still need manual grading")
