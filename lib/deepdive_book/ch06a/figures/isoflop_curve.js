const [WIDE, HIGH, LEFT, RIGHT, TOP, FOOT] = spec.box, [FROM, TO] = spec.sizes, { steps } = spec;
const [floor, a, b, alpha, beta] = spec.law;
const loss = (n, d) => floor + a * n ** -alpha + b * d ** -beta;
const best = budget => {
  const ratio = (alpha * a / (beta * b)) ** (1 / (alpha + beta)), both = budget / spec.price;
  const n = ratio * both ** (beta / (alpha + beta));
  return [n, both / n];
};
const x = power => LEFT + (WIDE - LEFT - RIGHT) * (power - FROM) / (TO - FROM);
const y = value => TOP + (HIGH - TOP - FOOT) * (spec.high - value) / (spec.high - spec.low);
const sizes = spec.runs.map(run => Math.log10(run[0]));
const ends = [Math.min(...sizes), Math.max(...sizes)];
const short = number => {
  const [power, word] = number >= 0.9995e9 ? [9, " billion"]
    : number >= 0.9995e6 ? [6, " million"] : [0, ""];
  const value = number / 10 ** power, digits = 1 - Math.floor(Math.log10(value));
  const places = Math.min(Math.max(0, digits), 1);
  return (Math.round(value * 10 ** digits) / 10 ** digits).toLocaleString("en-US",
    { minimumFractionDigits: places, maximumFractionDigits: places }) + word;
};
const flops = number => number.toExponential(1).replace("e+", "e");
const draw = () => {
  const budget = state.budget / steps, size = state.size / steps, both = 10 ** budget / spec.price;
  const lines = { true: "", false: "" };
  for (let i = 0; i < Math.round((TO - FROM) * steps); i++) {
    const [one, two] = [FROM + i / steps, FROM + (i + 1) / steps];
    const [first, second] = [one, two].map(at => y(loss(10 ** at, both / 10 ** at)));
    if (Math.min(first, second) < TOP) continue;
    const middle = (one + two) / 2, inside = ends[0] <= middle && middle <= ends[1];
    lines[inside] += `M${x(one).toFixed(1)} ${first.toFixed(1)}L${x(two).toFixed(1)} ${second.toFixed(1)}`;
  }
  set(".inside", [{ d: lines.true }]);
  set(".outside", [{ d: lines.false }]);
  find(".runs").replaceChildren(...spec.runs
    .filter(([n, d]) => Math.abs(Math.log10(spec.price * n * d) - budget) <= spec.near)
    .map(([n, , value]) => make("circle",
      { cx: x(Math.log10(n)).toFixed(1), cy: y(value).toFixed(1), r: 4 })));
  const [n, d] = best(10 ** budget), lowest = loss(n, d), own = loss(10 ** size, both / 10 ** size);
  set(".optimum", [{ cx: x(Math.log10(n)).toFixed(1), cy: y(lowest).toFixed(1) }]);
  set(".own", [{ cx: x(size).toFixed(1), cy: Math.max(y(own), TOP).toFixed(1) }]);
  return `${flops(10 ** budget)} FLOPs. Compute-optimal: ${short(n)} parameters, ${short(d)} `
    + `${spec.unit}, loss ${lowest.toFixed(3)}. Yours: ${short(10 ** size)} parameters, `
    + `${short(both / 10 ** size)} ${spec.unit}, loss ${own.toFixed(3)}, `
    + `${(own - lowest).toFixed(3)} higher.`;
};
