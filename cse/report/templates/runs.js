// The controls, and what is drawn when one of them changes.
const find = (id) => document.getElementById(id);

function options(id, names, chosen, none) {
  const all = [...(none ? [element("option", { value: "-1", textContent: none })] : []), ...names.map((name, place) => element("option", { value: String(place), textContent: name }))];
  find(id).replaceChildren(...all);
  find(id).value = String(chosen);
  find(id).onchange = draw;
}

const chosen = (id) => Number(find(id).value);

function drawBest(rows) {
  const best = bestOf([...rows]);
  find("best").hidden = !best;
  if (!best) return;
  const score = scoreOf(best.runs, view.by);
  const settings = best.texts.map((text, place) => element("span", { className: "setting", title: DATA.keys[place].key }, element("span", { className: "dim", textContent: NAMES[place] }), ` ${text}`));
  const runs = score.n === 1 ? (view.folded ? "one run" : `${DATA.seed} ${best.seed}`) : `${score.n} runs`;
  find("best").replaceChildren(
    element("p", { className: "dim", textContent: `Best by ${view.by}, ${runs}` }),
    element("p", { className: "score", textContent: told(score) }),
    element("p", { className: "settings" }, ...settings),
    ...(best.again ? [element("p", { className: "dim", textContent: "More seeds of it:" }), commandOf(best.again)] : []),
  );
}

function drawChart(id, specification, why) {
  if (!window.vegaEmbed) return undefined;
  find(`${id}-note`).textContent = specification ? "" : why;
  find(id).hidden = !specification;
  if (!specification) return undefined;
  const actions = { export: true, source: false, compiled: false, editor: false };
  return vegaEmbed(find(id), specification, { mode: "vega-lite", renderer: "svg", config: theme(), actions });
}

function drawAxes(rows) {
  const [x, y] = [chosen("across"), chosen("down")];
  const scored = rows.filter((row) => scoreOf(row.runs, view.by));
  const drawn = x < 0 || !scored.length ? null : y < 0 || y === x ? bars(scored, x, find("zero").checked) : heat(scored, x, y);
  const others = NAMES.filter((_, place) => place !== x && place !== y && new Set(scored.map((row) => row.texts[place])).size > 1);
  find("zero").parentElement.hidden = y >= 0 && y !== x;
  const made = drawChart("axes", drawn, "No setting differs between finished runs.");
  if (drawn && others.length) find("axes-note").textContent = `Means over runs that also differ in ${others.join(", ")}.`;
  return made;
}

function draw() {
  view.least = find("least").checked;
  view.folded = find("folded").checked;
  view.filter = find("filter").value;
  const rows = shownRows();
  const colour = chosen("colour");
  drawBest(rows);
  drawTable(rows);
  const metric = CURVES[chosen("curve")];
  const [first, second] = [DATA.metrics[chosen("first")], DATA.metrics[chosen("second")]];
  const scored = rows.filter((row) => scoreOf(row.runs, view.by));
  const hasCurve = rows.some((row) => row.runs.some((run) => run.curves[metric]));
  document.drawn = Promise.all([
    drawAxes(rows),
    drawChart("curves", hasCurve ? curves(rows, metric, colour, find("log").checked) : null, "Nothing was logged at more than one step."),
    drawChart("scatter", rows.some((row) => scoreOf(row.runs, first) && scoreOf(row.runs, second)) ? scatter(rows, first, second, colour) : null, "No finished run has both."),
    drawChart("parallel", NAMES.length && scored.length ? parallel(scored) : null, "No setting differs between finished runs."),
  ]);
}

function chooseScore() {
  view.by = DATA.metrics[chosen("by")];
  find("least").checked = DATA.less.includes(view.by);
  view.shown.add(view.by);
  view.sort = null;
  drawColumns();
  draw();
}

function drawColumns() {
  const boxes = DATA.metrics.map((metric) => {
    const box = element("input", { type: "checkbox", checked: view.shown.has(metric) });
    box.onchange = () => toggle(view.shown, metric);
    return element("label", { className: "check" }, box, ` ${metric}`);
  });
  find("columns").replaceChildren(...boxes);
}

function start() {
  const by = Math.max(0, DATA.metrics.indexOf(view.by));
  const counts = NAMES.map((_, place) => new Set(DATA.settings.map((one) => one.values[place])).size);
  const axes = NAMES.map((_, place) => place).filter((place) => counts[place] > 1);
  const curve = CURVES.indexOf(view.by) >= 0 ? CURVES.indexOf(view.by) : Math.max(0, CURVES.indexOf("train/loss"));
  options("by", DATA.metrics, by);
  find("by").onchange = chooseScore;
  options("colour", NAMES, axes.length ? axes[0] : -1, "one colour");
  options("across", NAMES, axes.length ? axes[0] : -1, NAMES.length ? null : "nothing");
  options("down", NAMES, axes.length > 1 ? axes[1] : -1, "nothing");
  options("curve", CURVES, curve);
  options("first", DATA.metrics, by === 0 && DATA.metrics.length > 1 ? 1 : 0);
  options("second", DATA.metrics, by);
  find("least").checked = view.least;
  for (const id of ["axes", "parallel"]) find(id).parentElement.hidden = !NAMES.length;
  for (const id of ["least", "folded", "log", "zero"]) find(id).onchange = draw;
  find("filter").oninput = draw;
  matchMedia("(prefers-color-scheme: dark)").onchange = draw;
  drawColumns();
  draw();
}

start();
