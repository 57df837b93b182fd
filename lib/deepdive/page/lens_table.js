const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const choice = box.querySelector("select"), table = box.querySelector("table");
const told = box.querySelector("[role=status]"), bars = box.querySelector(".lt-bars");
let chosen = spec.readings[0].chosen;
const make = (tag, text, more = {}) => {
  const each = document.createElement(tag);
  each.textContent = text;
  Object.entries(more).forEach(([name, value]) => each.setAttribute(name, value));
  return each;
};
const right = (now, k, t) => now.said[k][t][0][0] === now.truth[k][t];
const text = (now, k, t) => now.said[k][t][0][0] + (now.truth ? (right(now, k, t) ? " ✓" : " ✗") : "");
const tell = now => {
  const [k, t] = chosen, cell = now.said[k][t];
  const said = `${now.layers[k]}, at “${now.words[t]}”: the lens reads “${cell[0][0]}”, sure to ${cell[0][1]} %.`;
  const held = now.truth
    ? ` The state holds “${now.truth[k][t]}”: the lens is ${right(now, k, t) ? "right" : "wrong"}.` : "";
  told.textContent = said + held;
  bars.replaceChildren(...cell.map(([word, sure]) => {
    const row = make("div", "", { class: "lt-row" }), line = make("span", "", { class: "lt-line" });
    line.append(make("i", "", { style: `width:${sure}%` }));
    row.append(make("span", word), line, make("b", `${sure} %`));
    return row;
  }));
};
const draw = () => {
  const now = spec.readings[+choice.value], head = table.tHead.rows[0], body = table.tBodies[0];
  head.replaceChildren(make("th", "word"), ...now.layers.map(layer => make("th", layer, { scope: "col" })));
  body.replaceChildren(...now.words.map((word, t) => {
    const row = make("tr", "");
    row.append(make("th", word, { scope: "row" }), ...now.layers.map((layer, k) => {
      const cell = make("td", ""), seen = text(now, k, t);
      const button = make("button", seen, {
        type: "button", "aria-label": `${seen}, ${layer}, at ${word}`,
        "aria-pressed": k === chosen[0] && t === chosen[1], style: `--sure:${now.said[k][t][0][1]}%`,
      });
      button.onclick = () => {
        chosen = [k, t];
        box.querySelectorAll("button").forEach(each => each.setAttribute("aria-pressed", each === button));
        tell(now);
      };
      cell.append(button);
      return cell;
    }));
    return row;
  }));
  tell(now);
};
choice.onchange = () => { chosen = spec.readings[+choice.value].chosen; draw(); };
box.querySelector(".lt-choose").hidden = false;
draw();
