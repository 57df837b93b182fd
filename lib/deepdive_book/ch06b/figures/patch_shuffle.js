const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const find = what => box.querySelector(what), SVG = "http://www.w3.org/2000/svg";
const slider = find("input[type=range]"), mix = find(".jg-mix"), count = find(".jg-count");
const choice = find("select"), parts = find(".jg-parts"), image = find("image");
const make = (tag, within, settings) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(settings)) made.setAttribute(name, value);
  return within.appendChild(made);
};

// One random permutation for each size, the same for each photograph (by mulberry32).
const order = n => {
  let seed = 20 + n;
  const draw = () => {
    seed = (seed + 0x6D2B79F5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), seed | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const all = Array.from({ length: n }, (_, i) => i);
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(draw() * (i + 1));
    [all[i], all[j]] = [all[j], all[i]];
  }
  return all;
};

const draw = () => {
  const size = spec.sizes[slider.value], across = spec.side / size, n = across ** 2;
  const one = spec.wide / across, gap = size > spec.side / 20 ? 1 : 0.5;
  const places = mix.checked ? order(n) : Array.from({ length: n }, (_, i) => i);
  image.setAttribute("href", spec.images[choice.value]);
  parts.replaceChildren();
  places.forEach((t, at) => {  // patch t is at position `at`
    const x = one * (at % across), y = one * Math.floor(at / across), wide = one - 2 * gap;
    const part = make("svg", parts, { x: x + gap, y: y + gap, width: wide, height: wide,
      viewBox: `${size * (t % across)} ${size * Math.floor(t / across)} ${size} ${size}`,
      preserveAspectRatio: "none" });
    make("use", part, { href: `#${image.id}` });
    if (!count.checked) return;
    const high = Math.min(18, one * 0.55);
    const number = make("text", parts, { x: x + one / 2, y: y + one / 2 + high * 0.36, "font-size": high,
      "text-anchor": "middle", fill: "#fff", stroke: "#000", "stroke-width": high / 6,
      "paint-order": "stroke" });
    number.textContent = t + 1;
  });
  const text = value => value.toLocaleString("en"), many = n > 1;
  find("output").textContent = `${size} × ${size}`;
  slider.setAttribute("aria-valuetext", `${size} by ${size} pixels`);
  find("[role=status]").textContent = `${text(n)} patch${many ? "es" : ""} of ${size} × ${size} pixels, with ` +
    `${text(spec.channels * size * size)} values${many ? " each" : ""}, become${many ? "" : "s"} ${text(n)} ` +
    `token${many ? "s" : ""}. With the class token, each attention head has ${text(n + 1)} × ${text(n + 1)} = ${text((n + 1) ** 2)} weights.`;
};
for (const each of [slider, mix, count, choice]) each.oninput = draw;
find(".jg-row").hidden = false;
draw();
