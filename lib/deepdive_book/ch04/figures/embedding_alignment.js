// Two languages' sentences as points. `given`: id, values (JSON), chosen.
const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const drawing = box.querySelector("svg"), said = box.querySelector("[role=status]");
const [step, off] = box.querySelectorAll("input"), choice = box.querySelector("select");
const [line] = drawing.querySelectorAll("line"), circles = [...drawing.querySelectorAll("circle")];
const ring = circles.pop(), marks = [...drawing.querySelectorAll("path")];
const draw = () => {
  const s = +step.value, frame = spec.frames[s][+off.checked], chosen = +choice.value;
  const [one, other] = frame.at, found = frame.near[0][chosen], right = found === chosen;
  circles.forEach((dot, i) => {
    dot.setAttribute("cx", one[i][0]);
    dot.setAttribute("cy", one[i][1]);
  });
  marks.forEach((mark, i) => {
    const [x, y] = other[i];
    mark.setAttribute("d", `M${x} ${y - 6}L${x + 6} ${y}L${x} ${y + 6}L${x - 6} ${y}Z`);
  });
  const ends = { x1: one[chosen][0], y1: one[chosen][1], x2: other[found][0], y2: other[found][1] };
  for (const [name, value] of Object.entries(ends)) line.setAttribute(name, value);
  line.setAttribute("stroke", right ? spec.colours.right : spec.colours.wrong);
  ring.setAttribute("cx", ends.x1);
  ring.setAttribute("cy", ends.y1);
  const count = spec.steps[s].toLocaleString("en-US");
  step.setAttribute("aria-valuetext", `step ${count}`);
  said.textContent = `Step ${count}, means ${off.checked ? "off" : "left on"}: for ${frame.right} of `
    + `${spec.one.length} sentences the translation is the nearest. “${spec.one[chosen]}” has `
    + `“${spec.other[found]}”, ${right ? "its translation" : "another sentence"}.`;
};
drawing.onclick = event => {
  const matrix = drawing.getScreenCTM().inverse(), at = new DOMPoint(event.clientX, event.clientY);
  const { x, y } = at.matrixTransform(matrix), frame = spec.frames[+step.value][+off.checked];
  const far = frame.at.map(side => side.map(([u, v]) => (u - x) ** 2 + (v - y) ** 2));
  const least = far.map(side => side.indexOf(Math.min(...side)));
  choice.value = far[0][least[0]] <= far[1][least[1]] ? least[0] : least[1];
  draw();
};
step.oninput = draw;
off.onchange = draw;
choice.onchange = draw;
choice.value = given.chosen;
box.querySelector(".tc-controls").hidden = false;
