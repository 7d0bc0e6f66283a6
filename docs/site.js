// What scrolls sideways can be reached, and scrolled, by keys.
const reach = () => {
  for (const wide of document.querySelectorAll("pre > code, .md-typeset__scrollwrap")) {
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
  }
};
addEventListener("resize", reach);
new MutationObserver(reach).observe(document.body, { childList: true, subtree: true });
reach();
