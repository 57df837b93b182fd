// What the reader says and sees. `given`: id, spec (JSON). A wave of 8,000 samples a second is heard anew each time.

const spec = JSON.parse(given.spec), box = document.getElementById(given.id);
const find = what => box.querySelector(what), SVG = "http://www.w3.org/2000/svg";
const make = (tag, within, settings = {}, text = "") => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(settings)) made.setAttribute(name, value);
  made.textContent = text;
  return within.appendChild(made);
};
const percent = share => share > 0.995 ? "over 99%" : share < 0.005 ? "under 1%"
  : Math.floor(100 * share + 0.5) + "%";
const tell = text => { find("[role=status]").textContent = text; };

const prepare = preparer(spec), hear = hearer(spec, cut(spec.shapes, halves(spec.weights)));
const room = spec.wide - spec.left, top0 = 20, high = spec.band * spec.bands;
const strip = top0 + high + spec.time + 24, first = strip + spec.strip + 24;

const picture = rows => {
  const canvas = document.createElement("canvas"), t = rows.length, n = spec.bands;
  canvas.width = t; canvas.height = n;
  const pen = canvas.getContext("2d"), image = pen.createImageData(t, n);
  const all = rows.flatMap(row => [...row]), low = Math.min(...all), range = Math.max(...all) - low || 1;
  const ink = [1, 3, 5].map(i => parseInt("@key".slice(i, i + 2), 16));
  rows.forEach((row, x) => row.forEach((value, j) => {
    image.data.set([...ink, Math.round(255 * (value - low) / range)], 4 * ((n - 1 - j) * t + x));
  }));
  pen.putImageData(image, 0, 0);
  return canvas.toDataURL();
};

const draw = (rows, heard) => {
  const t = rows.length;
  find(".sp-image").setAttribute("href", picture(rows));
  const units = find(".sp-units"), lines = find(".sp-phones"), time = find(".sp-time");
  units.replaceChildren(); lines.replaceChildren(); time.replaceChildren();
  const gap = spec.ticks.find(each => t / each <= 5) ?? spec.ticks.at(-1);
  for (let frame = 0; frame <= t; frame += gap) {
    const x = spec.left + room * frame / t, y = top0 + high;
    make("path", time, { d: `M${x} ${y}v4`, stroke: "currentColor" });
    make("text", time, { x, y: y + 15, "font-size": 12, fill: "currentColor",
      "text-anchor": frame === 0 ? "start" : x > spec.wide - 14 ? "end" : "middle" }, `${frame / 100} s`);
  }
  heard.units.forEach((u, i) => make("rect", units, { x: spec.left + room * i / t, y: strip,
    width: room / t + 0.2, height: spec.strip, fill: `hsl(${u * 137 % 360} 60% 55%)` }));
  const peaks = spec.phones.map((_, p) => {
    const column = heard.shares.map(row => row[p]), share = Math.max(...column);
    return { p, share, at: column.indexOf(share) };
  }).slice(1).filter(peak => peak.share >= spec.sure).sort((a, b) => b.share - a.share).slice(0, spec.shown);
  peaks.sort((a, b) => a.at - b.at || a.p - b.p).forEach(({ p }, k) => {
    const y = first + spec.row * k;
    make("text", lines, { x: 2, y: y + 12, "font-size": 13, fill: "currentColor" }, spec.phones[p]);
    heard.shares.forEach((row, i) => make("rect", lines, { x: spec.left + room * 2 * i / t, y: y + 1,
      width: Math.min(2, t - 2 * i) * room / t, height: spec.row - 2, fill: "@output", "fill-opacity": row[p].toFixed(2) }));
  });
};

