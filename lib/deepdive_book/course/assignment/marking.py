"""Grades a chapter's submissions: several at a time, each once, and on from where it stopped.

What decides is `grading.grade`. Around it a submission is read, repaired, graded with the student's
own source, and kept three times: in the grade book, as the notebook in `autograded/` that feedback
and marking by hand show, and as `graded.json` beside it. That file comes last and names the
contents that were graded, so what it names is done, and what it does not name is graded again.
"""

import hashlib
import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import Any

from deepdive_book.course.assignment import grader, library, records
from deepdive_book.course.assignment.course import NOTEBOOK, Course, literal, read
from deepdive_book.course.assignment.errors import AssignmentError
from deepdive_book.course.assignment.forms import released
from deepdive_book.course.assignment.grading import CellGrade, grade, refusal
from deepdive_book.course.assignment.limited import Limits
from deepdive_book.course.assignment.plan import RefusedError, grade_id
from deepdive_book.course.assignment.reader import READING
from deepdive_book.course.assignment.reader import read as handed_in
from deepdive_book.course.assignment.repair import Repaired, doubtful, writable
from deepdive_book.course.exercises import tags

RESULT = "graded.json"
RUBRIC = "rubric"  # the tag of a cell that says how an answer is marked by hand


@dataclass(frozen=True)
class Result:
    """What is kept of one graded submission."""

    student: str
    submission: str  # hashes of what was graded, and with what
    source: str
    trusted: bool
    refused: str = ""
    late: bool = False
    found: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    double: list[str] = field(default_factory=list)
    points: float = 0.0
    max_points: float = 0.0
    waiting: float = 0.0  # points that a person must still give or not
    crowded: bool = False  # the clock on the wall ended something, even when it was graded alone
    unclear: list[str] = field(default_factory=list)
    tampered: list[str] = field(default_factory=list)  # checks, points or answers that were forged
    stopped: list[str] = field(default_factory=list)  # cells that a limit or their own crash ended
    library: list[str] = field(default_factory=list)  # cells that import what their check compares

    @property
    def flags(self) -> list[str]:
        """The words that stand beside the points, in the export and in the grade book."""
        given = {
            "late": self.late,
            "trusted": self.trusted,
            "refused": self.refused,
            "repaired": self.found,
            "missing": self.missing,
            "double": self.double,
            "unclear": self.unclear,
            "tampered": self.tampered,
            "stopped": self.stopped,
            "library": self.library,
            "crowded": self.crowded,
        }
        return [word for word, answer in given.items() if answer]


def result_of(course: Course, student: str, chapter: str) -> Result | None:
    """What was kept when this student's submission was graded; None where it never was."""
    path = course.folder("autograded", student, chapter) / RESULT
    if not path.is_file():
        return None
    return Result(**json.loads(path.read_text("utf-8")))


def outstanding(
    course: Course, chapter: str, *, trust: bool = False, again: bool = False
) -> list[str]:
    """The students whose submission, as it is now, was not yet graded with the present source.

    With `again` also those that are flagged `crowded`.
    """
    source = digest(course.released(chapter))
    left = []
    for student in course.handed_in(chapter):
        done = result_of(course, student, chapter)
        now = digest(course.submission(student, chapter))
        same = done and (done.submission, done.source) == (now, source)
        # A grade from the sandbox is not given again without it. What the clock stopped was tried
        # again alone before it was recorded: it counts, unless `again` asks for one more time.
        settled = done and not (again and done.crowded)
        if done and same and settled and (trust or not done.trusted):
            continue
        left.append(student)
    return left


def digest(path: Path) -> str:
    """SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def mark(
    course: Course, chapter: str, students: list[str], *, jobs: int = 2, trust: bool = False
) -> Iterator[Result]:
    """Grade these students' submissions on `jobs` processes; yield each when it is recorded.

    What lost points to the clock on the wall is graded again when all else is done, alone, before
    it is recorded.

    When the caller stops early or Ctrl-C comes, no further one is begun, and those in work are
    finished and recorded.

    Raises:
        AssignmentError: the grader is not installed.
        SandboxError: this machine cannot lock submissions in, and `trust` is false.
    """
    grader.load()
    records.enrol(course)
    if not students:
        return
    pool = _pool(min(jobs, len(students)))
    waiting = {pool.submit(graded, course, chapter, student, trust) for student in students}
    unrecorded, again = set(waiting), []
    try:
        for future in as_completed(waiting):
            unrecorded.discard(future)
            if future.result()[0].crowded:
                again.append(future.result()[0].student)
            else:
                yield _record(course, chapter, future)
        for student in again:
            alone = pool.submit(graded, course, chapter, student, trust, alone=True)
            yield _record(course, chapter, alone)
    except BrokenProcessPool as error:
        raise AssignmentError(
            "a grading process was killed, usually because memory ran out: resume with --jobs 1"
        ) from error
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for future in unrecorded:
            done = future.done() and not future.cancelled() and future.exception() is None
            if done and not future.result()[0].crowded:
                _record(course, chapter, future)


def _pool(jobs: int) -> Executor:
    return ProcessPoolExecutor(jobs, mp_context=get_context("spawn"), initializer=_serve)


def _serve() -> None:
    """Leave Ctrl-C, which reaches the whole group of processes, to the first one; end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    first = parent_process()
    if first is not None:
        Thread(target=_end_after, args=(first.sentinel,), daemon=True).start()


def _end_after(sentinel: int) -> None:
    """End this process when the one behind the sentinel does; the warm process ends with it."""
    wait([sentinel])
    os._exit(1)


