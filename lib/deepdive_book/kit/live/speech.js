// The recogniser of spoken digits on the blocks of forward.js: resampling, log-mel features, two
// convolutions, the encoder, CTC. `tests/ch06c/test_spoken_digit_recognizer.py` holds it to PyTorch.

// A wave at another rate: each sample is a sum over the old ones, weighed by a windowed sinc that
// lets pass what half of the lower rate can hold.
const resampled = (wave, given, wanted) => {
  if (given === wanted) return Float32Array.from(wave);
  const ratio = wanted / given, pass = Math.min(1, ratio) * 0.95, reach = Math.ceil(16 / Math.min(1, ratio));
  return Float32Array.from({ length: Math.ceil(wave.length * ratio) }, (_, i) => {
    const place = i / ratio, from = Math.max(0, Math.ceil(place - reach));
    let sum = 0;
    for (let j = from; j <= Math.min(wave.length - 1, place + reach); j++) {
      const x = j - place, fade = 0.5 + 0.5 * Math.cos(Math.PI * x / reach);
      sum += wave[j] * fade * (x ? Math.sin(Math.PI * pass * x) / (Math.PI * x) : pass);
    }
    return sum;
  });
};

const toMel = f => 2595 * Math.log10(1 + f / 700), toHertz = m => 700 * (10 ** (m / 2595) - 1);

// spec: rate, bands, low, floor -> wave => log-mel frames of 25 ms, one each 10 ms
const ear = ({ rate, bands, low }) => {
  const length = rate / 40, step = rate / 100, nFft = 2 ** Math.ceil(Math.log2(length)), bins = nFft / 2 + 1;
  const window = Array.from({ length }, (_, n) => (1 - Math.cos(2 * Math.PI * n / length)) / 2);
  const cosines = Float64Array.from({ length: nFft }, (_, n) => Math.cos(2 * Math.PI * n / nFft));
  const sines = Float64Array.from({ length: nFft }, (_, n) => Math.sin(2 * Math.PI * n / nFft));
  const from = toMel(low), to = toMel(rate / 2);
  const edges = Array.from({ length: bands + 2 }, (_, j) => toHertz(from + (to - from) * j / (bands + 1)));
  const filters = Array.from({ length: bands }, (_, j) => Array.from({ length: bins }, (_, k) => {
    const f = k * rate / nFft;
    return Math.max(0, Math.min((f - edges[j]) / (edges[j + 1] - edges[j]), (edges[j + 2] - f) / (edges[j + 2] - edges[j + 1])));
  }));
  return wave => Array.from({ length: Math.max(0, 1 + Math.floor((wave.length - length) / step)) }, (_, t) => {
    const piece = window.map((h, n) => h * wave[t * step + n]);
    const power = Array.from({ length: bins }, (_, k) => {
      let re = 0, im = 0;
      for (let n = 0; n < length; n++) {
        const at = (n * k) % nFft;
        re += piece[n] * cosines[at]; im += piece[n] * sines[at];
      }
      return re * re + im * im;
    });
    return filters.map(filter =>
      Math.log(Math.max(1e-10, filter.reduce((sum, weight, k) => sum + weight * power[k], 0))));
  });
};

// Which frames count: `stretch` of hearing.py.
const stretch = (mel, { most, around, quiet }) => {
  const power = mel.map(row => row.reduce((sum, x) => sum + Math.exp(x), 0));
  const width = Math.min(most, power.length);
  let best = 0, begin = 0, sum = 0;
  for (let t = 0; t < power.length; t++) {
    sum += power[t] - (t >= width ? power[t - width] : 0);
    if (t >= width - 1 && (t === width - 1 || sum > best * (1 + 1e-12))) { best = sum; begin = t - width + 1; }
  }
  const loudest = Math.max(...power), loud = [];
  for (let t = begin; t < begin + width; t++) if (power[t] > loudest * Math.exp(-quiet)) loud.push(t);
  return [Math.max(begin, loud[0] - around), Math.min(begin + width, loud.at(-1) + 1 + around)];
};

// What the model gets: `prepared` of hearing.py.
const preparer = spec => {
  const listen = ear(spec);
  return wave => {
    const mel = listen(wave), [first, last] = stretch(mel, spec);
    const floor = Math.max(...mel.map(row => Math.max(...row))) - spec.floor;
    const kept = mel.slice(first, last).map(row => row.map(x => Math.max(x, floor)));
    const means = kept[0].map((_, j) => kept.reduce((sum, row) => sum + row[j], 0) / kept.length);
    return { first, last, mel, rows: kept.map(row => Float32Array.from(row, (x, j) => (x - means[j]) / 2)) };
  };
};

const neighbours = (rows, step) => Array.from({ length: Math.ceil(rows.length / step) }, (_, i) => {
  const n = rows[0].length, wide = new Float32Array(5 * n);
  for (let k = -2; k <= 2; k++) if (rows[i * step + k]) wide.set(rows[i * step + k], (k + 2) * n);
  return wide;
});

const logSum = values => {
  const top = Math.max(...values);
  return top === -Infinity ? top : top + Math.log(values.reduce((sum, v) => sum + Math.exp(v - top), 0));
};

// log p(text) over all its paths: the lattice of deepdive.training.objectives.ctc, blank 0.
const textScore = (logs, text) => {
  const states = [0, ...text.flatMap(symbol => [symbol, 0])];
  let alpha = states.map((z, s) => s < 2 ? logs[0][z] : -Infinity);
  for (let t = 1; t < logs.length; t++) alpha = states.map((z, s) => logs[t][z] + logSum([
    alpha[s], s > 0 ? alpha[s - 1] : -Infinity,
    s > 1 && z && z !== states[s - 2] ? alpha[s - 2] : -Infinity]));
  return logSum(alpha.slice(-2));
};

// spec: that of `transformer`, and targets -> rows => { logits, shares, digits, units }
const hearer = (spec, weights) => {
  const model = transformer({ ...spec, activate: gelu }, weights), width = spec.bands;
  const conv = (name, rows, step) => neighbours(rows, step).map(x => model.project(name, x).map(gelu));
  return rows => {
    const states = model.read(conv("second", conv("first", rows, 1), 2));
    const logits = states.map(x => model.project("out", x)), shares = logits.map(x => softmax(x));
    const logs = shares.map(row => Array.from(row, Math.log));
    const digits = softmax(spec.targets.map(text => Math.max(-1e30, textScore(logs, text))));
    const units = rows.map(row => {
      let best = 0, least = Infinity;
      for (let u = 0; u < weights.units.length / width; u++) {
        let far = 0;
        for (let j = 0; j < width; j++) far += (row[j] - weights.units[u * width + j]) ** 2;
        if (far < least) { least = far; best = u; }
      }
      return best;
    });
    return { logits, shares, digits, units };
  };
};
