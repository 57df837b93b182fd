const sum = row => row.reduce((a, b) => a + b, 0);
const format = value => {
  const text = String(+(value + 1e-9).toFixed(2));
  return text === "-0" ? "0" : text.replace("-", "\u2212");
};
const share = (part, whole, epsilon) => whole ? part / (whole + (whole > 0 ? epsilon : -epsilon)) : 0;
const preactivation = (hours, j) =>
  sum(spec.weights[j].map((w, i) => w * hours[i])) + spec.gifts[j] * state.gifts;
const relevance = (hours, kind, number) => {
  const z = spec.units.map((_, j) => preactivation(hours, j)), activations = z.map(v => Math.max(0, v));
  const reference = spec.units.map((_, j) => preactivation(hours.map(() => number), j));
  const start = reference.map(v => Math.max(0, v)), lifted = kind === "deeplift", answer = sum(activations);
  const units = activations.map((h, j) => lifted ? h - start[j] : answer * share(h, answer, number));
  const lines = spec.weights.map((row, j) => {
    if (lifted) {
      const slope = z[j] !== reference[j] ? units[j] / (z[j] - reference[j]) : +(z[j] > 0);
      return row.map((w, i) => (hours[i] - number) * w * slope);
    }
    const parts = row.map((w, i) => kind === "positive" ? Math.max(0, w * hours[i]) : w * hours[i]);
    const whole = kind === "positive" ? sum(parts) : z[j];
    return parts.map(p => units[j] * share(p, whole, number));
  });
  const inputs = spec.inputs.map((_, i) => sum(lines.map(line => line[i])));
  return { activations, answer, owed: answer - (lifted ? sum(start) : 0), units, lines, inputs };
};
const draw = () => {
  const hours = spec.inputs.map((_, i) => state[`hours${i}`]), [, kind, number] = spec.rules[state.rule];
  const { activations, answer, owed, units, lines, inputs } = relevance(hours, kind, number);
  const flows = spec.weights.flatMap((row, j) => [...row.map((w, i) => [lines[j][i], w]), [units[j], 0]]);
  set(".paid-flow", flows.map(([value]) => ({ "stroke-width": (spec.line * Math.abs(value)).toFixed(2),
    stroke: value < 0 ? colors.query : colors.key, "stroke-dasharray": value < 0 ? "7 4" : "none" })));
  write(".paid-share", flows.map(([value, weight]) => weight ? format(value) : ""));
  write(".paid-input", hours);
  write(".paid-unit", activations.map(format));
  write(".paid-answer", [format(answer)]);
  write(".paid-node", [...inputs, ...units, owed].map(format));
  const total = sum(inputs);
  write(".paid-sum", [total, sum(units), owed].map(format));
  const more = owed !== answer ? `, ${format(owed)} more than at the start` : "";
  return `The till holds ${format(answer)}${more}. Paid to: `
    + `${spec.inputs.map((name, i) => `${name} ${format(inputs[i])}`).join(", ")}. Together `
    + `${format(total)} of ${format(owed)}; paid to nobody: ${format(owed - total)}.`;
};
