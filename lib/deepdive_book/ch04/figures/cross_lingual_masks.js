const { lessons, first } = JSON.parse(given.values), box = document.getElementById(given.id);
const choices = [...box.querySelectorAll(".tl-choose button")];
const lines = [...box.querySelectorAll(".tl-line")];
const about = box.querySelector(".tl-told"), said = box.querySelector("[role=status]");
const GAP = "[MASK]";
let now = first, at = lessons[first].pick, words = [];

const says = ({ words, sees, asked }) => {
  const looked = words.filter((word, s) => sees[at][s] && word !== GAP && s !== at).join(", ");
  const what = words[at] === GAP ? "The masked token" : `“${words[at]}”`;
  const must = asked[at] ? ` Its target is “${asked[at]}”.` : " It has no target.";
  return `${what} attends to ${looked || "no other token"}.${must}`;
};
const mark = () => {
  const lesson = lessons[now];
  words.forEach((button, t) => {
    button.className = `tl-word ${lesson.kinds[t]}` + (lesson.sees[at][t] ? " tl-seen" : "")
      + (t === at ? " tl-pick" : "");
    button.setAttribute("aria-pressed", t === at);
    button.tabIndex = t === at ? 0 : -1;
  });
  about.textContent = lesson.told;
  said.textContent = says(lesson);
};
const pick = to => { at = Math.max(0, Math.min(words.length - 1, to)); mark(); };
const draw = () => {
  const lesson = lessons[now];
  words = lesson.words.map((word, t) => {
    const button = document.createElement("button"), shown = document.createElement("span");
    const below = document.createElement("i");
    shown.textContent = word;
    below.textContent = lesson.asked[t];
    button.type = "button";
    button.append(shown, below);
    if (word === GAP) {
      const asked = lesson.asked[t] ? `, target: ${lesson.asked[t]}` : "";
      button.setAttribute("aria-label", `${word}${lesson.asked[t]}, a masked token${asked}`);
    } else if (lesson.asked[t]) { // heard between both words: a label would have to repeat them
      const asked = document.createElement("b");
      asked.textContent = ", target: ";
      shown.after(asked);
    }
    button.onclick = () => pick(t);
    button.onkeydown = event => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      pick(at + by);
      words[at].focus();
      event.preventDefault();
      event.stopPropagation();
    };
    return button;
  });
  lines.forEach((line, k) => line.replaceChildren(...words.filter((_, t) => lesson.lines[t] === k)));
  choices.forEach((button, i) => button.setAttribute("aria-pressed", i === now));
  at = lesson.pick;
  mark();
};
choices.forEach((button, i) => { button.onclick = () => { now = i; draw(); }; });
box.querySelector(".tl-choose").hidden = false;
draw();
