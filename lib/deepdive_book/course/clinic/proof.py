"""Whether a diagnosis can be right, and whether a number that a student measures tells a patient
from healthy models and a neighbour. All clinics share it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import isfinite
from random import SystemRandom
from typing import Any


def misjudged(
    letter: str, diagnosis: str, diagnoses: Collection[str],
    ill: Mapping[str, Any], well: Mapping[str, Any],
) -> str:  # fmt: skip
    """Say why the diagnosis cannot be right, or "": of the patient's parts `ill` the one that it
    names is made healthy, and then all must be those of the healthy model, `well`.
    """
    if diagnosis not in diagnoses:
        return f"{diagnosis!r} is no diagnosis: return one of {', '.join(diagnoses)}"
    if {**ill, diagnosis: well[diagnosis]} == {**well}:
        return ""
    return (
        f"with a healthy part for {diagnosis!r} patient {letter} is as it was, so that part was "
        "not ill. Which of its symptoms does your diagnosis not explain?"
    )


def unproven(
    measure: Callable[..., Any], own: Any, well: Sequence[Any], near: Any, door: str
) -> str:
    """Say why `measure(look)` does not prove what ails `own`, or "".

    It must give the patient another number than the healthy models `well`, by more than these
    differ, and another than the patient `near`, whose letter is `door`. It is asked twice of each,
    in an order that is drawn, and must look each time: a list of answers proves nothing.
    """
    order = 2 * [*well, own, near]
    SystemRandom().shuffle(order)
    given: dict[int, list[float]] = {}
    for patient in order:
        number, looks = _measured(measure, patient)
        if not looks:
            return "it never calls look"
        if not isfinite(number):
            return f"it gives {number}, which is no number"
        given.setdefault(id(patient), []).append(number)
    there = [number for each in well for number in given[id(each)]]
    return _too_near(given[id(own)], there, given[id(near)], door)


def _measured(measure: Callable[..., Any], patient: Any) -> tuple[float, int]:
    """What a measurement gives for a patient, and how often it looked."""
    looks = 0

    def look(*arguments: Any, **named: Any) -> Any:
        nonlocal looks
        looks += 1
        return patient.look(*arguments, **named)

    return float(measure(look)), looks


def _too_near(own: list[float], there: list[float], near: list[float], door: str) -> str:
    """Why the patient's numbers do not stand apart from healthy ones and the neighbour's, or ""."""
    low, high = min(there), max(there)
    margin = 0.25 * (high - low) + 1e-6
    for number in own:
        if low - margin <= number <= high + margin:
            theirs = f"{low:.3g} to {high:.3g}"
            return f"it gives {number:.3g}, and healthy models give {theirs} (one learned nothing)"
        apart = min(abs(value - number) for value in there)
        for other in near:
            if abs(other - number) <= 0.1 * apart:
                return (
                    f"it gives {number:.3g}, and {other:.3g} for patient {door}, "
                    "who has something else"
                )
    return ""
