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

  // Most pages have each letter, for example the p of "p value". The search leaves out a letter beside a longer word.
  const parse = Search._parseQuery;
  Search._parseQuery = (query) => {
    const words = splitQuery(query).filter((word) => word.length > 1);
    return [query, ...parse(words.join(" ") || query).slice(1)];
  };

  // A setting of cse comes before an argument of another trainer that fits as well: trainer.batch_size, mini_batch_size.
  // A heading comes before a text that has the words of the heading.
  Scorer.score = ([page, , , , score, , kind]) => {
    if (page === "settings" && kind === "index") return score + 15;
    return kind === "title" ? score + 5 : score;
  };

  // A row has the title of its page. The search adds the row's name.
  const perform = Search._performSearch;
  Search._performSearch = (...query) => {
    // A row is also found by the words of its name: trainer.max_length by "max length".
    const entries = Search._index.indexentries;
    for (const name of Object.keys(entries)) entries[name.replace(/[._]/g, " ")] ??= entries[name];
    return perform(...query).map((item) => {
      const isRow = item[6] === "index" && !/^#index-\d+$/.test(item[2]);
      return isRow ? [item[0], `${item[1]} > ${item[2].slice(1)}`, ...item.slice(2)] : item;
    });
  };
}
