// A switch next to the color mode: whether results wait for a prediction. It is kept in this browser
// under `deepdive:results`; the predictions of the page follow the event `deepdive-results`.
(() => {
  const KEY = "deepdive:results";
  const theme = document.querySelector(".article-header-buttons .theme-switch-container");
  if (!theme || !document.querySelector(".predict")) return;
  let store = {}; // without a store of the browser's, the switch holds for this page
  try { store = window.localStorage; } catch (error) { /* see above */ }

  const button = document.createElement("button"), icon = document.createElement("i");
  button.type = "button";
  button.className = "btn btn-sm nav-link pst-navbar-icon results-switch";
  button.append(icon);
  const show = () => {
    const shown = store[KEY] === "shown";
    icon.className = `fa-solid fa-lg fa-fw ${shown ? "fa-eye" : "fa-eye-slash"}`;
    button.setAttribute("aria-pressed", shown);
    button.setAttribute("aria-label", "Show results without predicting");
    button.title = shown ? "Results are shown; press to predict first"
      : "Results wait for your prediction; press to show them all";
  };
  button.addEventListener("click", () => {
    if (store[KEY] === "shown") delete store[KEY];
    else store[KEY] = "shown";
    show();
    dispatchEvent(new Event("deepdive-results"));
  });
  show();
  theme.before(button);
})();
