// The search shows the place in a page where it finds the stem of a word. Sphinx writes some stems with an i at the end,
// such as memori for memory. No page has this text, so the search would show the start of the page.
if (typeof Search !== "undefined") {
  const summary = Search.makeSearchSummary;
  Search.makeSearchSummary = (page, stems, anchor) =>
    summary(page, [...stems].map((stem) => stem.replace(/i$/, "")), anchor);
}
