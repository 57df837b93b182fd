const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const choose = [...box.querySelectorAll(".mw-choose button")], told = box.querySelector("p");
const bars = [...box.querySelectorAll(".mw-bar")], names = Object.keys(spec.texts);
const other = { ...spec.others };
for (const [a, b] of Object.entries(spec.others)) other[b] = a;
let slots = [];
const first = (items, others) => {
  const left = new Map();
  others.forEach((each) => left.set(each, (left.get(each) || 0) + 1));
  return items.map((each) => {
    const there = left.get(each) || 0;
    left.set(each, there - 1);
    return there > 0;
  });
};
const pairs = (text) => text.slice(1).map((word, i) => `${text[i]} ${word}`);
const inOrder = (a, b) => {
  const longest = Array.from({ length: a.length + 1 }, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) {
    longest[i][j] = a[i] === b[j] ? longest[i + 1][j + 1] + 1
      : Math.max(longest[i + 1][j], longest[i][j + 1]);
  }
  const found = a.map(() => false);
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) { found[i] = true; i++; j++; }
    else if (longest[i + 1][j] > longest[i][j + 1]) i++;
    else j++;
  }
  return found;
};
const marks = (a, b) => [first(a, b), [...first(pairs(a), pairs(b)), false], inOrder(a, b)];
const sum = (row) => row.filter(Boolean).length;
const percent = (shared, said, wanted) => {
  const p = said > 0 ? shared / said : 0, r = wanted > 0 ? shared / wanted : 0;
  return Math.floor(100 * (p + r ? 2 * p * r / (p + r) : 0) + 0.5);
};
const named = (word, marked, i) => {
  word.className = "mw-word" + ["shared", "pair", "order"]
    .map((kind, k) => marked[k][i] ? ` mw-${kind}` : "").join("");
};
const draw = () => {
  const text = slots.filter((slot) => !slot.gone).map((slot) => slot.word);
  const mine = marks(text, spec.reference), theirs = marks(spec.reference, text);
  [...box.querySelectorAll(".mw-reference .mw-word")].forEach((word, i) => named(word, theirs, i));
  let i = 0;
  for (const slot of slots) {
    slot.button.textContent = slot.word;
    if (slot.gone) slot.button.className = "mw-word mw-gone";
    else named(slot.button, mine, i++);
    slot.button.setAttribute("aria-label", slot.gone ? `${slot.word}, crossed out` : slot.word);
  }
  const [shared, pair, order] = mine.map(sum), n = text.length, m = spec.reference.length;
  const values = [percent(shared, n, m), percent(pair, n - 1, m - 1), percent(order, n, m)];
  bars.forEach((bar, k) => {
    bar.querySelector("i").style.width = `${values[k]}%`;
    bar.querySelector("b").textContent = values[k];
  });
  told.textContent = `${n} words beside ${m}: ${shared} are shared, so are ${pair} pairs in a `
    + `row, and ${order} words stand in the same order. ROUGE-1 ${values[0]}, `
    + `ROUGE-2 ${values[1]}, ROUGE-L ${values[2]}.`;
};
const turn = (slot) => {
  if (slot.gone) { slot.gone = false; slot.word = slot.own; }
  else if (slot.word === slot.own && Object.hasOwn(other, slot.own)) slot.word = other[slot.own];
  else slot.gone = true;
  draw();
};
const begin = (name) => {
  slots = spec.texts[name].map((word) => {
    const button = document.createElement("button");
    button.type = "button";
    const slot = { own: word, word, gone: false, button };
    button.onclick = () => turn(slot);
    return slot;
  });
  box.querySelector(".mw-summary").replaceChildren(...slots.flatMap((s) => [s.button, " "]));
  choose.forEach((one, i) => one.setAttribute("aria-pressed", names[i] === name));
  draw();
};
choose.forEach((one, i) => { one.onclick = () => begin(names[i]); });
box.querySelector(".mw-choose").hidden = false;
begin(names[0]);