const say = heard => {
  const order = [...heard.digits.keys()].sort((a, b) => heard.digits[b] - heard.digits[a]);
  const best = heard.shares.map(row => row.indexOf(Math.max(...row)));
  const sounds = best.filter((p, i) => p && p !== best[i - 1]).map(p => spec.phones[p]).join(" ");
  [...find(".sp-bars").children].forEach((bar, i) => {
    bar.classList.toggle("sp-best", i === order[0]);
    bar.querySelector("i").style.width = `${100 * heard.digits[i]}%`;
    bar.querySelector(".sp-share").textContent = percent(heard.digits[i]);
  });
  tell(`It hears ${spec.names[order[0]]}, ${percent(heard.digits[order[0]])}; next ${spec.names[order[1]]}, ` +
    `${percent(heard.digits[order[1]])}. Its sounds: ${sounds || "none is surer than silence"}.`);
};

// A wave of 8,000 samples a second -> what is shown; or why not.
const listen = wave => {
  if (wave.length < spec.rate / 10) return tell("There is nothing to hear: shorter than a tenth of a second.");
  if (!wave.every(Number.isFinite)) return tell("The recording has samples that are no numbers: record it again.");
  if (!wave.some(x => Math.abs(x) > 1e-4)) return tell("The recording is silent: is the microphone switched on?");
  const { rows } = prepare(wave), heard = hear(rows);
  draw(rows, heard); say(heard);
};

// --- where waves come from -----------------------------------------------------------------------

const sound = find("audio");
const samplesOf = data => {  // 16 bits after a head of 44 bytes
  const whole = new Int16Array(data.buffer, 44, (data.length - 44) >> 1);
  return Float32Array.from(whole, x => x / 32768);
};
const played = blob => {
  if (sound.src.startsWith("blob:")) URL.revokeObjectURL(sound.src);
  sound.src = URL.createObjectURL(blob);
};
const decoded = async (blob, what) => {
  const context = new (window.AudioContext || window.webkitAudioContext)();
  try {
    const buffer = await context.decodeAudioData(await blob.arrayBuffer());
    if (buffer.duration > spec.longest) return tell(`${what} lasts ${Math.round(buffer.duration)} s, ` +
      `at most ${spec.longest}: cut out the digit.`);
    const channels = Array.from({ length: buffer.numberOfChannels }, (_, c) => buffer.getChannelData(c));
    const mono = channels[0].map((_, i) => channels.reduce((sum, each) => sum + each[i], 0) / channels.length);
    played(blob);
    listen(resampled(mono, buffer.sampleRate, spec.rate));
  } catch {
    tell(`${what} is no sound that this browser can read. A WAV file works everywhere.`);
  } finally { context.close?.(); }
};
const chosen = find(".sp-file input");
chosen.onchange = () => { if (chosen.files[0]) decoded(chosen.files[0], chosen.files[0].name); chosen.value = ""; };

const speak = find(".sp-speak");
let recorder = null;
speak.onclick = async () => {
  if (recorder) return recorder.stop();
  try {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    recorder = new MediaRecorder(stream);
    const parts = [], over = setTimeout(() => recorder?.stop(), 2500);
    recorder.ondataavailable = event => parts.push(event.data);
    recorder.onstop = () => {
      clearTimeout(over);
      stream.getTracks().forEach(track => track.stop());
      const kind = recorder.mimeType;
      recorder = null; speak.textContent = "speak a digit";
      decoded(new Blob(parts, { type: kind }), "The recording");
    };
    recorder.start();
    speak.textContent = "stop"; tell("Say one digit, zero to nine. It listens for two seconds and a half.");
  } catch (error) {
    recorder = null;
    tell(`The microphone cannot be used here (${error?.name ?? "none"}). Open a file, or take a sample.`);
  }
};
find(".sp-samples").querySelectorAll("button").forEach((button, i) => {
  button.onclick = () => {
    const data = bytes(spec.samples[i]);
    played(new Blob([data], { type: "audio/wav" }));
    listen(samplesOf(data));
  };
});
box.querySelectorAll("[hidden]").forEach(part => { part.hidden = false; });
box.classList.add("sp-live");
find(".sp-samples button").click();
