// What the reader sees and moves. `given`: id, spec (JSON). Every change runs the model again.

const spec = JSON.parse(given.spec), box = document.getElementById(given.id);
const find = what => box.querySelector(what), make = (tag, within, text = "", kind = "") => {
  const made = document.createElement(tag);
  made.textContent = text; made.className = kind;
  return within.appendChild(made);
};

const shares = filler(spec, cut(spec.shapes, quantised(spec.shapes, ...spec.weights)));
const ids = new Map(spec.vocabulary.map((word, i) => [word, i]).slice(spec.specials));
const GAP = "_", room = spec.most - 2;  // [CLS] and [SEP] take two places
const read = text => (text.toLowerCase().replaceAll("\u2019", "'")
  .match(/_+|[a-z0-9]+(?:'[a-z]+)?|[^\sa-z0-9_]/g) ?? []).map(word => word[0] === GAP ? GAP : word);
const percent = share => share < 0.005 ? "under 1%" : `${Math.round(100 * share)}%`;

const field = find("input"), chips = find(".gw-words"), bars = find(".gw-bars");
const said = find("[role=status]");
let words = [], gap = 0;

const show = () => {
  const tokens = words.map((word, i) => i === gap || word === GAP ? spec.mask
    : ids.get(word) ?? spec.unknown);
  const found = shares([spec.begin, ...tokens, spec.end], gap + 1);
  const order = [...found.keys()].filter(i => i >= spec.specials).sort((a, b) => found[b] - found[a]);
  chips.replaceChildren(...words.map((word, i) => {
    const chip = document.createElement("button");
    const known = word === GAP || ids.has(word);
    chip.type = "button";
    chip.textContent = i === gap || word === GAP ? "___" : word;
    chip.className = known ? "" : "gw-unknown";
    chip.setAttribute("aria-pressed", i === gap);
    chip.setAttribute("aria-label", word === GAP ? "the gap" : i === gap ? `${word}, hidden`
      : known ? `hide ${word}` : `hide ${word}, which the model does not know`);
    chip.onclick = () => { gap = i; show(); chips.children[i].focus(); };
    return chip;
  }));
  const first = order.slice(0, spec.shown);
  bars.replaceChildren();
  for (const token of first) {
    const line = make("li", bars, "", spec.vocabulary[token] === words[gap] ? "gw-right" : "");
    make("span", line, spec.vocabulary[token], "gw-word");
    const bar = make("span", line, "", "gw-bar");
    make("i", bar).style.width = `${100 * found[token] / Math.max(0.3, found[first[0]])}%`;
    make("span", line, percent(found[token]), "gw-share");
  }
  const hidden = words[gap], own = ids.get(hidden), text = [
    `Most likely: ${first.slice(0, 3).map(i => `${spec.vocabulary[i]} ${percent(found[i])}`).join(", ")}.`];
  if (hidden !== GAP) text.push(own === undefined
    ? `The hidden word, ${hidden}, is not among the words that the model knows.`
    : `The hidden word, ${hidden}, is candidate ${1 + order.indexOf(own)}, with ${percent(found[own])}.`);
  said.textContent = text.join(" ");
};

const typed = () => {
  const every = read(field.value);
  if (!every.length) {
    said.textContent = "Write a sentence, with ___ where a word is to be guessed.";
    return;
  }
  words = every.slice(0, room);
  gap = words.includes(GAP) ? words.indexOf(GAP) : Math.min(gap, words.length - 1);
  show();
  if (every.length > room)
    said.textContent += ` Only the first ${room} words and signs are read.`;
};
field.oninput = typed;
for (const button of box.querySelectorAll(".gw-examples button"))
  button.onclick = () => { field.value = button.textContent; typed(); };
find(".gw-controls").hidden = false;
typed();
