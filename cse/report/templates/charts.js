// Vega-Lite specifications of what the model holds. Colours are Okabe and Ito's, and cividis for numbers.
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b07d00", "#56b4e9", "#1c1e21", "#7f7f7f"];
const DARK = ["#56b4e9", "#e69f00", "#2bc79b", "#cc79a7", "#f0e442", "#d5713a", "#e6e7e9", "#9aa0a8"];
const isDark = () => matchMedia("(prefers-color-scheme: dark)").matches;

function theme() {
  const style = getComputedStyle(document.documentElement);
  const [ink, dim, line] = ["--ink", "--dim", "--line"].map((name) => style.getPropertyValue(name).trim());
  const text = { labelColor: dim, titleColor: ink, labelFontSize: 11, titleFontSize: 12, titleFontWeight: 500 };
  return {
    background: null,
    font: "system-ui, 'Segoe UI', Roboto, sans-serif",
    view: { stroke: null },
    axis: { ...text, gridColor: line, domainColor: line, tickColor: line, labelLimit: 160 },
    legend: { ...text, orient: "bottom", columns: innerWidth < 600 ? 2 : 4, labelLimit: 200, symbolOpacity: 1 },
    range: { category: isDark() ? DARK : LIGHT },
  };
}

const FRAME = { width: "container", height: 320, autosize: { type: "fit-x", contains: "padding" } };
const faded = { condition: { test: "datum.faded", value: 0.12 }, value: 0.95 };
const isFaded = (row) => view.picked.size > 0 && !view.picked.has(row.id);

// How the rows are coloured: by the chosen setting, in order where it is a number.
function colouring(place) {
  const values = place < 0 ? [] : [...new Set(DATA.settings.map((one) => one.values[place]))];
  const sorted = values.sort((a, b) => compared(a, b, false)).map((value) => textOf(place, value));
  const many = sorted.length > LIGHT.length || (sorted.length > 3 && values.every((value) => typeof value === "number"));
  const scale = many ? { domain: sorted, scheme: { name: "viridis", extent: isDark() ? [0.3, 1] : [0, 0.85] } } : { domain: sorted };
  return place < 0 ? { value: (isDark() ? DARK : LIGHT)[0] } : { field: "colour", type: "nominal", scale, title: NAMES[place] };
}

const textOf = (place, value) => {
  const setting = DATA.settings.find((one) => one.values[place] === value);
  return setting ? setting.texts[place] : String(value);
};
const colourOf = (row, place) => (place < 0 ? "" : row.texts[place]);

// One setting: bars of the mean (dots where the axis does not start at zero) with a whisker of one standard deviation,
// and each run's own score.
function bars(rows, x, zero) {
  const sorted = ordered(rows, x);
  const runs = rows.flatMap((row) => row.runs.map((run) => ({ x: row.texts[x], score: run.scores[view.by] })));
  const points = runs.filter((one) => one.score != null);
  const groups = sorted.map((text) => {
    const values = points.filter((one) => one.x === text).map((one) => one.score);
    const [middle, sd] = [values.length ? mean(values) : null, deviation(values)];
    return { x: text, mean: middle, low: middle - (sd || 0), high: middle + (sd || 0), top: Math.max(middle + (sd || 0), ...values), text: told(values.length ? { mean: middle, sd } : null) };
  });
  const across = { field: "x", type: "ordinal", sort: sorted, title: NAMES[x], axis: { labelAngle: 0, labelOverlap: true } };
  const up = (field) => ({ field, type: "quantitative", title: view.by, scale: { zero, padding: zero ? 0 : 14 } });
  const shape = zero ? { type: "bar", opacity: 0.55, width: { band: 0.6 } } : { type: "point", filled: true, opacity: 1, size: 130 };
  const ink = theme().axis.titleColor;
  return {
    ...FRAME,
    layer: [
      { data: { values: groups }, mark: shape, encoding: { x: across, y: up("mean"), color: { value: theme().range.category[0] } } },
      { data: { values: groups }, mark: { type: "rule", strokeWidth: 2, color: ink }, encoding: { x: across, y: up("low"), y2: { field: "high" } } },
      { data: { values: points }, mark: { type: "circle", size: 22, opacity: 0.7, color: ink }, encoding: { x: across, y: up("score") } },
      { data: { values: groups }, mark: { type: "text", dy: -8, baseline: "bottom", color: ink, fontSize: 11 }, encoding: { x: across, y: up("top"), text: { field: "text" } } },
    ],
  };
}

