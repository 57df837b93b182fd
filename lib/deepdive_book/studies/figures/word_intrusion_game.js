const asked = JSON.parse(atob(given.asked)); // JSON's own escapes: every letter is one byte
const box = document.getElementById(given.id), game = box.querySelector(".wi-game");
const size = asked[0].words.length, chance = 1 / size;
const make = (tag, name = "", text = "") => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  if (tag === "button") made.type = "button";
  made.textContent = text;
  return made;
};
const quoted = word => `\u201c${word}\u201d`, percent = x => `${Math.round(100 * x)}%`;

const line = make("p", "wi-line"), place = make("span", "wi-place"), score = make("span", "wi-score");
const words = make("div", "wi-words"), told = make("div", "wi-told"), said = make("p", "wi-said");
const next = make("button", "wi-next"), end = make("div", "wi-end");
words.setAttribute("role", "group");
said.setAttribute("role", "status");
said.setAttribute("aria-live", "polite");
end.tabIndex = -1;
line.append(place, score);
told.append(said, next);
game.append(line, words, told, end);

let at = 0, right = []; // the question that is asked; of those that are answered, whether it was right
const hits = of => of.filter(Boolean).length;
const standing = () => {
  score.textContent = right.length ? `${hits(right)} of ${right.length}; by chance 1 in ${size}` : `by chance 1 in ${size}`;
};
const answer = chosen => {
  if (right.length > at) return; // answered already
  const one = asked[at], good = chosen === one.intruder;
  right.push(good);
  [...words.children].forEach((button, i) => {
    button.setAttribute("aria-disabled", true);
    if (i === one.intruder) {
      button.classList.add("wi-is");
      button.append(make("span", "", "\u2713 the intruder"));
    } else if (i === chosen) {
      button.classList.add("wi-not");
      button.append(make("span", "", "\u2717 of the topic"));
    }
  });
  const whose = one.group ? `, found by ${one.group}` : "";
  said.textContent = `${good ? "Right" : "Wrong"}: ${quoted(one.words[one.intruder])} is the intruder. The others are ` +
    `of topic ${one.topic}${whose}. Its words: ${one.top.join(", ")}.`;
  standing();
  next.textContent = at + 1 < asked.length ? "Next question" : "See the score";
  next.hidden = false;
  next.focus({ preventScroll: true }); // so that Enter goes on
};
const ask = focus => {
  place.textContent = `Question ${at + 1} of ${asked.length}`;
  words.setAttribute("aria-label", place.textContent);
  words.replaceChildren(...asked[at].words.map((word, i) => {
    const button = make("button");
    button.append(make("b", "", `${i + 1} `), word);
    button.onclick = () => answer(i);
    return button;
  }));
  said.textContent = "";
  next.hidden = end.hidden = true;
  words.hidden = false;
  standing();
  if (focus) words.firstChild.focus({ preventScroll: true });
};

// Wilson's interval of k right ones of n, at 95%: never beyond 0 and 1, and honest where n is small.
const wilson = (k, n, z = 1.959964) => {
  const p = k / n, middle = (p + z * z / (2 * n)) / (1 + z * z / n);
  const half = z / (1 + z * z / n) * Math.sqrt(p * (1 - p) / n + z * z / (4 * n * n));
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
};
const row = (name, of) => {
  const k = hits(of), n = of.length, [low, high] = wilson(k, n);
  const bar = make("span", "wi-bar"), span = make("i"), dot = make("b"), tick = make("s");
  bar.setAttribute("aria-hidden", true); // the numbers say the same
  Object.assign(span.style, { left: `${100 * low}%`, width: `${100 * (high - low)}%` });
  dot.style.left = `${100 * k / n}%`;
  tick.style.left = `${100 * chance}%`;
  bar.append(span, dot, tick);
  const number = make("span", "wi-number", `${k} of ${n}: ${percent(k / n)} [${percent(low)}, ${percent(high)}]`);
  return [make("span", "wi-group", name), bar, number];
};
const finish = () => {
  const groups = [...new Set(asked.map(one => one.group))].filter(Boolean).sort();
  const bars = make("div", "wi-bars"), again = make("button", "wi-again", "Play again");
  for (const name of groups) bars.append(...row(name, right.filter((_, i) => asked[i].group === name)));
  if (groups.length !== 1) bars.append(...row(groups.length ? "all" : "you", right));
  again.onclick = () => { at = 0; right = []; ask(true); };
  const note = "In brackets Wilson's interval, 95%: where the share may lie with so few questions. " +
    `The dashed line is chance, ${percent(chance)}.`;
  end.replaceChildren(make("p", "wi-caption", "Your score"), bars, make("p", "wi-note", note), again);
  said.textContent = `The game is over: ${hits(right)} of ${right.length} right.`;
  place.textContent = "";
  words.hidden = next.hidden = true;
  end.hidden = false;
  end.focus({ preventScroll: true });
};
next.onclick = () => {
  at++;
  if (at < asked.length) ask(true);
  else finish();
};
box.addEventListener("keydown", event => {
  const i = Number(event.key) - 1;
  if (event.ctrlKey || event.altKey || event.metaKey || !(i in asked[0].words) || words.hidden) return;
  answer(i);
  event.preventDefault();
});
box.querySelector(".wi-still").hidden = true;
game.hidden = false;
ask(false);
