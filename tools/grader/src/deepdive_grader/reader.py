"""The reader: a process, locked in, in which the course parses what a student handed in."""

import os
from typing import Any

from deepdive_book.course.assignment.limited import LimitedError, Limits
from deepdive_book.course.assignment.reader import answer
from deepdive_grader.fork_server import Child, start
from deepdive_grader.meter import CROWDED, Allowance
from deepdive_grader.wire import Channel, WireError, no_reference, pack, unpack

READ, WRITE = 3, 4  # the descriptors of the grader's pipes


def read(asked: dict[str, Any], limits: Limits, *, trust: bool) -> dict[str, Any]:
    """Have a new reader answer. Raises LimitedError where it needs too much, and SandboxError."""
    there, back = os.pipe(), os.pipe()
    try:
        child = start().spawn("reader", [there[0], back[1]], limits, locked=not trust)
    finally:
        os.close(there[0])
        os.close(back[1])
    try:
        child.started()
        return _answered(child, Channel(back[0], there[1], limits.answer), asked, limits)
    finally:
        child.close()
        os.close(back[0])
        os.close(there[1])


def _answered(
    child: Child, channel: Channel, asked: dict[str, Any], limits: Limits
) -> dict[str, Any]:
    """What a reader that has started answers."""
    allowance = Allowance(limits.total_seconds, limits.patience, child.meter.read)
    try:
        channel.send(pack(asked, no_reference), allowance)
        return unpack(channel.receive(allowance), no_reference)
    except WireError as error:
        why = child.ended() if str(error) == "gone" else allowance.said(str(error))
        raise LimitedError(why, crowded=str(error) == CROWDED) from error


def run(limits: Limits) -> None:
    """Be the reader of one submission."""
    channel = Channel(READ, WRITE, limits.answer)
    try:
        channel.send(pack(answer(unpack(channel.receive(), no_reference), limits), no_reference))
    except WireError:
        return
