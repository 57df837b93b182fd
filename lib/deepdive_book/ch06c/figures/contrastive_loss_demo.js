const draw = () => {
  const { angle } = state, temperature = state.tenths / 10, radians = angle * Math.PI / 180;
  const scores = spec.codes.map(code =>
    Math.exp(Math.cos((angle - code) * Math.PI / 180) / temperature));
  const total = scores.reduce((a, b) => a + b), shares = scores.map(score => score / total);
  set(".code-arrow", [{ x2: spec.middle + (spec.radius - 8) * Math.cos(radians),
    y2: spec.middle - (spec.radius - 8) * Math.sin(radians) }]);
  set(".code-bar", shares.map(share => ({ width: spec.long * share })));
  write(".code-share", shares.map(share => share.toFixed(2)));
  return `The arrow points to ${angle} degrees, the right code to ${spec.codes[0]}. ` +
    `At temperature ${temperature.toFixed(1)} the right code's share is ${shares[0].toFixed(2)}, ` +
    `the loss ${(-Math.log(shares[0])).toFixed(2)}.`;
};
