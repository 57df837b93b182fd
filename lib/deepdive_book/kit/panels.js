const draw = () => {
  const at = spec.sizes.reduce((total, size, i) => total * size + state[`choice${i}`], 0);
  const [svg, words] = spec.panels[at];
  drawing.innerHTML = themed(svg);
  return words;
};
