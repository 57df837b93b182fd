"""Predict before you look: a question in a notebook's output, kept in the reader's browser.

Plain HTML and a few lines of script: no network, no widgets. What follows on the page, up to the
next heading, stays hidden until the reader commits or asks for the result without predicting:

- in the site by `book.css`, as long as the script says that the prediction is `waiting`; without
  scripts and on paper everything is shown;
- in JupyterLab under the collapsed heading of the next cell, tagged `answer`
  (`deepdive_book.site.pages.source` collapses it): committing opens it in a trusted notebook, and a
  click in any other;
- in Colab under the same heading, which the reader opens, since an output cannot reach other cells.

Every key in the browser's store begins with `deepdive:`. What follows is the prediction's own key,
whose value is `right 2`, `wrong 0`, or `shown` (without predicting); the book keeps there too which
pages were read, `read/PAGE`, the reading path, `path`, and `results`, which is `shown` while no
result waits for a prediction. A change of `results` sends the event `deepdive-results`.
"""

import hashlib
from collections.abc import Sequence
from html import escape

from deepdive_book.kit.markup import Html, marked, script
from deepdive_book.kit.palette import PALETTE


def predict(
    question: str,
    options: Sequence[str],
    answer: int,
    explain: str,
    *,
    key: str = "",
    label: str = "Predict first",
) -> Html:
    """Ask the reader to commit to one option; then show the answer and why.

    Args:
        question, options, explain: plain text; `code` in backticks.
        answer: index of the right option.
        key: names the prediction in the browser's store, "chapter/name"; by default a hash.
        label: what stands before the question.

    Raises:
        ValueError: fewer than two options, or `answer` is not the index of one.
    """
    if len(options) < 2:
        raise ValueError(f"options has {len(options)} entries; a prediction needs two or more")
    if not 0 <= answer < len(options):
        raise ValueError(f"answer is {answer}; expected an index from 0 to {len(options) - 1}")
    digest = hashlib.sha256((key + question).encode()).hexdigest()[:10]
    radios = "".join(
        f'<label style="display:block"><input type="radio" name="p{digest}" value="{i}"> '
        f"{marked(option)}</label>"
        for i, option in enumerate(options)
    )
    html = _PREDICT.format(
        id=f"p{digest}",
        line=PALETTE[0],
        label=marked(label),
        question=marked(question),
        radios=radios,
        answer=marked(options[answer]),
        explain=marked(explain),
        script=script(_COMMIT, id=f"p{digest}", key=f"deepdive:{key or digest}", answer=answer),
    )
    lines = [f"{label}: {question}", *(f"  ( ) {option}" for option in options)]
    return Html(html, "\n".join(lines))


def score(chapter: str = "") -> Html:
    """How many of the predictions whose key begins with `chapter` the reader got right."""
    name = f"s{hashlib.sha256(chapter.encode()).hexdigest()[:10]}"
    html = f'<p id="{name}">Your predictions are kept in this browser.</p>'
    counted = script(_SCORE, id=name, prefix=f"deepdive:{chapter}")
    return Html(html + counted, "Your predictions are kept in the browser.")


