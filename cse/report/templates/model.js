// The runs of this page, folded over seeds or one by one, filtered and ranked. Nothing here touches the document.
"use strict";
const DATA = JSON.parse(document.getElementById("data").textContent);
const NAMES = DATA.keys.map((one) => one.name);
const CURVES = [...new Set(DATA.runs.flatMap((run) => Object.keys(run.curves)))].sort();

const view = {
  by: DATA.best_by,
  least: DATA.less.includes(DATA.best_by),
  folded: true,
  filter: "",
  sort: null, // {key, down}; null: best first
  shown: new Set(DATA.chosen),
  picked: new Set(), // rows that charts bring forward
  open: new Set(), // rows whose details are shown
};

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

function deviation(values) {
  if (values.length < 2) return null;
  const middle = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1));
}

// {mean, sd, n} of a metric over the runs that have it; null where none has.
function scoreOf(runs, metric) {
  const values = runs.map((run) => run.scores[metric]).filter((value) => value != null);
  return values.length ? { mean: mean(values), sd: deviation(values), n: values.length } : null;
}

function decimals(value) {
  const size = Math.abs(value);
  if (size >= 1 || size === 0) return size >= 1000 ? 0 : 2;
  return Math.min(8, 2 - Math.floor(Math.log10(size)));
}

const digits = (value) => (value == null ? "" : value.toFixed(decimals(value)));
const told = (score) => (score ? digits(score.mean) + (score.sd == null ? "" : " ± " + score.sd.toFixed(decimals(score.mean))) : "");

// Every row of the table: a setting with the runs of its seeds, or a run alone.
function allRows() {
  const row = (id, setting, runs) => ({
    id,
    runs,
    values: setting.values,
    texts: setting.texts,
    again: setting.again,
    seed: runs.map((run) => run.seed).join(", "),
    state: [...new Set(runs.map((run) => run.state))].join(", "),
    label: NAMES.map((name, place) => `${name} ${setting.texts[place]}`).join(", ") || "all runs",
  });
  if (!view.folded) {
    return DATA.runs.map((run, place) => {
      const one = row(`run ${place}`, DATA.settings[run.setting], [run]);
      return { ...one, label: `${one.label}, ${DATA.seed} ${run.seed}` };
    });
  }
  return DATA.settings.map((setting, place) =>
    row(`setting ${place}`, setting, DATA.runs.filter((run) => run.setting === place)),
  );
}

// What a word of the filter may name: a setting, seed, state, or a score by the end of its name.
function valueOf(row, name) {
  const place = NAMES.findIndex((one, index) => one === name || DATA.keys[index].key === name);
  if (place >= 0) return row.values[place];
  if (name === "state" || name === "seed" || name === DATA.seed) return row[name === "state" ? "state" : "seed"];
  const metric = DATA.metrics.find((one) => one === name) || DATA.metrics.find((one) => one.endsWith("/" + name));
  const score = metric && scoreOf(row.runs, metric);
  return score ? score.mean : null;
}

function fits(row, word) {
  const parts = word.match(/^([^=<>!]+)(<=|>=|!=|=|<|>)(.+)$/);
  if (!parts) return `${row.label} ${row.state} ${row.runs.map((run) => run.name).join(" ")}`.toLowerCase().includes(word);
  const value = valueOf(row, parts[1]);
  const [left, right] = [Number(value), Number(parts[3])];
  const numbers = value != null && value !== "" && !Number.isNaN(left) && !Number.isNaN(right);
  if (parts[2] === "=") return numbers ? left === right : String(value).toLowerCase() === parts[3];
  if (parts[2] === "!=") return numbers ? left !== right : String(value).toLowerCase() !== parts[3];
  if (!numbers) return false;
  return { "<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right }[parts[2]];
}

function shownRows() {
  const words = view.filter.toLowerCase().split(/\s+/).filter(Boolean);
  return allRows().filter((row) => words.every((word) => fits(row, word)));
}

// The row that has the best score, among rows; undefined where none has one.
function bestOf(rows) {
  const scored = rows.filter((row) => scoreOf(row.runs, view.by));
  const sign = view.least ? 1 : -1;
  return scored.sort((a, b) => sign * (scoreOf(a.runs, view.by).mean - scoreOf(b.runs, view.by).mean))[0];
}

// Text or numbers in order, nothing last, whichever way round.
function compared(a, b, down) {
  const missing = (value) => value == null || value === "";
  if (missing(a) || missing(b)) return missing(a) - missing(b);
  const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  return down ? -order : order;
}
