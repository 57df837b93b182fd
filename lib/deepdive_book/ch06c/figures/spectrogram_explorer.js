const { wide, wave, mel, low, half, length, step, rate, bins, mels } = spec;
const tops = [20, 42 + wave, 84 + wave + mel], right = wide - half, player = find("audio");
const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
const recordings = spec.recordings.map(each => ({ ...each, power: bytes(each.power),
  bands: bytes(each.bands), samples: new Int8Array(bytes(each.samples).buffer) }));
const current = () => recordings[state.recording], frames = () => current().power.length / bins;
const path = points => "M" + points.map(([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`).join("L");
const describe = (power, bands) => {
  const begin = Math.round(1000 * state.at * step / rate), loudest = Math.max(...power);
  const band = bands.indexOf(Math.max(...bands)), top = power.indexOf(loudest);
  return loudest === 0 ? `From ${begin} ms on, 25 ms: nothing that is loud enough to be drawn.`
    : `From ${begin} ms on, 25 ms: ${length} numbers of the wave, ${mels} mel bands. Loudest at ` +
      `${Math.round(top * rate / (2 * (bins - 1)))} Hz; the fullest band is number ${band + 1}, ` +
      `from ${spec.edges[band]} to ${spec.edges[band + 2]} Hz.`;
};
const envelope = samples => {
  const columns = Math.min(wide, samples.length), middle = tops[0] + wave / 2;
  return Array.from({ length: columns }, (_, i) => {
    const [from, to] = [i, i + 1].map(k => Math.floor(k * samples.length / columns));
    const piece = samples.subarray(from, to), y = value => middle - wave / 254 * value;
    return `M${(wide * i / columns).toFixed(1)} ${y(Math.max(...piece)).toFixed(1)}` +
      `V${(y(Math.min(...piece)) + 0.5).toFixed(1)}`;
  }).join("");
};
let shown;
const drawRecording = ({ samples, image, sound }) => {
  const seconds = samples.length / rate, gap = seconds < 1 ? 0.1 : 0.5;
  set(".spectrum-wave", [{ d: envelope(samples) }]);
  set(".spectrum-image", [{ href: `data:image/png;base64,${image}`,
    width: wide * ((frames() - 1) * step + length) / samples.length }]);
  find(".spectrum-times").replaceChildren(...Array.from({ length: Math.floor((seconds - 0.03) / gap) },
    (_, i) => make("text", { x: wide * gap * (i + 1) / seconds, y: tops[1] + mel + 13 },
      `${(gap * (i + 1)).toFixed(1)} s`)));
  if (player.src !== sound) player.src = sound;
};
const draw = () => {
  const { at } = state, { samples, power, bands } = current();
  if (shown !== state.recording) drawRecording(current());
  shown = state.recording;
  const box = { x: wide * at * step / samples.length, width: wide * length / samples.length };
  set(".spectrum-window", [box, box]);
  const some = [...samples.subarray(at * step, at * step + length)];
  const height = Math.max(1, ...some.map(Math.abs));
  set(".spectrum-slice", [{ d: path(some.map((s, i) =>
    [half * i / (length - 1), tops[2] + low / 2 * (1 - 0.95 * s / height)])) }]);
  const now = [...power.subarray(at * bins, (at + 1) * bins)];
  const full = [...bands.subarray(at * mels, (at + 1) * mels)];
  set(".spectrum-power", [{ d: path(now.map((p, k) =>
    [right + half * k / (bins - 1), tops[2] + low * (1 - p / 255)])) }]);
  set(".spectrum-bars rect", full.map(share => ({ y: tops[2] + low * (1 - share / 255),
    height: low * share / 255 })));
  return describe(now, full);
};
const go = to => { state.at = clamp(to, frames() - 1); update(); };
on("recording", () => { state.at = Math.round(spec.start * (frames() - 1)); });
onArrows(drawing, right => { state.at = clamp(state.at + right, frames() - 1); });
const follow = event => {
  const { x } = new DOMPoint(event.clientX, 0).matrixTransform(find("svg").getScreenCTM().inverse());
  go(Math.round((x / wide * current().samples.length - length / 2) / step));
};
drawing.addEventListener("pointerdown", event => { drawing.setPointerCapture(event.pointerId); follow(event); });
drawing.addEventListener("pointermove", event => {
  if (event.pointerType === "mouse" || drawing.hasPointerCapture(event.pointerId)) follow(event);
});
player.addEventListener("timeupdate", () => {
  if (!player.paused) go(Math.round((player.currentTime * rate - length / 2) / step));
});
