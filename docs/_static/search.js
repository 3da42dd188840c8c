// The search shows the place in a page where it finds the stem of a word. Sphinx writes some stems with an i at the end,
// such as memori for memory. No page has this text, so the search would show the start of the page.
if (typeof Search !== "undefined") {
  const summary = Search.makeSearchSummary;
  Search.makeSearchSummary = (page, stems, anchor) =>
    summary(page, [...stems].map((stem) => stem.replace(/i$/, "")), anchor);

  // The anchor of a table's row or of an index entry is an empty element. The search shows the row, or else the page.
  const text = Search.htmlToText;
  Search.htmlToText = (page, anchor) => {
    const place = anchor && new DOMParser().parseFromString(page, "text/html").getElementById(anchor.slice(1));
    const row = place && place.closest("tr");
    return row ? row.textContent : text(page, place && place.textContent ? anchor : null);
  };
}
