"""Word intrusion: six words, five of one topic, and the reader finds the intruder.

    words = ["tea", "milk", "frog", "cup", "sugar", "mug"]
    word_intrusion_game([Question(words, 2, topic=4, group="NMF")])

Whoever can tell the intruder sees what the topic is about (Chang et al., 2009), so that the share
of right answers measures topics. The reader presses a word, or the key of its number, and sees at
once what is right; what made the topic, its `group`, is told only then. At the end stands each
group's share with Wilson's interval. Until then no answer is in what can be seen or searched; on
paper and without scripts the questions stand there alone.
"""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from deepdive_book.kit.markup import Html, script
from deepdive_book.kit.palette import painted

LARGEST = 100_000  # bytes of HTML
LEAST, MOST = 3, 9  # words of a question: of fewer none is odd, and a key has one digit
_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Question:
    """Words in the order in which they are shown; `words[intruder]` is the one of another topic.

    `top`: more words of the topic, told with the answer; without them the others of `words`.
    `group`: what found the topic, told with the answer and counted at the end.
    """

    words: Sequence[str]
    intruder: int
    topic: int
    group: str = ""
    top: Sequence[str] = ()


def word_intrusion_game(
    questions: Sequence[Question], *, caption: str = "Which word is the intruder?"
) -> Html:
    """Return the game: a question at a time in this order, and at the end the score.

    Args:
        questions: at least one, all with as many words; a group for each of them or for none.
        caption: what is asked.

    Raises:
        ValueError: there is no question, one repeats a word or has its intruder outside its words,
            the questions differ in length, or some have a group and others none.
    """
    if not questions:
        raise ValueError("questions is empty; give at least one Question")
    size = len(questions[0].words)
    if not LEAST <= size <= MOST:
        raise ValueError(f"question 1 has {size} words; expected {LEAST} to {MOST}")
    for number, one in enumerate(questions, 1):
        if len(one.words) != size or len({word.casefold() for word in one.words}) != size:
            raise ValueError(
                f"question {number}: expected {size} words, each once, as question 1 has; "
                f"got {list(one.words)}"
            )
        if not 0 <= one.intruder < size:
            raise ValueError(
                f"question {number}: intruder is {one.intruder}; expected 0 to {size - 1}, "
                "its place among the words"
            )
        if one.words[one.intruder] in one.top:
            raise ValueError(
                f"question {number}: top has {one.words[one.intruder]!r}, the intruder; it belongs "
                "to another topic, so choose another word"
            )
        if bool(one.group) != bool(questions[0].group):
            raise ValueError(
                f"question {number} has the group {one.group!r}, question 1 has "
                f"{questions[0].group!r}; name the group of each question, or of none"
            )
    asked = json.dumps([
        {"words": list(q.words), "intruder": int(q.intruder), "topic": int(q.topic),
         "group": q.group, "top": list(q.top) or [w for w in q.words if w != q.words[q.intruder]]}
        for q in questions
    ])  # fmt: skip
    # not in clear: a reader who searches the page, or looks into it, is told no answer
    hidden = base64.b64encode(asked.encode()).decode()
    lines = "".join(f"<li>{escape(', '.join(q.words))}</li>" for q in questions)
    name = f"wi{hashlib.sha256((caption + hidden).encode()).hexdigest()[:10]}"
    html = _PAGE.format(
        id=name, style=painted(_STYLE), caption=escape(caption), lines=lines,
        script=script(_SCRIPT, id=name, asked=hidden),
    )  # fmt: skip
    if len(html.encode()) > LARGEST:
        raise ValueError(
            f"the game has {len(html.encode()):,} bytes, at most {LARGEST:,}: ask fewer questions"
        )
    count = f"{len(questions)} question{'s' if len(questions) > 1 else ''}"
    return Html(html, f"[a game: {caption} {count} of {size} words]")


_STYLE = """
.wi { font: 1rem/1.4 system-ui, sans-serif; max-width: 40rem; margin: .4em 0; }
.wi p { margin: .4em 0; }
.wi .wi-caption { font-weight: 600; }
.wi .wi-line { display: flex; flex-wrap: wrap; gap: .2em 1.2em; justify-content: space-between;
  font-variant-numeric: tabular-nums; }
.wi-words { display: grid; grid-template-columns: repeat(3, minmax(0, 1fr)); gap: .5em; }
.wi button { font: inherit; color: inherit; cursor: pointer; margin: 0; padding: .4em .6em;
  background: transparent; border: 1px solid currentColor; border-radius: .4em;
  box-sizing: border-box; min-height: 2.8rem; }
.wi .wi-words button { text-align: left; overflow-wrap: anywhere; min-height: 4.1rem; }
.wi-words button b { font-weight: 400; opacity: .75; margin-right: .55em; }
.wi button:hover:not([aria-disabled=true]) { box-shadow: inset 0 0 0 1px currentColor; }
.wi button:focus-visible, .wi-end:focus-visible { outline: 3px solid @key; outline-offset: 1px; }
.wi-words button[aria-disabled=true] { cursor: default;
  border-color: color-mix(in srgb, currentColor 30%, transparent); }
.wi .wi-words .wi-is { font-weight: 700; border: 2px solid @value;
  background: color-mix(in srgb, @value 16%, transparent); }
.wi .wi-words .wi-not { border: 2px dashed @query;
  background: color-mix(in srgb, @query 12%, transparent); }
.wi-words span { display: block; font-size: .9rem; font-weight: 400; }
.wi-told { min-height: 7em; }
.wi-told:has(+ .wi-end:not([hidden])) { min-height: 0 !important; }
.wi-bars { display: grid; grid-template-columns: max-content minmax(5em, 1fr) max-content;
  gap: .4em .8em; align-items: center; margin: .6em 0; font-variant-numeric: tabular-nums; }
.wi-bar { position: relative; height: 1.3em; align-self: center;
  border: 1px solid color-mix(in srgb, currentColor 40%, transparent); }
.wi-bar i { position: absolute; top: .5em; height: .25em; background: @key; }
.wi-bar b { position: absolute; top: .25em; width: .75em; height: .75em; border-radius: 50%;
  background: @key; transform: translateX(-50%); }
.wi-bar s { position: absolute; top: 0; bottom: 0; border-left: 2px dashed currentColor; }
.wi [hidden] { display: none; }
@media (max-width: 500px) {
  .wi-words { grid-template-columns: repeat(2, minmax(0, 1fr)); }
  .wi-told { min-height: 9em; }
  .wi-bars { grid-template-columns: minmax(0, 1fr) max-content; grid-auto-flow: dense; }
  .wi-bars .wi-bar { grid-column: 1 / -1; }
}
"""

_PAGE = """\
<style>{style}</style>
<div class="wi" id="{id}" role="group" aria-label="The game of the intruder">
<p class="wi-caption">{caption}</p>
<ol class="wi-still">{lines}</ol>
<div class="wi-game" hidden></div>
</div>
{script}"""