// Two settings: the mean of the runs in each cell, written into it, a star at the best.
function heat(rows, x, y) {
  const cells = new Map();
  for (const row of rows) {
    for (const run of row.runs.filter((one) => one.scores[view.by] != null)) {
      const key = JSON.stringify([row.texts[x], row.texts[y]]);
      cells.set(key, [...(cells.get(key) || []), run.scores[view.by]]);
    }
  }
  const values = [...cells].map(([key, scores]) => ({ x: JSON.parse(key)[0], y: JSON.parse(key)[1], mean: mean(scores), sd: deviation(scores), n: scores.length }));
  const means = values.map((one) => one.mean);
  const [low, high] = [Math.min(...means), Math.max(...means)];
  for (const one of values) {
    const place = high > low ? (one.mean - low) / (high - low) : 1;
    one.bright = view.least ? 1 - place : place;
    one.text = (one.bright === 1 ? "★ " : "") + digits(one.mean);
    one.told = told(one);
  }
  const axis = (place, field, more) => ({ field, type: "ordinal", sort: ordered(rows, place), title: NAMES[place], axis: { labelAngle: 0, grid: false, labelOverlap: true, ...more } });
  const encoding = { x: axis(x, "x"), y: axis(y, "y") };
  const tooltip = [{ field: "x", title: NAMES[x] }, { field: "y", title: NAMES[y] }, { field: "told", title: view.by }, { field: "n", title: "runs" }];
  return {
    ...FRAME,
    data: { values },
    encoding,
    layer: [
      { mark: { type: "rect", cornerRadius: 2 }, encoding: { tooltip, color: { field: "bright", type: "quantitative", scale: { domain: [0, 1], scheme: "cividis" }, legend: null } } },
      { mark: { type: "text", fontSize: 12 }, encoding: { text: { field: "text" }, color: { condition: { test: "datum.bright > 0.55", value: "#111" }, value: "#fff" } } },
    ],
  };
}

const ordered = (rows, place) => [...new Map(rows.map((row) => [row.values[place], row.texts[place]])).entries()].sort((a, b) => compared(a[0], b[0], false)).map((pair) => pair[1]);

// A metric over the steps: a line for each row, and over folded seeds a band of one standard deviation.
function curves(rows, metric, place, log) {
  const values = rows.flatMap((row) => {
    const steps = new Map();
    for (const run of row.runs.filter((one) => one.curves[metric])) {
      run.curves[metric][0].forEach((step, index) => steps.set(step, [...(steps.get(step) || []), run.curves[metric][1][index]]));
    }
    return [...steps].sort((a, b) => a[0] - b[0]).map(([step, all]) => {
      const [middle, sd] = [mean(all), deviation(all) || 0];
      return { row: row.label, colour: colourOf(row, place), faded: isFaded(row), step, mean: middle, low: middle - sd, high: middle + sd, told: told({ mean: middle, sd: deviation(all) }) };
    });
  });
  const color = colouring(place);
  const scale = { zero: false, type: log ? "log" : "linear" };
  const x = { field: "step", type: "quantitative", title: "step", axis: { grid: false, tickMinStep: 1 } };
  const y = { field: "mean", type: "quantitative", title: metric, scale };
  const tooltip = [{ field: "row", title: "run" }, { field: "step" }, { field: "told", title: metric }];
  const band = { mark: { type: "area" }, encoding: { x, y: { field: "low", type: "quantitative", scale, title: metric }, y2: { field: "high" }, color, detail: { field: "row" }, opacity: { condition: { test: "datum.faded", value: 0.02 }, value: 0.13 } } };
  const line = { mark: { type: "line", strokeWidth: 1.8, interpolate: "linear" }, encoding: { x, y, color, detail: { field: "row" }, opacity: faded } };
  const near = { params: [{ name: "near", select: { type: "point", on: "pointermove", nearest: true, clear: "pointerout" } }], mark: { type: "circle", size: 60 }, encoding: { x, y, color, tooltip, opacity: { condition: { param: "near", empty: false, value: 1 }, value: 0 } } };
  return { ...FRAME, data: { values }, layer: log ? [line, near] : [band, line, near] };
}

