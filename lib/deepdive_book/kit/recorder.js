const box = document.getElementById(given.id), find = what => box.querySelector(what);
const told = find("[role=status]"), button = find("button"), sound = find("audio"), link = find("a");
const tell = text => { told.textContent = text; };

// Samples from -1 to 1 -> a WAV file of one channel in 16 bits.
const wavOf = (samples, rate) => {
  const view = new DataView(new ArrayBuffer(44 + 2 * samples.length));
  const text = (at, letters) => [...letters].forEach((c, i) => view.setUint8(at + i, c.charCodeAt(0)));
  text(0, "RIFF"); view.setUint32(4, 36 + 2 * samples.length, true); text(8, "WAVEfmt ");
  [[16, 16], [24, rate], [28, 2 * rate], [40, 2 * samples.length]].forEach(([at, n]) => view.setUint32(at, n, true));
  [[20, 1], [22, 1], [32, 2], [34, 16]].forEach(([at, n]) => view.setUint16(at, n, true));
  text(36, "data");
  samples.forEach((x, i) => view.setInt16(44 + 2 * i, Math.round(32767 * Math.max(-1, Math.min(1, x))), true));
  return new Blob([view], { type: "audio/wav" });
};

const kept = async blob => {
  const context = new AudioContext();
  try {
    const heard = await context.decodeAudioData(await blob.arrayBuffer());
    // Drawn anew by the browser at the rate that is asked for, all channels as one.
    const other = new OfflineAudioContext(1, Math.ceil(heard.duration * given.rate), given.rate);
    const source = other.createBufferSource();
    source.buffer = heard; source.connect(other.destination); source.start();
    const samples = (await other.startRendering()).getChannelData(0);
    const address = URL.createObjectURL(wavOf(samples, given.rate));
    sound.src = link.href = address;
    sound.hidden = link.hidden = false;
    const loud = samples.some(x => Math.abs(x) > 1e-3);
    tell(`${(samples.length / given.rate).toFixed(1)} seconds` +
      (loud ? ". Listen, save it, and name the file." : ", and all of it is silent: is the microphone switched on?"));
  } catch { tell("The browser cannot read what it has recorded: use another recorder."); } finally { context.close(); }
};

let recorder = null;
button.onclick = async () => {
  if (recorder) return recorder.stop();
  try {
    const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
    recorder = new MediaRecorder(stream);
    const parts = [], over = setTimeout(() => recorder?.stop(), 1000 * given.longest);
    recorder.ondataavailable = event => parts.push(event.data);
    recorder.onstop = () => {
      clearTimeout(over);
      stream.getTracks().forEach(track => track.stop());
      const kind = recorder.mimeType;
      recorder = null; button.textContent = "record";
      kept(new Blob(parts, { type: kind }));
    };
    recorder.start();
    button.textContent = "stop"; tell(`It records, for ${given.longest} seconds at most.`);
  } catch (error) {
    recorder = null;
    tell(`The microphone cannot be used here (${error?.name ?? "none"}): use any other recorder.`);
  }
};
button.hidden = false;
