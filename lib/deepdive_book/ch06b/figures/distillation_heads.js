const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const choice = box.querySelector("select"), slider = box.querySelector("input");
const shown = box.querySelector("output"), told = box.querySelector("[role=status]");
const columns = [...box.querySelectorAll(".op-column")].map(each => [...each.querySelectorAll(".op-bar")]);
const best = row => row.indexOf(Math.max(...row));
const softmax = (logits, temperature) => {
  if (!temperature) return logits.map((_, k) => +(k === best(logits)));
  const most = Math.max(...logits), each = logits.map(z => Math.exp((z - most) / temperature));
  const sum = each.reduce((a, b) => a + b);
  return each.map(e => e / sum);
};
const draw = () => {
  const now = spec.images[+choice.value], temperature = spec.temperatures[+slider.value];
  const [teacher, first, second] = now.logits;
  const target = softmax(teacher, temperature), heads = [softmax(first, 1), softmax(second, 1)];
  const rows = [spec.names.map((_, k) => +(k === now.label)), target, ...heads];
  rows.forEach((row, c) => row.forEach((p, k) => {
    columns[c][k].setAttribute("width", (spec.bar * p).toFixed(2));
  }));
  box.querySelector(".op-image").setAttribute("href", `data:image/png;base64,${now.png}`);
  const t = temperature || 1, said = softmax(second, t);
  const far = t * t * target.reduce((sum, p, k) => sum + (p > 0 ? p * Math.log(p / said[k]) : 0), 0);
  const near = -Math.log(heads[0][now.label]);
  const how = temperature ? `soft, at temperature ${temperature}` : "hard";
  shown.textContent = temperature ? `temperature ${temperature}` : "hard";
  slider.setAttribute("aria-valuetext", how);
  told.textContent = `Label: ${spec.names[now.label]}. Teacher: ${spec.names[best(teacher)]}. `
    + `Class head: ${spec.names[best(first)]}. Taught head: ${spec.names[best(second)]}. `
    + `Loss with the teacher's answer ${how}: (${near.toFixed(2)} + ${far.toFixed(2)}) / 2 = `
    + `${((near + far) / 2).toFixed(2)}`;
};
choice.onchange = draw;
slider.oninput = draw;
box.querySelector("button").onclick = () => {
  choice.value = (+choice.value + 1) % spec.images.length;
  draw();
};
box.querySelector(".op-choose").hidden = false;