def graded(
    course: Course, chapter: str, student: str, trust: bool, alone: bool = False
) -> tuple[Result, Any, list[CellGrade]]:
    """Grade one submission; return what is to be kept, the notebook with messages, the points.

    `alone`: nothing else is graded now, so it may wait longer for the machine.
    """
    path = course.submission(student, chapter)
    source = literal(read(course.released(chapter)), course.secret, student)
    form = released(source)
    handed_digest = digest(path)  # before it is read: what replaces it then is graded anew
    late = json.loads((path.parent / "collected.json").read_text("utf-8"))["late"]
    try:
        names = library.compared(source)
        whole = handed_in(path, form, names, limits=_patient(READING, alone), trust=trust)
        handed = deepcopy(whole.notebook)
        handed.cells = [cell for cell in handed.cells if grade_id(cell) not in whole.missing]
        limits = _patient(Limits(), alone)
        given = grade(source, handed, limits=limits, trust=trust, twin=course.twin(student))
    except RefusedError as error:
        whole, given = Repaired(form), refusal(source, error, trust=trust)
    untouched = {i for i, cell in _graded_cells(form).items() if cell.source == _text(whole, i)}
    no_answer, in_doubt = untouched - set(whole.unclear), doubtful(form, whole)
    cells = [_settled(cell, no_answer, in_doubt) for cell in given.cells]
    result = Result(
        student,
        handed_digest,
        digest(course.source(chapter)),
        given.trusted,
        given.refused,
        late,
        whole.found,
        whole.missing,
        whole.double,
        sum(cell.points for cell in cells),
        sum(cell.max_points for cell in cells),
        sum(cell.max_points for cell in cells if cell.manual),
        given.crowded,
        whole.unclear,
        [*dict.fromkeys([*whole.changed, *given.forged])],
        given.stopped,
        whole.borrowed,
    )
    return result, annotated(whole.notebook, source, cells), cells


def _patient(limits: Limits, alone: bool) -> Limits:
    return replace(limits, patience=2 * limits.patience) if alone else limits


def _graded_cells(form: Any) -> dict[str, Any]:
    return {grade_id(cell): cell for cell in form.cells if grade_id(cell)}


def _text(whole: Repaired, name: str) -> str:
    cell = _graded_cells(whole.notebook).get(name)
    return cell.source if cell is not None else ""


def _settled(cell: CellGrade, no_answer: set[str], in_doubt: set[str]) -> CellGrade:
    """What nobody wrote waits for nobody; what failed where an answer is in doubt, for a person."""
    if cell.manual and cell.grade_id in no_answer:
        return replace(cell, message="No answer.", manual=False)
    if cell.points < cell.max_points and cell.grade_id in in_doubt:
        return replace(cell, points=0.0, manual=True)
    return cell


def annotated(notebook: Any, source: Any, cells: list[CellGrade]) -> Any:
    """The submission with each check's message as its output, and rubrics below what they are for.

    What students' cells had put out is gone: nobody here ran it, and it could hold anything.
    """
    import nbformat

    v4: Any = nbformat.v4
    messages = {cell.grade_id: cell.message for cell in cells}
    rubrics = {c.metadata["exercise"]: c.source for c in source.cells if RUBRIC in tags(c)}
    shown = deepcopy(notebook)
    shown.cells = []
    for cell in deepcopy(notebook.cells):
        shown.cells.append(cell)
        name = grade_id(cell)
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            if text := messages.get(name):
                cell.outputs = [v4.new_output("error", ename="", evalue=text, traceback=[text])]
        elif name in rubrics:
            about = {"tags": [RUBRIC]}
            text = f"**Rubric**\n\n{rubrics[name]}"
            shown.cells.append(v4.new_markdown_cell(text, id=f"{name}-rubric", metadata=about))
    return shown


def _comments(result: Result, cells: list[CellGrade], notebook: Any) -> dict[str, str]:
    """Grade id of a cell to write in -> what the instructor and the student should know."""
    sentences: dict[str, list[str]] = {}
    for name in result.found:
        sentences.setdefault(name, []).append("This cell had lost its id and was found again.")
    for name in result.missing:
        sentences.setdefault(name, []).append("This cell was missing.")
    for name in result.unclear:
        sentences.setdefault(name, []).append("Its answer may stand in another cell: look.")
    for name in result.double:
        sentences.setdefault(name, []).append("Several cells had this id: the last one counts.")
    for name in result.library:
        sentences.setdefault(name, []).append("A cell imports what the check compares with.")
    whole = []
    if result.tampered:
        names = ", ".join(map(repr, result.tampered))
        whole.append(f"Changed or forged, and replaced by the course's own: {names}.")
    if result.stopped:
        whole.append(f"Stopped, by a limit or a crash: {', '.join(map(repr, result.stopped))}.")
    if result.crowded:
        whole.append("The clock stopped it, graded alone too.")
    if result.refused:
        whole.append(f"Not graded: {result.refused}.")
    if result.trusted:
        whole.append("Graded without the sandbox (--trust-submissions).")
    if whole:
        first = next(name for name, cell in _graded_cells(notebook).items() if writable(cell))
        sentences[first] = [*whole, *sentences.get(first, [])]
    return {name: " ".join(texts) for name, texts in sentences.items()}


def _record(course: Course, chapter: str, future: Future[Any]) -> Result:
    from deepdive_book.site.pages.source import write

    result, notebook, cells = future.result()
    kept: Result = result
    records.record(course, chapter, kept.student, cells, _comments(kept, cells, notebook))
    folder = course.folder("autograded", kept.student, chapter)
    (folder / RESULT).unlink(missing_ok=True)
    write(notebook, folder / f"{NOTEBOOK}.ipynb")
    half = folder / f".{RESULT}.{os.getpid()}"
    half.write_text(json.dumps(asdict(kept), indent=1) + "\n", encoding="utf-8")
    os.replace(half, folder / RESULT)
    return kept
