const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const choice = box.querySelector("select"), gifts = box.querySelector("[type=checkbox]");
const sliders = [...box.querySelectorAll("[type=range]")], told = box.querySelector("[role=status]");
const all = name => [...box.querySelectorAll(name)];
const sum = row => row.reduce((a, b) => a + b, 0);
const shown = value => {
  const text = String(+(value + 1e-9).toFixed(2));
  return text === "-0" ? "0" : text.replace("-", "\u2212");
};
const share = (part, whole, epsilon) => whole ? part / (whole + (whole > 0 ? epsilon : -epsilon)) : 0;
const unit = (hours, j) => sum(spec.weights[j].map((w, i) => w * hours[i])) + spec.gifts[j] * gifts.checked;
const shares = (hours, kind, number) => {
  const z = spec.units.map((_, j) => unit(hours, j)), made = z.map(v => Math.max(0, v));
  const old = spec.units.map((_, j) => unit(hours.map(() => number), j)), start = old.map(v => Math.max(0, v));
  const answer = sum(made), lifted = kind === "deeplift";
  const units = made.map((h, j) => lifted ? h - start[j] : answer * share(h, answer, number));
  const lines = spec.weights.map((row, j) => {
    if (lifted) {
      const slope = z[j] !== old[j] ? units[j] / (z[j] - old[j]) : +(z[j] > 0);
      return row.map((w, i) => (hours[i] - number) * w * slope);
    }
    const parts = row.map((w, i) => kind === "positive" ? Math.max(0, w * hours[i]) : w * hours[i]);
    const whole = kind === "positive" ? sum(parts) : z[j];
    return parts.map(p => units[j] * share(p, whole, number));
  });
  const inputs = spec.inputs.map((_, i) => sum(lines.map(line => line[i])));
  return { made, answer, owed: answer - (lifted ? sum(start) : 0), units, lines, inputs };
};
const write = (name, values) => all(name).forEach((each, k) => { each.textContent = values[k]; });
const colours = [given.for, given.against];
const draw = () => {
  const hours = sliders.map(each => +each.value), [, kind, number] = spec.rules[+choice.value];
  const now = shares(hours, kind, number);
  const flows = spec.weights.flatMap((row, j) => [...row.map((w, i) => [now.lines[j][i], w]), [now.units[j], 0]]);
  all(".pb-line").forEach((line, k) => {
    const [value, weight] = flows[k], flow = line.querySelector(".pb-flow");
    flow.setAttribute("stroke-width", (spec.line * Math.abs(value)).toFixed(2));
    flow.setAttribute("stroke", colours[+(value < 0)]);
    if (value < 0) flow.setAttribute("stroke-dasharray", "7 4");
    else flow.removeAttribute("stroke-dasharray");
    line.querySelector(".pb-paid").textContent = weight ? shown(value) : "";
  });
  write(".pb-in", hours);
  write(".pb-unit", now.made.map(shown));
  write(".pb-answer", [shown(now.answer)]);
  write(".pb-got", [...now.inputs, ...now.units, now.owed].map(shown));
  const total = sum(now.inputs);
  write(".pb-sum", [total, sum(now.units), now.owed].map(shown));
  const less = now.owed !== now.answer ? `, ${shown(now.owed)} more than at the start` : "";
  told.textContent = `The till holds ${shown(now.answer)}${less}. Paid to: `
    + `${spec.inputs.map((name, i) => `${name} ${shown(now.inputs[i])}`).join(", ")}. Together `
    + `${shown(total)} of ${shown(now.owed)}; paid to nobody: ${shown(now.owed - total)}.`;
};
[choice, gifts, ...sliders].forEach(each => { each.oninput = draw; });
box.querySelector(".pb-choose").hidden = false;