def advise(topics: Sequence[tuple[str, str, str, str]]) -> Html:
    """A table that says of each topic whether to read or to skip, by the reader's predictions.

    Each topic is (key of its prediction, what it is about, where it is taught, link). A right
    prediction says skip, a wrong one read; without scripts every row says what to read.

    Raises:
        ValueError: there are no topics.
    """
    if not topics:
        raise ValueError("topics is empty: give (key, topic, where, link) for each prediction")
    name = f"a{hashlib.sha256(repr(list(topics)).encode()).hexdigest()[:10]}"
    rows = "".join(
        f'<tr data-key="{escape(f"deepdive:{key}")}"><td>{i}</td><td>{marked(topic)}</td>'
        f'<td><a href="{escape(link)}">{marked(where)}</a></td><td class="advice">read</td></tr>'
        for i, (key, topic, where, link) in enumerate(topics, start=1)
    )
    html = (
        f'<div id="{name}"><p role="status" aria-live="polite"></p><table><thead><tr><th></th>'
        "<th>question about</th><th>taught in</th><th>for you</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )
    plain = "\n".join(f"{i}. {topic}: {where}" for i, (_, topic, where, _) in enumerate(topics, 1))
    return Html(html + script(_ADVISE, id=name), plain)


_PREDICT = """\
<div id="{id}" class="predict" style="border-left:3px solid {line};padding:.3em 1em;margin:.5em 0">
<fieldset style="border:0;margin:0;padding:0">
<legend><strong>{label}:</strong> {question}</legend>
{radios}
</fieldset>
<button type="button" hidden disabled>Commit</button>
<button type="button" class="skip" hidden>Show without predicting</button>
<p role="status" aria-live="polite" style="margin:.3em 0"></p>
<details><summary>Answer</summary><p><strong>{answer}</strong>. {explain}</p></details>
</div>
{script}"""

_COMMIT = """
const box = document.getElementById(given.id), find = what => box.querySelector(what);
const radios = [...box.querySelectorAll("input")], button = find("button"), skip = find(".skip");
let store = {};
try { store = window.localStorage; } catch (error) {}
const next = () => box.closest(".jp-Cell")?.nextElementSibling
  ?.querySelector(".jp-collapseHeadingButton.jp-mod-collapsed")?.click();
const wait = () => {
  button.hidden = skip.hidden = false; find("details").hidden = true; box.classList.add("waiting");
  find("p").textContent = "The result appears when you commit.";
};
const open = said => {
  find("p").textContent = said; find("details").hidden = false; skip.hidden = true;
  box.classList.remove("waiting");
  window.dispatchEvent(new Event("deepdive-predict"));
};
const commit = choice => {
  radios.forEach(radio => { radio.checked = +radio.value === choice; radio.disabled = true; });
  button.hidden = true; find("details").open = true;
  open(choice === given.answer ? "You predicted it." : "Not this time.");
};
const begin = () => {
  const [was, choice] = (store[given.key] || "").split(" ");
  if (was === "right" || was === "wrong") commit(+choice);
  else { wait(); if (was || store["deepdive:results"] === "shown") open(""); }
};
radios.forEach(radio => radio.addEventListener("change", () => { button.disabled = false; }));
button.addEventListener("click", () => {
  const choice = +radios.find(radio => radio.checked).value;
  store[given.key] = choice === given.answer ? "right " + choice : "wrong " + choice;
  commit(choice); next();
});
skip.addEventListener("click", () => {
  store[given.key] = "shown"; find("details").open = true; open(""); next();
});
window.addEventListener("deepdive-results", begin);
begin();
"""

_SCORE = """
const count = () => {
  let store = {};
  try { store = window.localStorage; } catch (error) {}
  const made = Object.keys(store).filter(
    key => key.startsWith(given.prefix) && /^(right|wrong) /.test(store[key]));
  const right = made.filter(key => store[key].startsWith("right"));
  document.getElementById(given.id).textContent =
    `You have predicted ${right.length} of ${made.length} right.`;
};
window.addEventListener("deepdive-predict", count);
count();
"""

_ADVISE = """
const box = document.getElementById(given.id), rows = [...box.querySelectorAll("tr[data-key]")];
const advise = () => {
  let store = {};
  try { store = window.localStorage; } catch (error) {}
  const made = rows.map(row => (store[row.dataset.key] || "").split(" ")[0]);
  rows.forEach((row, i) => {
    row.querySelector(".advice").textContent =
      { right: "skip it", wrong: "read it" }[made[i]] || "not answered yet";
    row.style.fontWeight = made[i] === "wrong" ? "bold" : "";
  });
  const count = what => made.filter(answer => answer === what).length;
  box.querySelector("p").textContent = `${count("right")} of ${rows.length} right, ` +
    `${count("wrong")} to read, ${count("")} not answered yet.`;
};
window.addEventListener("deepdive-predict", advise);
advise();
"""
