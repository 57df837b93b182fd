const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const all = box.querySelector(".sp-all"), frame = box.querySelector(".sp-frame");
const image = box.querySelector(".sp-image"), maps = [...box.querySelectorAll(".sp-map")];
const slider = box.querySelector("input[type=range]"), choice = box.querySelector("select");
const radios = [...box.querySelectorAll("input[type=radio]")], told = box.querySelector("[role=status]");
const here = maps.map(map => map.querySelector(".sp-cells").lastElementChild.cloneNode());
const square = maps.map(map => map.querySelector(".sp-cells rect").cloneNode());
const SVG = "http://www.w3.org/2000/svg";
let way = 0, draw = 0, level = spec.level;
const put = (node, settings) => {
  for (const [name, value] of Object.entries(settings)) node.setAttribute(name, value);
  return node;
};
const show = () => {
  const now = spec.images[+choice.value], state = now.ways[way], levels = spec.ways[way][1];
  const wide = spec.wide / levels.length, high = spec.high / state.draws, side = now.side;
  put(image, { href: `data:image/png;base64,${state.png}`, width: levels.length * side,
    height: state.draws * side });
  frame.setAttribute("viewBox", `${level * side} ${draw * side} ${side} ${side}`);
  const parts = [`${levels[level]}.`];
  maps.forEach((map, m) => {
    const { top, sure } = state.says[m], cells = map.querySelector(".sp-cells");
    const at = (r, c) => ({ x: spec.left + c * wide, y: spec.top + m * spec.block + r * high,
      width: wide, height: high });
    let right = 0;
    cells.replaceChildren();
    top.forEach((row, r) => row.forEach((kind, c) => {
      const place = at(r, c);
      cells.append(put(square[m].cloneNode(), { ...place, "fill-opacity": sure[r][c] }));
      if (kind === now.kind) { right += 1; return; }
      const [x, y] = [place.x + wide / 2, place.y + high / 2];
      cells.append(put(document.createElementNS(SVG, "path"), {
        d: `M${x - 3} ${y - 3}l6 6m0 -6l-6 6`, stroke: "currentColor", "stroke-width": 1.4 }));
    }));
    cells.append(put(here[m].cloneNode(), at(draw, level)));
    const says = spec.names[top[draw][level]], name = spec.models[m];
    map.querySelector(".sp-says").textContent = `${name} says ${says}`;
    map.querySelector(".sp-share").textContent = `right in ${right} of ${state.draws * levels.length}`;
    const verdict = top[draw][level] === now.kind ? "right" : `wrong: it is ${spec.names[now.kind]}`;
    parts.push(`${name} says ${says}, ${verdict} ` +
      `(sure of the right kind: ${sure[draw][level].toFixed(2)}).`);
  });
  slider.max = levels.length - 1;
  slider.value = level;
  slider.setAttribute("aria-valuetext", levels[level]);
  told.textContent = parts.join(" ");
};
slider.oninput = () => { level = +slider.value; show(); };
choice.onchange = show;
radios.forEach(radio => {
  radio.onchange = () => {
    way = +radio.value;
    draw = 0;
    level = Math.min(level, spec.ways[way][1].length - 1);
    show();
  };
});
box.querySelector("button").onclick = () => {
  draw = (draw + 1) % spec.images[+choice.value].ways[way].draws;
  show();
};
all.addEventListener("click", event => {
  const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(all.getScreenCTM().inverse());
  const levels = spec.ways[way][1].length, draws = spec.images[+choice.value].ways[way].draws;
  const c = Math.floor((x - spec.left) / spec.wide * levels);
  maps.forEach((_, m) => {
    const r = Math.floor((y - spec.top - m * spec.block) / spec.high * draws);
    if (r >= 0 && r < draws && c >= 0 && c < levels) { [draw, level] = [r, c]; show(); }
  });
});
for (const row of box.querySelectorAll(".sp-row")) row.hidden = false;
box.classList.add("sp-live");
show();
