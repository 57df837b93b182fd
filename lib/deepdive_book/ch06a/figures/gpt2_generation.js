// What the reader sees and moves. `given`: id, spec (JSON).

const spec = JSON.parse(given.spec), box = document.getElementById(given.id);
const find = what => box.querySelector(what), make = (tag, within, text = "", kind = "") => {
  const made = document.createElement(tag);
  made.textContent = text; made.className = kind;
  return within.appendChild(made);
};

const models = spec.moments.map(({ weights }) =>
  writer(spec, cut(spec.shapes, quantised(spec.shapes, ...weights))));
const place = new Map([...spec.letters].map((letter, i) => [letter, i]));
const named = letter => ({ " ": "blank", "\n": "new line" })[letter] ?? letter;
const percent = share => share < 0.005 ? "under 1%" : `${Math.round(100 * share)}%`;

const field = find("textarea"), bars = find(".wr-bars"), out = find(".wr-out");
const heat = find(".wr-heat"), when = find(".wr-when"), said = find("[role=status]");
const [one, forty, again] = box.querySelectorAll(".wr-write button");
let written = "", draw = randoms(1);

const tokens = () => [...field.value + written].map(letter => place.get(letter))
  .filter(token => token !== undefined);
const shares = () => {
  const read = tokens(), scores = models[+when.value](read.length ? read : [place.get("\n")]);
  const heated = +heat.value;
  if (heated > 0) return softmax([...scores], heated);
  const best = scores.indexOf(Math.max(...scores));
  return [...scores].map((_, i) => +(i === best));
};
const chosen = found => {
  let left = draw();
  const at = found.findIndex(share => (left -= share) < 0);
  return at >= 0 ? at : found.indexOf(Math.max(...found));
};

const show = () => {
  const found = shares(), moment = spec.moments[+when.value];
  const order = [...found.keys()].sort((a, b) => found[b] - found[a]).slice(0, spec.shown);
  bars.replaceChildren();
  for (const token of order) {
    const line = make("li", bars), letter = [...spec.letters][token];
    const button = make("button", line, named(letter), "wr-letter");
    button.type = "button";
    button.setAttribute("aria-label", `write ${named(letter)}`);
    button.onclick = () => { written += letter; show(); bars.querySelector("button").focus(); };
    make("i", make("span", line, "", "wr-bar")).style.width = `${100 * found[token]}%`;
    make("span", line, percent(found[token]), "wr-share");
  }
  out.replaceChildren();
  make("span", out, field.value, "wr-given");
  make("span", out, written, "wr-new");
  find(".wr-heat-now").textContent = (+heat.value).toFixed(1);
  find(".wr-when-now").textContent = moment.name;
  const first = order.slice(0, 3).filter(token => found[token] > 0);
  said.textContent = `${moment.said} Most likely next: ${first.map(token =>
    `${named([...spec.letters][token])} ${percent(found[token])}`).join(", ")}.`;
};
const goOn = count => {
  for (let i = 0; i < count; i++) written += [...spec.letters][chosen(shares())];
  show();
};
one.onclick = () => goOn(1);
forty.onclick = () => goOn(40);
again.onclick = () => { written = ""; draw = randoms(1); show(); };
field.oninput = () => { written = ""; show(); };
heat.oninput = show;
when.oninput = () => { written = ""; draw = randoms(1); show(); };
find(".wr-controls").hidden = false;
show();