// A point for each row at two of its scores.
function scatter(rows, first, second, place) {
  const values = rows.map((row) => ({ row, x: scoreOf(row.runs, first), y: scoreOf(row.runs, second) })).filter((one) => one.x && one.y);
  const flat = values.map((one) => ({ row: one.row.label, faded: isFaded(one.row), colour: colourOf(one.row, place), x: one.x.mean, y: one.y.mean, across: told(one.x), up: told(one.y) }));
  const axis = (field, title) => ({ field, type: "quantitative", title, scale: { zero: false, padding: 12 } });
  const tooltip = [{ field: "row", title: "run" }, { field: "across", title: first }, { field: "up", title: second }];
  return { ...FRAME, data: { values: flat }, mark: { type: "circle", size: 90 }, encoding: { x: axis("x", first), y: axis("y", second), color: colouring(place), opacity: faded, tooltip } };
}

// A line for each row through its settings and its score, each on an axis of its own.
function parallel(rows) {
  const scored = rows.filter((row) => scoreOf(row.runs, view.by));
  const scores = scored.map((row) => scoreOf(row.runs, view.by).mean);
  const axes = NAMES.map((name, place) => ({ name, spots: spots(scored.map((row) => row.values[place]), (value) => textOf(place, value)) }));
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  const at = (score) => (high > low ? (score - low) / (high - low) : 0.5);
  const last = { name: view.by, spots: new Map([...new Set([low, (low + high) / 2, high])].map((score) => [score, { y: at(score), text: digits(score) }])) };
  const lines = scored.flatMap((row, index) => [...axes.map((axis, place) => ({ axis: place, y: axis.spots.get(row.values[place]).y })), { axis: axes.length, y: at(scores[index]) }].map((point) => ({ ...point, row: row.label, score: at(scores[index]), told: told(scoreOf(row.runs, view.by)), faded: isFaded(row) })));
  const ticks = [...axes, last].flatMap((axis, place) => [...axis.spots.values()].map((spot) => ({ axis: place, ...spot })));
  const names = [...axes, last].map((axis, place) => ({ axis: place, name: axis.name, y: 0, top: 1 }));
  const x = { field: "axis", type: "quantitative", axis: null, scale: { domain: [-0.2, axes.length + 0.2], nice: false } };
  const y = { field: "y", type: "quantitative", axis: null, scale: { domain: [-0.06, 1.18], nice: false } };
  const ink = theme().axis;
  const style = getComputedStyle(document.documentElement);
  const halo = { stroke: style.getPropertyValue("--card").trim(), strokeWidth: 4, strokeJoin: "round" };
  const side = (right, left) => ({ expr: `datum.axis == ${axes.length} ? ${right} : ${left}` });
  const label = (more) => ({ type: "text", fontSize: 11, align: side("'left'", "'right'"), dx: side(7, -7), dy: { expr: `datum.axis > 0 && datum.axis < ${axes.length} ? -8 : 0` }, ...more });
  const color = { field: "score", type: "quantitative", legend: null, scale: { domain: view.least ? [1, 0] : [0, 1], range: ["--pale", "--accent"].map((name) => style.getPropertyValue(name).trim()) } };
  return {
    ...FRAME,
    layer: [
      { data: { values: names }, mark: { type: "rule", color: ink.gridColor, strokeWidth: 1.5 }, encoding: { x, y, y2: { field: "top" } } },
      { data: { values: lines }, mark: { type: "line", strokeWidth: 2.2, interpolate: "monotone" }, encoding: { x, y, color, detail: { field: "row" }, order: { field: "axis" }, opacity: faded, tooltip: [{ field: "row", title: "run" }, { field: "told", title: view.by }] } },
      { data: { values: ticks }, mark: label(halo), encoding: { x, y, text: { field: "text" } } },
      { data: { values: ticks }, mark: label({ color: ink.labelColor }), encoding: { x, y, text: { field: "text" } } },
      { data: { values: names }, mark: { type: "text", baseline: "bottom", dy: { expr: "datum.axis % 2 ? -24 : -8" }, fontSize: 12, fontWeight: 600, color: ink.titleColor, align: { expr: `datum.axis == 0 ? 'left' : datum.axis == ${axes.length} ? 'right' : 'center'` } }, encoding: { x, y: { ...y, field: "top" }, text: { field: "name" } } },
    ],
  };
}

// {value: where it stands on its axis, from 0 to 1, and its text}: evenly, in order.
function spots(values, text) {
  const sorted = [...new Set(values)].sort((a, b) => compared(a, b, false));
  return new Map(sorted.map((value, place) => [value, { y: sorted.length > 1 ? place / (sorted.length - 1) : 0.5, text: text(value) }]));
}
