const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const all = box.querySelector(".ss-all"), choice = box.querySelector("select");
const told = box.querySelector("[role=status]"), sound = box.querySelector("audio");
const find = name => box.querySelector(".ss-" + name);
const { wide, wave, mel, low, half, length, step, rate, bins, mels } = spec;
const tops = [20, 42 + wave, 84 + wave + mel], right = wide - half;
const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
const kept = spec.recordings.map(each => ({ ...each, samples: new Int8Array(bytes(each.samples).buffer),
  power: bytes(each.power), bands: bytes(each.bands) }));
let now = kept[0], at = 0;
const moments = () => now.power.length / bins;
const path = points => "M" + points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
const show = () => {
  const x = wide * at * step / now.samples.length, w = wide * length / now.samples.length;
  for (const name of ["window", "slice"]) { find(name).setAttribute("x", x); find(name).setAttribute("width", w); }
  const some = [...now.samples.subarray(at * step, at * step + length)];
  const height = Math.max(1, ...some.map(Math.abs));
  find("zoom").setAttribute("d", path(some.map((s, i) =>
    [half * i / (length - 1), tops[2] + low / 2 * (1 - 0.95 * s / height)])));
  const power = [...now.power.subarray(at * bins, (at + 1) * bins)];
  const bands = [...now.bands.subarray(at * mels, (at + 1) * mels)];
  find("power").setAttribute("d", path(power.map((p, k) =>
    [right + half * k / (bins - 1), tops[2] + low * (1 - p / 255)])));
  [...find("bars").children].forEach((bar, j) => {
    bar.setAttribute("y", tops[2] + low * (1 - bands[j] / 255));
    bar.setAttribute("height", low * bands[j] / 255);
  });
  const begin = Math.round(1000 * at * step / rate);
  const band = bands.indexOf(Math.max(...bands)), top = power.indexOf(Math.max(...power));
  told.textContent = Math.max(...power) === 0
    ? `From ${begin} ms on, 25 ms: nothing that is loud enough to be drawn.`
    : `From ${begin} ms on, 25 ms: ${length} numbers of the wave, ${mels} mel bands. Loudest at ` +
      `${Math.round(top * rate / (2 * (bins - 1)))} Hz; the fullest band is number ${band + 1}, ` +
      `from ${spec.edges[band]} to ${spec.edges[band + 2]} Hz.`;
};
const go = to => { at = Math.max(0, Math.min(moments() - 1, to)); show(); };
const choose = () => {
  now = kept[+choice.value];
  const n = Math.min(wide, now.samples.length), middle = tops[0] + wave / 2;
  let d = "";
  for (let i = 0; i < n; i++) {
    const piece = now.samples.subarray(Math.floor(i * now.samples.length / n), Math.floor((i + 1) * now.samples.length / n));
    d += `M${(wide * i / n).toFixed(1)} ${(middle - wave / 254 * Math.max(...piece)).toFixed(1)}` +
      `V${(middle - wave / 254 * Math.min(...piece) + 0.5).toFixed(1)}`;
  }
  find("wave").setAttribute("d", d);
  find("image").setAttribute("href", "data:image/png;base64," + now.image);
  find("image").setAttribute("width", wide * ((moments() - 1) * step + length) / now.samples.length);
  const seconds = now.samples.length / rate, gap = seconds < 1 ? 0.1 : 0.5;
  find("times").replaceChildren(...Array.from({ length: Math.floor((seconds - 0.03) / gap) }, (_, i) => {
    const tick = document.createElementNS("http://www.w3.org/2000/svg", "text");
    tick.setAttribute("x", (wide * gap * (i + 1) / seconds).toFixed(1));
    tick.setAttribute("y", tops[1] + mel + 13);
    tick.textContent = `${(gap * (i + 1)).toFixed(1)} s`;
    return tick;
  }));
  sound.src = now.sound;
  go(Math.round(spec.start * (moments() - 1)));
};
const from = event => {
  const { x } = new DOMPoint(event.clientX, event.clientY).matrixTransform(all.getScreenCTM().inverse());
  go(Math.round((x / wide * now.samples.length - length / 2) / step));
};
let held = false;
all.addEventListener("pointerdown", event => { held = true; all.setPointerCapture(event.pointerId); from(event); });
all.addEventListener("pointermove", event => { if (held || event.pointerType === "mouse") from(event); });
for (const end of ["pointerup", "pointercancel"]) all.addEventListener(end, () => { held = false; });
all.addEventListener("keydown", event => {
  const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
  if (by) { go(at + by); event.preventDefault(); }
});
sound.addEventListener("timeupdate", () => {
  if (!sound.paused) go(Math.round((sound.currentTime * rate - length / 2) / step));
});
choice.onchange = choose;
box.querySelector("label").hidden = false;
box.classList.add("ss-live");
choose();
