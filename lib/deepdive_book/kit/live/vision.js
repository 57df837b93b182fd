// ViT on the blocks of forward.js: a row a patch, a special row before them, learned positions; and
// attention rollout. `tests/ch06b/test_drawing.py` holds both to PyTorch.

// A_l = (mean over heads of W + I) / 2; R_0 = I, R_l = A_l R_(l-1): -> R_L
const rollout = layers => layers.reduce((rolled, look) => look.map((row, t) => {
  const mixed = rolled[t].map(share => share / 2);
  row.forEach((share, s) => rolled[s].forEach((from, i) => { mixed[i] += share / 2 * from; }));
  return mixed;
}), layers[0].map((_, t) => layers[0].map((_, s) => Number(t === s))));

// spec: that of `transformer`, and side, patch, channels -> pixels => { logits, looks, rolled }
const viewer = (spec, weights) => {
  const model = transformer({ ...spec, activate: gelu }, weights);
  const { side, patch, channels, width } = spec, across = side / patch;
  const row = (name, i) => weights[name].subarray(i * width, (i + 1) * width);
  const special = "encoder.embeddings.special", places = "encoder.embeddings.positions";
  // channels come first, then lines, then columns
  const square = (pixels, t) => Float32Array.from({ length: channels * patch * patch }, (_, i) => {
    const c = Math.floor(i / patch ** 2), y = Math.floor(i / patch) % patch, x = i % patch;
    const line = Math.floor(t / across) * patch + y, column = (t % across) * patch + x;
    return pixels[(c * side + line) * side + column];
  });
  return pixels => {
    const rows = Array.from({ length: weights[special].length / width }, (_, i) => row(special, i));
    for (let t = 0; t < across * across; t++)
      rows.push(model.project("encoder.embeddings.patches.project", square(pixels, t)));
    const maps = {}, states = model.read(rows.map((x, i) => add(x, row(places, i))), maps);
    const looks = Array.from({ length: spec.layers.encoder }, (_, layer) => rows.map((_, t) => {
      const heads = Array.from({ length: spec.heads },
        (_, h) => maps[`encoder.stack.blocks.${layer}.attn/${h}`][t]);
      return rows.map((_, s) => heads.reduce((sum, head) => sum + head[s], 0) / spec.heads);
    }));
    return { logits: model.project("out", states[0]), looks, rolled: rollout(looks) };
  };
};
