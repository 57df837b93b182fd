// BERT's masked model on the blocks of forward.js: learned positions, GELU, and the head that fills
// gaps, whose matrix is the table of tokens. `tests/ch03/test_masked_word.py` holds it to PyTorch.

// erf after Abramowitz and Stegun 1964, 7.1.26: off by 1.5e-7 at most
const erf = x => {
  const t = 1 / (1 + 0.3275911 * Math.abs(x));
  const sum = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t
    + 0.254829592) * t;
  return Math.sign(x) * (1 - sum * Math.exp(-x * x));
};
const gelu = x => 0.5 * x * (1 + erf(x / Math.SQRT2));

// -> (tokens, place) => the shares of all tokens at that place
const filler = (spec, weights) => {
  const model = transformer({ ...spec, activate: gelu }, weights);
  const row = (name, i) => weights[name].subarray(i * spec.width, (i + 1) * spec.width);
  return (tokens, place) => {
    const state = model.read(tokens.map((token, i) => model.norm("embeddings.norm",
      add(row("embeddings.tokens.weight", token), row("embeddings.position.table.weight", i)))))[place];
    const x = model.norm("masked.norm", model.project("masked.dense", state).map(gelu));
    return softmax(linear(weights["embeddings.tokens.weight"], weights["masked.head.bias"], x));
  };
};
