// GPT-2 on the blocks of forward.js: learned positions, GELU's first approximation, a tied head.
// `tests/ch06a/test_gpt2_generation.py` holds it to PyTorch.

const geluTanh = x =>
  0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x * x * x)));

// -> tokens => the scores of what may follow the last of them; it reads the last `most`
const writer = (spec, weights) => {
  const model = transformer({ ...spec, activate: geluTanh }, weights);
  const row = (name, i) => weights[name].subarray(i * spec.width, (i + 1) * spec.width);
  return tokens => {
    const read = tokens.slice(-spec.most);
    const rows = read.map((token, i) =>
      add(row("decoder.embedding.weight", token), row("decoder.position.table.weight", i)));
    const stores = model.blank("decoder"), none = new Set();
    let last;
    for (const x of rows) [last] = model.run("decoder", [x], stores, none, {});
    return linear(weights["decoder.embedding.weight"], null, last);
  };
};
