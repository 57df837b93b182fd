const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const choice = box.querySelector("select"), told = box.querySelector("[role=status]");
const sliders = [...box.querySelectorAll("input")], shown = [...box.querySelectorAll("output")];
const rows = box.querySelector(".nx-rows"), text = box.querySelector("blockquote");
const steps = [spec.temperatures, spec.k, spec.p, spec.minP];
const percent = share => `${(100 * share).toFixed(1)}%`;
const sum = values => values.reduce((a, b) => a + b, 0);
const seen = token => token.replaceAll(" ", "·").replaceAll("\n", "↵") || "(nothing)";
const left = (logits, others, at, k, p, minP) => {
  const weights = logits.map(x => Math.exp(x / spec.temperatures[at]));
  const whole = sum(weights) + others[at], shares = weights.map(w => w / whole);
  let kept = k ? Math.min(k, shares.length) : null;
  if (p) {
    const inside = shares.slice(0, kept ?? shares.length), goal = p * (kept ? sum(inside) : 1);
    let mass = 0;
    for (let n = 0; n < inside.length; n++) {
      mass += inside[n];
      if (mass >= goal) { kept = n + 1; break; }
    }
  }
  if (minP) {
    const n = shares.filter(share => share >= minP * shares[0]).length;
    if (n < shares.length) kept = kept ? Math.min(n, kept) : n;
  }
  return { shares, kept, part: kept === null ? p || 1 : sum(shares.slice(0, kept)) };
};
const draw = () => {
  const [name, tokens, logits, others, nOthers] = spec.texts[+choice.value];
  const places = sliders.map(each => +each.value), values = places.map((at, i) => steps[i][at]);
  const { shares, kept, part } = left(logits, others, places[0], ...values.slice(1));
  const every = (tokens.length + nOthers).toLocaleString("en-US");
  text.textContent = `${name} …`;
  rows.replaceChildren(...tokens.slice(0, spec.bars).map((token, n) => {
    const row = document.createElement("div"), line = document.createElement("span");
    const [word, share] = [document.createElement("span"), document.createElement("span")];
    const drawn = kept === null || n < kept ? shares[n] / part : 0;
    for (const [kind, width] of [["i", shares[n]], ["b", drawn]]) {
      const bar = document.createElement(kind);
      bar.style.width = `${(100 * width).toFixed(2)}%`;
      line.append(bar);
    }
    row.className = "nx-row";
    line.className = "nx-line";
    word.textContent = seen(token);
    share.textContent = percent(drawn);
    row.append(word, line, share);
    return row;
  }));
  if (kept === null) {
    const stay = values.slice(1).some(value => value) ? `More than ${tokens.length} tokens stay`
      : `All ${every} tokens stay`;
    told.textContent = `${stay}; the likeliest is drawn in ${percent(shares[0] / part)} of all cases.`;
  } else
    told.textContent = `${kept} of ${every} ${kept === 1 ? "token stays" : "tokens stay"}; together `
      + `they had ${percent(part)}. The likeliest is drawn in ${percent(shares[0] / part)} of all `
      + "cases.";
  sliders.forEach((each, i) => {
    const value = values[i] || "off";
    shown[i].textContent = i === 0 && value === Math.floor(value) ? value.toFixed(1) : value;
    each.setAttribute("aria-valuetext", shown[i].textContent);
  });
};
choice.onchange = draw;
sliders.forEach(each => { each.oninput = draw; });
box.querySelector(".nx-choose").hidden = false;
draw();
