// BERT with its classifier on the blocks of forward.js, and GELU from masked.js: tokens -> the shares
// of the classes. `tests/ch07/test_occlusion.py` holds it to PyTorch.

// zero: places whose embedded row is zero; real: which places are keys, by default all
const judge = (spec, weights) => {
  const model = transformer({ ...spec, activate: gelu }, weights), here = "encoder.embeddings.";
  const row = (name, i) => weights[here + name].subarray(i * spec.width, (i + 1) * spec.width);
  return (tokens, { zero = new Set(), real = null } = {}) => {
    const rows = tokens.map((token, i) => zero.has(i) ? new Float32Array(spec.width)
      : model.norm(here + "norm", add(row("tokens.weight", token), row("position.table.weight", i))));
    const [first] = model.read(rows, {}, real);
    return softmax(model.project("out", model.project("pooler.dense", first).map(Math.tanh)));
  };
};
