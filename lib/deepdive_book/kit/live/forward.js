// The Transformer's forward pass as deepdive.models.transformer.transformer defines it, one row at a time: the
// newest row of the decoder asks, and the keys and values of earlier rows are kept. Weights come as
// one flat array, cut by given names and shapes; `tests/kit/test_live.py` holds it to PyTorch.

const bytes = text => Uint8Array.from(atob(text), letter => letter.charCodeAt(0));

// Half precision, bit by bit: one sign, five exponent, ten fraction.
const halves = text => Float32Array.from(new Uint16Array(bytes(text).buffer), bits => {
  const sign = bits >> 15 ? -1 : 1, power = (bits >> 10) & 31, fraction = bits & 1023;
  return sign * (power ? 2 ** (power - 15) * (1 + fraction / 1024) : 2 ** -24 * fraction);
});

// One byte a weight, -127 to 127, times one scale a row.
const quantised = (shapes, codes, scales) => {
  const whole = new Int8Array(bytes(codes).buffer), scale = halves(scales);
  const out = new Float32Array(whole.length);
  let at = 0, row = 0;
  for (const [, rows, columns] of shapes)
    for (let i = 0; i < rows; i++, row++)
      for (let j = 0; j < columns; j++, at++) out[at] = whole[at] * scale[row];
  return out;
};

const cut = (shapes, flat) => {
  const weights = {};
  let at = 0;
  for (const [name, rows, columns] of shapes)
    weights[name] = flat.subarray(at, at += rows * columns);
  return weights;
};

const linear = (weight, bias, x) => {
  const out = new Float32Array(weight.length / x.length);
  for (let i = 0, at = 0; i < out.length; i++) {
    let sum = bias ? bias[i] : 0;
    for (let j = 0; j < x.length; j++, at++) sum += weight[at] * x[j];
    out[i] = sum;
  }
  return out;
};

const add = (x, y) => x.map((value, i) => value + y[i]);

const softmax = (scores, temperature = 1) => {
  const top = Math.max(...scores), powers = scores.map(s => Math.exp((s - top) / temperature));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map(power => power / sum);
};

