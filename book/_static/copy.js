// A button on each piece of code that copies it.
if (navigator.clipboard) {
  const said = Object.assign(document.createElement("p"), { className: "visually-hidden" });
  said.setAttribute("role", "status");
  document.body.append(said);
  for (const code of document.querySelectorAll(".bd-article :is(.cell_input, [class*=highlight-]) .highlight")) {
    if (code.closest(".cell_output")) continue;
    const button = Object.assign(document.createElement("button"), { type: "button", className: "copy" });
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy the code");
    button.addEventListener("click", async () => {
      const done = await navigator.clipboard.writeText(code.querySelector("pre").textContent)
        .then(() => "Copied", () => "Not copied");
      button.textContent = said.textContent = done;
      setTimeout(() => { button.textContent = "Copy"; said.textContent = ""; }, 1500);
    });
    code.append(button);
  }
}
