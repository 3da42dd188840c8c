// The table of runs. Text only ever becomes text: nothing of a run is read as HTML.
function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

// The columns: {key, name, title, number, text(row), value(row)}.
function tableColumns() {
  const settings = NAMES.map((name, place) => ({
    key: `setting ${place}`, name, title: DATA.keys[place].key, number: typeof DATA.settings[0].values[place] === "number",
    text: (row) => row.texts[place], value: (row) => row.values[place],
  }));
  const state = { key: "state", name: "state", title: "done, running, stopped or failed", text: (row) => row.state, value: (row) => row.state };
  const seeds = view.folded
    ? { key: "runs", name: "runs", title: "runs that are done", number: true, text: doneOf, value: (row) => row.runs.filter((run) => run.state === "done").length }
    : { key: "seed", name: DATA.seed, title: "the seed", number: true, text: (row) => row.seed, value: (row) => row.runs[0].seed };
  const scores = DATA.metrics.filter((metric) => view.shown.has(metric)).map((metric) => ({
    key: metric, name: metric, title: metric, number: true,
    text: (row) => told(scoreOf(row.runs, metric)), value: (row) => (scoreOf(row.runs, metric) || {}).mean,
  }));
  const all = [...settings, seeds, ...scores];
  return DATA.runs.every((run) => run.state === "done") ? all : [...all, state];
}

function doneOf(row) {
  const done = row.runs.filter((run) => run.state === "done").length;
  return done === row.runs.length ? String(done) : `${done} of ${row.runs.length}`;
}

function sortedRows(rows, columns) {
  const column = columns.find((one) => view.sort && one.key === view.sort.key);
  if (column) return [...rows].sort((a, b) => compared(column.value(a), column.value(b), view.sort.down));
  const score = (row) => (scoreOf(row.runs, view.by) || {}).mean;
  return [...rows].sort((a, b) => compared(score(a), score(b), !view.least));
}

function sortBy(column) {
  const before = view.sort && view.sort.key === column.key ? view.sort.down : null;
  view.sort = { key: column.key, down: before === null ? Boolean(column.number) && !DATA.less.includes(column.key) : !before };
  draw();
}

function heading(column) {
  const sorted = view.sort ? view.sort.key === column.key && (view.sort.down ? "descending" : "ascending") : column.key === view.by && (view.least ? "ascending" : "descending");
  const button = element("button", { type: "button", title: `sort by ${column.title}`, onclick: () => sortBy(column) });
  column.name.split(/(?<=\/)/).forEach((part) => button.append(part, element("wbr")));
  const cell = element("th", { className: column.number ? "number" : "", scope: "col" }, button);
  if (sorted) cell.setAttribute("aria-sort", sorted);
  return cell;
}

function drawTable(rows) {
  const columns = tableColumns();
  const best = bestOf([...rows]);
  const head = element("tr", {}, element("th", { scope: "col" }), ...columns.map(heading));
  const body = sortedRows(rows, columns).flatMap((row) => {
    const isOpen = view.open.has(row.id);
    const opener = element("button", { type: "button", className: "opener", title: "what made it", textContent: isOpen ? "▾" : "▸" });
    opener.setAttribute("aria-expanded", String(isOpen));
    opener.onclick = (event) => { event.stopPropagation(); toggle(view.open, row.id); };
    const mark = element("td", { className: "mark" }, opener, row === best ? element("span", { className: "star", title: "best", textContent: "★" }) : "");
    const line = element("tr", { onclick: () => toggle(view.picked, row.id) }, mark, ...columns.map((column) => cellOf(row, column)));
    line.className = [row === best ? "winner" : "", view.picked.has(row.id) ? "picked" : ""].join(" ");
    return isOpen ? [line, element("tr", { className: "details" }, detailsOf(row, columns.length + 1))] : [line];
  });
  document.getElementById("table").replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
  const total = allRows().length;
  document.getElementById("count").textContent = `${rows.length === total ? total : `${rows.length} of ${total}`} ${view.folded ? "setting" : "run"}${total === 1 ? "" : "s"}`;
}

function cellOf(row, column) {
  if (column.key === "state") return element("td", {}, element("span", { className: `state ${row.state.split(",")[0]}`, textContent: row.state }));
  const text = column.text(row);
  return element("td", { className: column.number ? "number" : "", title: column.number ? "" : String(column.value(row) ?? ""), textContent: text });
}

function toggle(set, id) {
  set.has(id) ? set.delete(id) : set.add(id);
  draw();
}

// Below a row: each of its runs with its folder, its command and what it ran on.
function detailsOf(row, width) {
  const about = row.runs.map((run) => {
    const facts = Object.entries({ [DATA.seed]: run.seed, ...run.facts }).filter(([, value]) => value != null && value !== "");
    const line = facts.map(([name, value]) => `${name} ${value}`).join(" · ");
    const said = run.said ? [element("p", {}, element("span", { className: `state ${run.state}`, textContent: run.state }), " ", run.said)] : [];
    return element("div", { className: "run" }, element("b", { textContent: run.folder }), element("p", { className: "dim", textContent: line }), ...said, commandOf(run.command));
  });
  return element("td", { colSpan: width }, ...about);
}

// A command with a button that copies it.
function commandOf(command) {
  const button = element("button", { type: "button", className: "copy", textContent: "Copy" });
  const code = element("code", { textContent: command });
  button.onclick = async () => {
    getSelection().selectAllChildren(code); // where the clipboard is closed to pages, Ctrl-C is left
    await navigator.clipboard.writeText(command);
    button.textContent = "Copied";
  };
  return element("div", { className: "command" }, code, button);
}
