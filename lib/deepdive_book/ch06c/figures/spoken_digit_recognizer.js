// What the reader says and sees. A wave of 8,000 samples a second is heard each time it is drawn.
const percent = share => share > 0.995 ? "over 99%" : share < 0.005 ? "under 1%"
  : Math.floor(100 * share + 0.5) + "%";
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

const drawRows = (rows, heard) => {
  const t = rows.length, gap = spec.ticks.find(each => t / each <= 5) ?? spec.ticks.at(-1);
  find(".speech-image").setAttribute("href", picture(rows));
  find(".speech-time").replaceChildren(...Array.from({ length: Math.floor(t / gap) + 1 }, (_, k) => {
    const x = spec.left + room * k * gap / t, y = top0 + high;
    return [make("path", { d: `M${x} ${y}v4`, stroke: "currentColor" }),
      make("text", { x, y: y + 15, "font-size": 12, fill: "currentColor",
        "text-anchor": k === 0 ? "start" : x > spec.wide - 14 ? "end" : "middle" }, `${k * gap / 100} s`)];
  }).flat());
  find(".speech-units").replaceChildren(...heard.units.map((unit, i) => make("rect", {
    x: spec.left + room * i / t, y: strip, width: room / t + 0.2, height: spec.strip,
    fill: `hsl(${unit * 137 % 360} 60% 55%)` })));
  const peaks = spec.phones.map((_, p) => {
    const column = heard.shares.map(row => row[p]), share = Math.max(...column);
    return { p, share, at: column.indexOf(share) };
  }).slice(1).filter(peak => peak.share >= spec.sure).sort((a, b) => b.share - a.share).slice(0, spec.shown);
  find(".speech-phones").replaceChildren(...peaks.sort((a, b) => a.at - b.at || a.p - b.p).flatMap(({ p }, k) => {
    const y = first + spec.row * k;
    return [make("text", { x: 2, y: y + 12, "font-size": 13, fill: "currentColor" }, spec.phones[p]),
      ...heard.shares.map((row, i) => make("rect", { x: spec.left + room * 2 * i / t, y: y + 1,
        width: Math.min(2, t - 2 * i) * room / t, height: spec.row - 2, fill: colors.output,
        "fill-opacity": row[p].toFixed(2) }))];
  }));
  all(".speech-bars li").forEach((bar, i) => {
    bar.classList.toggle("speech-best", heard.digits[i] === Math.max(...heard.digits));
    bar.querySelector("i").style.width = `${100 * heard.digits[i]}%`;
    bar.querySelector(".speech-share").textContent = percent(heard.digits[i]);
  });
};
const describe = ({ digits, shares }) => {
  const [one, two] = [...digits.keys()].sort((a, b) => digits[b] - digits[a]);
  const best = shares.map(row => row.indexOf(Math.max(...row)));
  const sounds = best.filter((p, i) => p && p !== best[i - 1]).map(p => spec.phones[p]).join(" ");
  return `It hears ${spec.names[one]}, ${percent(digits[one])}; next ${spec.names[two]}, ` +
    `${percent(digits[two])}. Its sounds: ${sounds || "none is surer than silence"}.`;
};
const problem = wave =>
  wave.length < spec.rate / 10 ? "There is nothing to hear: shorter than a tenth of a second."
    : !wave.every(Number.isFinite) ? "The recording has samples that are no numbers: record it again."
      : !wave.some(x => Math.abs(x) > 1e-4) ? "The recording is silent: is the microphone switched on?" : "";
const sampled = data => {  // 16 bits after a head of 44 bytes
  const whole = new Int16Array(data.buffer, 44, (data.length - 44) >> 1);
  return Float32Array.from(whole, x => x / 32768);
};
const player = find("audio");
const draw = () => {
  const own = state.own, sample = spec.samples[state.sample];
  const source = own?.source ?? `data:audio/wav;base64,${sample}`;
  if (player.src !== source) player.src = source;
  const wave = own?.wave ?? sampled(bytes(sample)), trouble = problem(wave);
  if (trouble) return trouble;
  const { rows } = prepare(wave), heard = hear(rows);
  drawRows(rows, heard);
  return describe(heard);
};

// --- where waves come from -----------------------------------------------------------------------

const decoded = async (blob, what) => {
  const context = new (window.AudioContext || window.webkitAudioContext)();
  try {
    const buffer = await context.decodeAudioData(await blob.arrayBuffer());
    if (buffer.duration > spec.longest) return announce(`${what} lasts ${Math.round(buffer.duration)} s, ` +
      `at most ${spec.longest}: cut out the digit.`);
    const channels = Array.from({ length: buffer.numberOfChannels }, (_, c) => buffer.getChannelData(c));
    const mono = channels[0].map((_, i) => channels.reduce((sum, each) => sum + each[i], 0) / channels.length);
    if (state.own) URL.revokeObjectURL(state.own.source);
    state.own = { source: URL.createObjectURL(blob), wave: resampled(mono, buffer.sampleRate, spec.rate) };
    update();
  } catch {
    announce(`${what} is no sound that this browser can read. A WAV file works everywhere.`);
  } finally { context.close?.(); }
};
const chosen = find("[type=file]");
chosen.onchange = () => { if (chosen.files[0]) decoded(chosen.files[0], chosen.files[0].name); chosen.value = ""; };

const speak = find("[data-control=speak]");
let recorder = null;
const record = async () => {
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
    speak.textContent = "stop"; announce("Say one digit, zero to nine. It listens for two seconds and a half.");
  } catch (error) {
    recorder = null;
    announce(`The microphone cannot be used here (${error?.name ?? "none"}). Open a file, or take a sample.`);
  }
};
on("speak", record);
on("sample", () => { state.own = null; });
