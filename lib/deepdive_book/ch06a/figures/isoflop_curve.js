const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const inner = box.querySelector(".va-inner"), told = box.querySelector("[role=status]");
const [budget, size] = box.querySelectorAll("input"), shown = box.querySelectorAll("output");
const WIDE = 420, HIGH = 300, LEFT = 46, RIGHT = 8, TOP = 12, FOOT = 40, GRAIN = 20, NEAR = 0.15;
const PRICE = 6, FROM = 3, TO = 6.5, MOST = 14;
const [floor, a, b, alpha, beta] = spec.law;
const at = (n, d) => floor + a * n ** -alpha + b * d ** -beta;
const best = spent => {
  const ratio = (alpha * a / (beta * b)) ** (1 / (alpha + beta)), both = spent / PRICE;
  const n = ratio * both ** (beta / (alpha + beta));
  return [n, both / n];
};
const losses = spec.seen.map(run => run[2]), most = Math.max(...losses);
const least = Math.min(at(...best(10 ** MOST)), ...losses);
const low = least - 0.05 * (most - least), high = most * 1.06;
const x = power => LEFT + (WIDE - LEFT - RIGHT) * (power - FROM) / (TO - FROM);
const y = loss => TOP + (HIGH - TOP - FOOT) * (high - loss) / (high - low);
const sizes = spec.seen.map(run => Math.log10(run[0]));
const ends = [Math.min(...sizes), Math.max(...sizes)];
const short = number => {
  const [power, word] = number >= 0.9995e12 ? [12, " million million"]
    : number >= 0.9995e9 ? [9, " thousand million"]
      : number >= 0.9995e6 ? [6, " million"] : [0, ""];
  const value = number / 10 ** power, digits = 1 - Math.floor(Math.log10(value));
  const rounded = Math.round(value * 10 ** digits) / 10 ** digits;
  return rounded.toLocaleString("en-US", { minimumFractionDigits: Math.min(Math.max(0, digits), 1),
    maximumFractionDigits: Math.min(Math.max(0, digits), 1) }) + word;
};
const colours = [...inner.children].map(each => each.getAttribute("stroke") ?? each.getAttribute("fill"));
const weight = colours[0], query = colours.at(-1), value = colours.at(-2), key = box.querySelector(".va-key").style.background;
const draw = () => {
  const power = budget.value / GRAIN, mine = size.value / GRAIN, both = 10 ** power / PRICE;
  const lines = { true: "", false: "" };
  for (let i = 0; i < (TO - FROM) * GRAIN; i++) {
    const [one, two] = [FROM + i / GRAIN, FROM + (i + 1) / GRAIN];
    const [first, second] = [one, two].map(each => y(at(10 ** each, both / 10 ** each)));
    if (Math.min(first, second) < TOP) continue;
    const middle = (one + two) / 2, known = ends[0] <= middle && middle <= ends[1];
    lines[known] += `M${x(one).toFixed(1)} ${first.toFixed(1)}L${x(two).toFixed(1)} ${second.toFixed(1)}`;
  }
  let body = `<path d="${lines.true}" stroke="${weight}" stroke-width="3"/>` +
    `<path d="${lines.false}" stroke="${weight}" stroke-width="1.6" opacity="0.8" ` +
    'stroke-dasharray="3 9"/>';
  for (const [n, d, loss] of spec.seen)
    if (Math.abs(Math.log10(PRICE * n * d) - power) <= NEAR)
      body += `<circle cx="${x(Math.log10(n))}" cy="${y(loss)}" r="4" fill="${key}" ` +
        'fill-opacity="0.7"/>';
  const [n, d] = best(10 ** power), lowest = at(n, d), own = at(10 ** mine, both / 10 ** mine);
  body += `<circle cx="${x(Math.log10(n))}" cy="${y(lowest)}" r="8" fill="none" ` +
    `stroke="${value}" stroke-width="3"/><circle cx="${x(mine)}" cy="${Math.max(y(own), TOP)}" ` +
    `r="5" fill="${query}"/>`;
  inner.innerHTML = body;
  told.textContent = `${short(10 ** power)} operations. Lowest: ${short(n)} parameters on ` +
    `${short(d)} ${spec.unit}, ${lowest.toFixed(3)} nats. Yours: ${short(10 ** mine)} parameters ` +
    `on ${short(both / 10 ** mine)} ${spec.unit}, ${own.toFixed(3)} nats, ` +
    `${(own - lowest).toFixed(3)} above the lowest.`;
  shown[0].textContent = short(10 ** power);
  shown[1].textContent = short(10 ** mine);
  budget.setAttribute("aria-valuetext", `${short(10 ** power)} operations`);
  size.setAttribute("aria-valuetext", `${short(10 ** mine)} parameters`);
};
for (const each of [budget, size]) each.oninput = draw;
box.querySelector(".va-choose").hidden = false;
draw();
