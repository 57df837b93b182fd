const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const told = box.querySelector("[role=status]"), list = box.querySelector("ol");
const groups = [...box.querySelectorAll(".wm-choose > div")];
const level = Object.keys(spec.needs);
const chosen = group => group.querySelector("[aria-pressed=true]").value;
const element = (kind, name, text) => {
  const made = document.createElement(kind);
  if (name) made.className = name;
  if (text !== undefined) made.textContent = text;
  return made;
};
const row = (way, why, kind) => {
  const item = element("li", why ? "wm-no" : ""), value = way.right[kind];
  item.append(element("b", "", way.name));
  if (value) {
    const bar = element("span", "wm-way"), full = element("span", "wm-full"), span = element("span", "wm-span");
    full.style.width = `${value[0]}%`;
    span.style.left = `${value[1]}%`;
    span.style.width = `${value[2] - value[1]}%`;
    bar.append(full, span);
    item.append(bar);
  }
  const said = element("span", "wm-said");
  const runs = way.runs ? `${way.runs} run${way.runs === 1 ? "" : "s"}, ` : "";
  said.append(element("span", "", value ? `${value[0]} % [${value[1]}, ${value[2]}]` : ""), " ",
    element("small", "", `${runs}page ${way.page}`), " ", element("i", "", why));
  item.append(said);
  return item;
};
const draw = () => {
  const [about, needs, runs, kind] = groups.map(chosen);
  const why = way => {
    if (way.about !== about) return "answers another question";
    if (level.indexOf(way.needs) > level.indexOf(needs)) {
      return `needs ${spec.needs[way.needs].replace(/ (too|only)$/, "")}`;
    }
    return way.runs > +runs ? `takes ${way.runs} runs` : "";
  };
  const height = way => (way.right[kind] || [0])[0];
  const all = spec.ways.map((way, i) => ({ way, i, why: why(way) }));
  all.sort((a, b) => !!a.why - !!b.why || height(b.way) - height(a.way) || a.i - b.i);
  list.replaceChildren(...all.map(each => row(each.way, each.why, kind)));
  const able = all.filter(each => !each.why).map(each => each.way);
  if (!able.length) told.textContent = "Nothing is left: allow more.";
  else if (about !== "answer") {
    told.textContent = `To be read on: ${able.map(w => `${w.name}, page ${w.page}`).join("; ")}.`;
  } else {
    const best = able[0], low = best.right[kind][1];
    const near = able.slice(1).filter(w => w.right[kind][2] >= low).map(w => w.name);
    told.textContent = `First of ${able.length}: ${best.name}, ${best.right[kind][0]} %.`
      + (near.length ? ` Its interval overlaps with: ${near.join(", ")}.` : "");
  }
};
groups.forEach(group => {
  const buttons = [...group.querySelectorAll("button")];
  buttons.forEach((button, i) => {
    button.onclick = () => {
      buttons.forEach(each => each.setAttribute("aria-pressed", each === button));
      draw();
    };
    button.onkeydown = event => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (by) {
        buttons[(i + by + buttons.length) % buttons.length].focus();
        event.preventDefault();
      }
    };
  });
});
box.querySelector(".wm-choose").hidden = false;
