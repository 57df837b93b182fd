const { table, words, sentences, place, second } = JSON.parse(given.values);
const box = document.getElementById(given.id), find = what => box.querySelector(what);
const d = table[0].length, hands = [...box.querySelectorAll(".ck-hand")];
const make = (tag, name, text = "") => {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.textContent = text;
  return made;
};
const fixed = (x, n = 2) => x.toFixed(n).replace(/^-(0\.?0*)$/, "$1").replace("-", "\u2212");
const at = { a: place, b: second };
let chosen = sentences.length ? 0 : -1; // the sentence whose word is shown

const slider = (who, label) => {
  const line = make("label", "ck-slide"), name = make("span"), field = make("input");
  Object.assign(field, { type: "range", min: 0, max: table.length - 1, value: at[who] });
  field.oninput = () => { at[who] = +field.value; show(); };
  line.append(name, field);
  find(".ck-slides").append(line);
  return () => {
    name.textContent = `${label} ${at[who]}`;
    field.value = at[who];
    field.setAttribute("aria-valuetext", `place ${at[who]}`);
  };
};
const slid = [slider("a", "place")];
if (second !== null) slid.push(slider("b", "compared with"));

const buttons = sentences.flatMap((sentence, n) => {
  const line = make("div");
  find(".ck-words").append(line);
  return sentence.map((word, t) => {
    const button = make("button", "", word);
    button.type = "button";
    button.onclick = () => { chosen = n; at.a = t; show(); };
    line.append(button);
    return { button, n, t };
  });
});

const turn = (row, i) => (Math.atan2(row[2 * i], row[2 * i + 1]) * 180 / Math.PI + 360) % 360;
const draw = (hand, row, i) => {
  const x = 50 + 38 * row[2 * i], y = 50 - 38 * row[2 * i + 1];
  const line = hand.querySelector("line"), tip = hand.querySelector("circle");
  line.setAttribute("x2", x); line.setAttribute("y2", y);
  tip.setAttribute("cx", x); tip.setAttribute("cy", y);
};
const rowOf = (kind, name, values) => {
  const line = make("div", `ck-row ck-${kind}`);
  line.append(...values.map(x => make("span", "", fixed(x))));
  find(".ck-rows").append(make("div", "ck-name", name), line);
};
const show = () => {
  slid.forEach(tell => tell());
  const row = table[at.a], other = second === null ? null : table[at.b];
  const sentence = sentences[chosen], word = sentence && sentence[at.a];
  for (const { button, n, t } of buttons)
    button.setAttribute("aria-pressed", n === chosen && t === at.a);
  const products = hands.map((_, i) =>
    other ? row[2 * i] * other[2 * i] + row[2 * i + 1] * other[2 * i + 1] : 0);
  hands.forEach((hand, i) => {
    draw(hand.querySelector(".ck-a"), row, i);
    if (other) draw(hand.querySelector(".ck-b"), other, i);
    const right = fixed(row[2 * i]), up = fixed(row[2 * i + 1]);
    const said = other ? [`hand ${i}`, `gives ${fixed(products[i])}`]
      : [`hand ${i}`, `right ${right}`, `up ${up}`];
    hand.querySelector("figcaption").replaceChildren(
      ...said.flatMap((text, k) => k ? [make("br"), text] : [text]));
    hand.querySelector("svg").setAttribute("aria-label", other
      ? `hand ${i}: at ${Math.round(turn(row, i))} and ${Math.round(turn(other, i))} degrees`
      : `hand ${i}: at ${Math.round(turn(row, i))} degrees; right ${right}, up ${up}`);
  });
  find(".ck-rows").replaceChildren();
  if (word) rowOf("word", `the word “${word}”`, words[word]);
  rowOf("place", `${word ? "+ " : ""}the row of place ${at.a}`, row);
  if (word) rowOf("sum", "= what enters the model", row.map((x, k) => x + words[word][k]));
  if (other) rowOf("second", `the row of place ${at.b}`, other);
  const dot = products.reduce((sum, x) => sum + x, 0);
  find(".ck-said").textContent = other
    ? `Places ${at.a} and ${at.b}, ${Math.abs(at.a - at.b)} apart: dot product ` +
      `${products.map(x => fixed(x)).join(" + ")} = ${fixed(dot)}`
    : word ? `“${word}” at place ${at.a}.` : `Place ${at.a}.`;
};
show();
