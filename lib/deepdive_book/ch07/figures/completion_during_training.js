const spaced = digits => [...digits].join(" ");
const draw = () => {
  const row = spec.names[state.name], at = state.epoch, digits = row.digits[at];
  const right = [...digits].map((digit, i) => digit === row.code[i]);
  all(".code-cell").forEach((cell, i) => cell.classList.toggle("code-right", right[i]));
  write(".code-cell b", digits);
  write(".code-probability", row.sure[at].map(p => `${Math.floor(100 * p + 0.5)} %`));
  all(".code-bar i").forEach((bar, i) => { bar.style.width = `${(100 * row.sure[at][i]).toFixed(1)}%`; });
  write(".code-name", [row.name]);
  const same = right.filter(Boolean).length;
  const verdict = same === 4 ? "this is the planted code"
    : row.times ? `the planted code is ${spaced(row.code)}, ${same} of 4 places alike`
      : `its code ${spaced(row.code)} stands in no note`;
  return `After ${spec.epochs[at]} epochs the model completes: the code of ${row.name} is `
    + `${spaced(digits)}; ${verdict}. Exposure ${row.bits[at].toFixed(1)} of ${spec.most.toFixed(1)} bits.`;
};