// spec: width, heads, eps, post (norm after the sum), for each side its layers and scale, and the
// activation, by default ReLU
const transformer = (spec, weights) => {
  const project = (name, x) => linear(weights[name + ".weight"], weights[name + ".bias"], x);

  const norm = (name, x) => {
    const weight = weights[name + ".weight"], bias = weights[name + ".bias"], d = x.length;
    const mean = x.reduce((a, b) => a + b, 0) / d;
    const spread = Math.sqrt(x.reduce((a, b) => a + (b - mean) ** 2, 0) / d + spec.eps);
    return x.map((value, i) => (value - mean) / spread * weight[i] + bias[i]);
  };

  const embed = (side, token, position) => {
    const table = weights[side + ".embedding.weight"], d = spec.width;
    return table.slice(token * d, (token + 1) * d).map((value, i) => {
      const angle = position * 10000 ** (-2 * (i >> 1) / d);
      return spec.scale[side] * value + (i % 2 ? Math.cos(angle) : Math.sin(angle));
    });
  };

  // What later rows will look at: keys and values of these rows, kept.
  const keep = (name, rows, store) => {
    for (const x of rows) {
      const both = project(name + ".kv", x), d = both.length / 2;
      store.k.push(both.subarray(0, d));
      store.v.push(both.subarray(d));
    }
    return store;
  };

  // One row asks: every head weighs the kept rows and mixes their values. A head in `off` adds 0.
  // What `real` calls false is no key.
  const attend = (name, x, { k, v, real }, off, maps) => {
    const q = project(name + ".q", x), mixed = new Float32Array(q.length);
    const d = q.length / spec.heads;
    for (let h = 0; h < spec.heads; h++) {
      const scores = Float32Array.from(k, (key, j) => {
        if (real && !real[j]) return -Infinity;
        let sum = 0;
        for (let i = h * d; i < (h + 1) * d; i++) sum += q[i] * key[i];
        return sum / Math.sqrt(d);
      });
      const shares = softmax(scores), head = name + "/" + h;
      (maps[head] ||= []).push(shares);
      if (off.has(head)) continue;
      for (let j = 0; j < v.length; j++)
        for (let i = h * d; i < (h + 1) * d; i++) mixed[i] += shares[j] * v[j][i];
    }
    return project(name + ".out", mixed);
  };

  const activate = spec.activate ?? (value => Math.max(0, value));
  const think = (name, x) =>
    project(name + ".out", project(name + ".inner", x).map(value => activate(value)));

  // A sublayer on the residual stream: the norm stands before it, or after the sum.
  const joined = (name, rows, sublayer) => {
    const outs = sublayer(spec.post ? rows : rows.map(x => norm(name + "_residual.norm", x)));
    const sums = rows.map((x, i) => add(x, outs[i]));
    return spec.post ? sums.map(x => norm(name + "_residual.norm", x)) : sums;
  };

  const run = (side, rows, stores, off, maps) => {
    for (let layer = 0; layer < spec.layers[side]; layer++) {
      const block = side + ".stack.blocks." + layer, store = stores[layer];
      rows = joined(block + ".attn", rows, inputs => {
        keep(block + ".attn", inputs, store);
        return inputs.map(x => attend(block + ".attn", x, store, off, maps));
      });
      if (store.memory) rows = joined(block + ".cross", rows, inputs =>
        inputs.map(x => attend(block + ".cross", x, store.memory, off, maps)));
      rows = joined(block + ".ff", rows, inputs => inputs.map(x => think(block + ".ff", x)));
    }
    return spec.post ? rows : rows.map(x => norm(side + ".stack.norm", x));
  };
  const blank = side => Array.from({ length: spec.layers[side] }, () => ({ k: [], v: [] }));

  // Source tokens -> what `step` continues: the memory's keys and values in each layer.
  const begin = (tokens, off = new Set()) => {
    const maps = {}, stores = blank("decoder");
    const rows = tokens.map((token, i) => embed("encoder", token, i));
    const memory = run("encoder", rows, blank("encoder"), off, maps);
    stores.forEach((store, layer) => {
      store.memory = keep(`decoder.stack.blocks.${layer}.cross`, memory, { k: [], v: [] });
    });
    return { stores, off, maps, length: 0 };
  };

  // The next target token -> scores of what may follow it.
  const step = (token, state) => {
    const rows = [embed("decoder", token, state.length++)];
    const [x] = run("decoder", rows, state.stores, state.off, state.maps);
    return linear(weights["decoder.embedding.weight"], null, x);
  };

  // An encoder alone: its rows, embedded elsewhere -> their states; its weights go into `maps`.
  const read = (rows, maps = {}, real = null) => run("encoder", rows,
    blank("encoder").map(store => ({ ...store, real })), new Set(), maps);

  return { begin, step, read, run, blank, norm, project };
};

// Numbers from 0 to 1 that a seed fixes (mulberry32), so that a draw can be had again.
const randoms = seed => () => {
  seed = (seed + 0x6D2B79F5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), seed | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
};

// Writes until the end token: the most probable token, or with `draw` one by its probability, and
// none of `never` (padding, the begin token, the unknown one).
const write = (model, source, { bos, eos, never, most, off, temperature = 1, draw = null }) => {
  const state = model.begin(source, off), tokens = [], shares = [];
  for (let token = bos; tokens.length < most && token !== eos; tokens.push(token)) {
    const scores = model.step(token, state);
    never.forEach(t => { scores[t] = -Infinity; });
    const next = softmax(scores, temperature);
    shares.push(next);
    token = next.indexOf(Math.max(...next));
    if (draw) {
      let left = draw();
      const drawn = next.findIndex(share => (left -= share) < 0);
      if (drawn >= 0) token = drawn;
    }
  }
  return { tokens, shares, maps: state.maps };
};
