// The search shows the place in a page where it finds the stem of a word. Sphinx writes some stems with an i at the end,
// such as memori for memory. No page has this text, so the search would show the start of the page.
if (typeof Search !== "undefined") {
  const summary = Search.makeSearchSummary;
  Search.makeSearchSummary = (page, stems, anchor) => {
    // The start of the text is shown for "", if no stem is in the text.
    const shown = summary(page, ["", ...[...stems].map((stem) => stem.replace(/i$/, ""))], anchor);
    // Sphinx cuts a text anywhere. A word that it may have cut is left out.
    if (shown) shown.textContent = shown.textContent.replace(/^\.\.\.\S+\s/, "... ").replace(/\s\S+\.\.\.$/, " ...");
    return shown;
  };

  // The anchor of a table's row or of an index entry is an empty element. The search shows the row, or else the section
  // or the page. A line separates the cells of a row.
  const text = Search.htmlToText;
  Search.htmlToText = (page, anchor) => {
    const parsed = new DOMParser().parseFromString(page.replace(/\s*<\/t[dh]>\s*(?=<t[dh])/g, " |$& "), "text/html");
    const place = anchor && parsed.getElementById(anchor.slice(1));
    const row = place && place.closest("tr");
    if (row) return row.textContent;
    const section = place && place.closest("section");
    return text(parsed.documentElement.outerHTML, section && section.id ? "#" + CSS.escape(section.id) : null);
  };

  // A row has the title of its page. The search adds the row's name.
  const perform = Search._performSearch;
  Search._performSearch = (...query) =>
    perform(...query).map((item) => {
      const isRow = item[6] === "index" && !/^#index-\d+$/.test(item[2]);
      return isRow ? [item[0], `${item[1]} > ${item[2].slice(1)}`, ...item.slice(2)] : item;
    });
}
