"use strict";

/* The live site's addresses: one step of the browser's history for each page and each choice, and links between pages
   that do not load the site anew. */
(() => {
  const push = history.pushState.bind(history);
  const replace = history.replaceState.bind(history);
  let acted = false; // whether the visitor has done something since the address changed
  for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, () => (acted = true), true);
  addEventListener("popstate", () => (acted = false), true);

  // Pages write their path and each parameter by itself, and some before the visitor chose anything: all that follows from
  // one act is one step.
  history.pushState = (state, title, url) => {
    (acted ? push : replace)(state, title, kept(url));
    acted = false;
  };
  history.replaceState = (state, title, url) => replace(state, title, kept(url ?? location.href));

  // The part after "#" is the table's, and stays as long as the page does.
  function kept(url) {
    const there = new URL(url, location.href);
    if (there.pathname === location.pathname && !there.hash) there.hash = location.hash;
    return there.href;
  }

  function follow(link) {
    const sample = new URL(link.href).searchParams.get("sample");
    push({}, "", link.href);
    dispatchEvent(new PopStateEvent("popstate", { state: {} }));
    if (sample) reveal(`[data-opened="${CSS.escape(sample)}"]`);
    else document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
  }

  function reveal(selector) {
    const found = () => {
      const there = document.querySelector(selector);
      there?.scrollIntoView({ block: "start" });
      return Boolean(there);
    };
    if (found()) return;
    const observer = new MutationObserver(() => found() && observer.disconnect());
    observer.observe(document.body, { childList: true, subtree: true, attributes: true });
    setTimeout(() => observer.disconnect(), 10000);
  }

  document.addEventListener("click", (event) => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const row = event.target.closest(".stHtml .hf-opens tbody tr");
    const own = event.target.closest("a, button, input, select, label, summary");
    const link = own ?? (row && !String(getSelection()) ? row.querySelector("a") : null);
    if (link?.tagName !== "A" || link.origin !== location.origin || !link.closest(".stHtml")) return;
    event.preventDefault();
    follow(link);
  });
})();
