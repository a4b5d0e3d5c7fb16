"use strict";
/* The review of labels: the table, the details of a label, the figures and the downloads. */
levelhead.pending.push((async () => {
  const audit = levelhead.json("audit"), format = levelhead.format, byId = (id) => document.getElementById(id);
  const names = Object.keys(audit.columns);
  const columns = Object.fromEntries(await Promise.all(names.map(async (name) => [name, await levelhead.unpack(audit.columns[name])])));
  const { given, predicted, std, p, verdict, place, alpha } = columns;
  const lineAt = columns.line ?? place; // of a part of a larger table, rows have other numbers than lines
  const n = given.length, table = audit.table;
  /* In units of the noise, on the scale on which the labels were judged. */
  const z = columns.z ? (label) => columns.z[label] : (label) => (given[label] - predicted[label]) / std[label];
  const decisions = levelhead.makeDecisions(audit.digest);
  const decisionOf = decisions.get;
  const findings = await levelhead.readFindings(audit);

  // ---------------------------------------------------------------- the rows of the table, read when the browser is idle
  let lines = null, lowered = null;
  async function readLines() {
    if (!table || lines) return;
    lines = (await levelhead.unpackText(table.lines)).split("\n");
    grid.render();
    if (detail.shown >= 0) detail.show(detail.shown);
  }
  function cells(label) {
    const line = lines?.[lineAt[label]];
    return line ? JSON.parse(line) : null;
  }
  const nameOf = (label) => (table?.id == null ? "" : cells(label)?.[table.id] ?? "");
  const rowOf = (label) => String(place[label] + 1);

  // ---------------------------------------------------------------- neighbours
  const examined = await levelhead.unpack(audit.near.of), nearRows = await levelhead.unpack(audit.near.rows), each = audit.near.each;
  const placeInNear = new Map(Array.from(examined, (label, at) => [label, at]));
  function neighbours(label) {
    const at = placeInNear.get(label);
    return at === undefined ? [] : Array.from(nearRows.subarray(at * each, (at + 1) * each));
  }

  // ---------------------------------------------------------------- the grid
  const collator = new Intl.Collator("en", { numeric: true });
  const number = (key, title, value, text, more = {}) => ({ key, title, value, text, number: true, ...more });
  const expected = (l) => `${format.withNoise(predicted[l], std[l])} ± ${format.withNoise(std[l], std[l])}`;
  /* Room for the longest number among the labels to review; head and rows have other fonts, so not in ch. */
  const room = (least, text) => {
    let most = 0;
    for (let l = 0; l < n; l++) if (verdict[l] > 0) most = Math.max(most, text(l).length);
    return `${Math.min(Math.max(least, 0.52 * most + 1), 14).toFixed(1)}rem`;
  };
  const shownColumns = [
    number("row", "Row", (l) => place[l], rowOf, { width: "minmax(3.6rem, .5fr)", narrow: "minmax(2.9rem, .5fr)" }),
    number("given", "Given", (l) => given[l], (l) => format.cell(given[l]), { width: `minmax(${room(5.2, (l) => format.cell(given[l]))}, .8fr)`, narrow: "minmax(0, .9fr)" }),
    number("predicted", "Expected", (l) => predicted[l], expected, { width: `minmax(${room(7.6, expected)}, 1fr)`, narrow: "minmax(0, 1.4fr)" }),
    number("z", "z", (l) => Math.abs(z(l)), (l) => format.z(z(l)), { wide: true, width: "minmax(4.2rem, .5fr)" }),
    number("p", "P(wrong)", (l) => p[l], (l) => format.chance(p[l]), { wide: true, width: "minmax(5.8rem, .6fr)" }),
    findings.kinds.length ? { key: "kind", title: "Likely error", value: findings.textOf, text: findings.textOf, wide: true, width: "minmax(6.6rem, 2fr)" } : null,
    table?.id == null ? null : { key: "id", title: table.names[table.id], text: nameOf, value: nameOf, wide: true, width: "minmax(3.5rem, .7fr)" },
    { key: "decision", title: "Decision", value: (l) => decisionOf(l)?.kind ?? "~", text: (l) => decisionOf(l)?.kind ?? "", width: "10.4rem", narrow: "7.1rem" },
  ].filter(Boolean);
  let order = { key: "suspicion", down: true };

  const bySuspicion = (a, b) => verdict[b] - verdict[a] || p[b] - p[a] || Math.abs(z(b)) - Math.abs(z(a)) || a - b;
  function sort(labels) {
    const column = shownColumns.find(({ key }) => key === order.key);
    if (!column) return labels.sort(bySuspicion);
    const sign = order.down ? -1 : 1;
    const key = column.number ? Float64Array.from(labels, column.value) : Array.from(labels, column.value);
    const compare = column.number ? (a, b) => key[a] - key[b] : (a, b) => collator.compare(key[a], key[b]);
    const at = Int32Array.from(labels.keys()).sort((a, b) => sign * compare(a, b) || bySuspicion(labels[a], labels[b]));
    return at.map((index) => labels[index]);
  }

  const SHOWN = { wrong: (v) => v === 2, doubt: (v) => v === 1, suspect: (v) => v > 0, all: () => true };
  const SIDES = { any: () => true, high: (l) => given[l] > predicted[l], low: (l) => given[l] < predicted[l] };
  function found(query) {
    if (!query) return () => true;
    if (lines) lowered ??= lines.map((line) => line.toLowerCase());
    const text = JSON.stringify(query).slice(1, -1);
    return (l) => rowOf(l) === query || (lowered?.[lineAt[l]] ? lowered[lineAt[l]].includes(text) : String(given[l]).includes(query));
  }
  function filtered() {
    const wanted = SHOWN[byId("show").value], side = SIDES[byId("side").value], decided = byId("decided").value;
    const kind = byId("kind").value, segment = byId("segment").value;
    const matches = found(byId("search").value.trim().toLowerCase());
    const labels = [];
    for (let l = 0; l < n; l++) {
      if (!wanted(verdict[l]) || !side(l)) continue;
      if (decided !== "any" && (decisionOf(l)?.kind ?? "none") !== decided) continue;
      if (kind !== "any" && findings.kindOf(l) !== kind) continue;
      if (segment !== "any" && !findings.inSegment(l, Number(segment))) continue;
      if (matches(l)) labels.push(l);
    }
    return Int32Array.from(labels);
  }
  function refilter() {
    grid.set(sort(filtered()), order);
    byId("bulk-count").textContent = format.count(grid.labels.length);
    announce(`${format.count(grid.labels.length)} labels shown`);
  }

  const KEYS = { k: "keep", f: "fix", d: "drop", u: "clear" };
  const grid = levelhead.makeGrid(byId("grid"), shownColumns, decisionOf, {
    activate: choose,
    open(label) { choose(label); byId("detail").scrollIntoView({ block: "nearest" }); byId("detail").focus({ preventScroll: true }); },
    decide,
    sort(key) {
      const textual = ["id", "row", "kind", "decision"].includes(key);
      order = order.key === key ? { key, down: !order.down } : { key, down: !textual };
      refilter();
    },
    key(event, label) {
      const key = event.key.toLowerCase();
      if (key === "z") undo();
      else if (label >= 0 && KEYS[key]) markAndMove(label, KEYS[key]);
      else return false;
      return true;
    },
  });

  // ---------------------------------------------------------------- decisions
  function announce(text) { byId("announcement").textContent = text; }

  /* Pressing the same button again clears the decision. */
  function decide(label, kind, value) {
    const was = decisionOf(label);
    if (kind === "clear" || (was?.kind === kind && value === undefined)) decisions.change([label], () => null);
    else if (kind === "fix" && was?.kind === "fix") decisions.amend(label, { kind, value });
    else if (kind === "fix") decisions.change([label], () => ({ kind, value: value ?? detail.suggested(label) ?? format.rounded(predicted[label], std[label]) }));
    else decisions.change([label], () => ({ kind }));
    detail.refresh(label);
    update();
    announce(`Row ${rowOf(label)}: ${decisionOf(label)?.kind ?? "undecided"}`);
  }
  function markAndMove(label, kind) {
    if (decisionOf(label)?.kind !== kind) decide(label, kind);
    if (kind === "fix") { detail.edit(); return; }
    if (kind !== "clear") next(label);
  }
  /* Go to the next label; with a filter on decisions, this label may disappear from the table. */
  function next(label) {
    const at = grid.has(label);
    if (byId("decided").value === "any") { grid.activate(at + 1); return; }
    refilter();
    grid.activate(grid.has(label) < 0 ? at : at + 1);
  }
  function undo() {
    const labels = decisions.undo();
    for (const label of labels) detail.refresh(label);
    if (detail.shown >= 0) detail.show(detail.shown);
    update();
    if (labels.length) announce(`Undone for ${format.count(labels.length)} labels`);
  }
  function update() {
    grid.render();
    let suspects = 0, done = 0;
    for (let l = 0; l < n; l++) if (verdict[l] === 2) { suspects++; if (decisionOf(l)) done++; }
    byId("progress").max = Math.max(suspects, 1);
    byId("progress").value = done;
    const kinds = ["keep", "fix", "drop"].map((kind) => [kind, decisions.count(kind)]).filter(([, count]) => count);
    byId("progress-text").textContent = `${format.count(done)} of ${format.count(suspects)} decided` +
      (kinds.length ? ` (${kinds.map(([kind, count]) => `${kind} ${format.count(count)}`).join(", ")})` : "");
    byId("undo").disabled = !decisions.canUndo;
    byId("download-decisions").disabled = decisions.made.size === 0;
    byId("unkept").hidden = decisions.kept;
  }

  // ---------------------------------------------------------------- one label
  const inputs = table ? table.inputs : [];
  const detail = levelhead.makeDetail(byId("detail"),
    { given, predicted, std, p, verdict, z, findings, cells, rowOf, nameOf, neighbours, table, inputs, target: audit.target },
    decisionOf, { decide, choose: chooseAnywhere, leave: () => byId("grid").focus({ preventScroll: true }) });

  byId("detail").addEventListener("keydown", (event) => {
    const kind = KEYS[event.key.toLowerCase()];
    if (!kind || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input")) return;
    event.preventDefault();
    if (decisionOf(detail.shown)?.kind !== kind) decide(detail.shown, kind);
    if (kind === "fix") detail.edit();
  });

  const ring = (x, y, size, color, width) => ({ type: "circle", xref: "x", yref: "y", xsizemode: "pixel", ysizemode: "pixel",
    xanchor: x, yanchor: y, x0: -size, x1: size, y0: -size, y1: size, line: { color, width } });
  const onAxis = audit.log_scale ? Math.log10 : (value) => value;
  const POINTS = {
    labels: (l) => [onAxis(predicted[l]), onAxis(given[l])], scores: (l) => [place[l] + 1, Math.asinh(z(l))],
    spread: (l) => [predicted[l], Math.log10(std[l])], alpha: (l) => [predicted[l], Math.log10(alpha?.[l])],
  };
  const MOST_RINGS = 300;
  let marked = []; // the rows of the marked segment
  function choose(label) {
    detail.show(label);
    const near = neighbours(label);
    for (const [name, point] of Object.entries(POINTS)) {
      const rings = [...marked.map((other) => ring(...point(other), 7, "var(--green)", 1.2)),
        ...near.map((other) => ring(...point(other), 6, "var(--blue)", 1.5)), ring(...point(label), 10, "var(--ink)", 2.5)];
      levelhead.overlay(name, rings.filter(({ xanchor, yanchor }) => Number.isFinite(xanchor) && Number.isFinite(yanchor)));
    }
  }
  /* Select a label that may be hidden by the filters. */
  function chooseAnywhere(label) {
    const at = grid.has(label);
    if (at >= 0) grid.activate(at); else choose(label);
  }
  levelhead.onPoint((label) => { if (label >= 0) chooseAnywhere(label); });

  /* The range of the trusted labels; large errors would compress all other points. */
  function trustedRange(values) {
    let low = Infinity, high = -Infinity;
    for (let l = 0; l < n; l++) if (verdict[l] === 0) { low = Math.min(low, values[l]); high = Math.max(high, values[l]); }
    const room = 0.06 * (onAxis(high) - onAxis(low) || 1);
    return [onAxis(low) - room, onAxis(high) + room];
  }
  byId("closer").addEventListener("click", ({ currentTarget: button }) => {
    const closer = button.getAttribute("aria-pressed") === "false" && verdict.includes(0);
    button.setAttribute("aria-pressed", closer);
    levelhead.zoom("labels", closer ? { xaxis: trustedRange(predicted), yaxis: trustedRange(given) } : {});
  });

  // ---------------------------------------------------------------- downloads
  const file = audit.file;
  function downloadDecisions() {
    const head = ["row", ...(table?.id == null ? [] : [table.names[table.id]]), "given_label", "predicted_label", "std", "z", "p_outlier", "decision", "new_label", "column"];
    const rows = [...decisions.made].sort(([a], [b]) => place[a] - place[b]).map(([l, { kind, value }]) =>
      [place[l] + 1, ...(table?.id == null ? [] : [nameOf(l)]), given[l], predicted[l], std[l], z(l), p[l], kind, kind === "fix" ? value : "", audit.target]);
    levelhead.csv.download(`${file}-decisions.csv`, [head, ...rows].map(levelhead.csv.line));
  }
  async function downloadCleaned() {
    const byPlace = new Map([...decisions.made].map(([label, decision]) => [place[label], decision]));
    const out = [];
    if (table?.complete) {
      await readLines();
      out.push(levelhead.csv.line(table.names));
      for (let row = 0; row < table.rows; row++) {
        const decision = byPlace.get(row), line = JSON.parse(lines[row]);
        if (decision?.kind === "drop") continue;
        if (decision?.kind === "fix") line[table.target] = decision.value;
        out.push(levelhead.csv.line(line));
      }
    } else {
      out.push(levelhead.csv.line(["row", audit.target]));
      for (let l = 0; l < n; l++) {
        const decision = decisionOf(l);
        if (decision?.kind !== "drop") out.push(levelhead.csv.line([place[l] + 1, decision?.kind === "fix" ? decision.value : given[l]]));
      }
    }
    levelhead.csv.download(`${file}-cleaned.csv`, out);
  }

  // ---------------------------------------------------------------- print
  /* The grid holds only the visible rows; on paper, a table shows all of them, with its header on every page. */
  const MOST_PRINTED = 1000;
  function printedTable() {
    const h = levelhead.element, labels = Array.from(grid.labels.subarray(0, MOST_PRINTED));
    const cell = (column, text) => h("td", { class: column.number ? "number" : null }, text);
    const head = h("tr", {}, ...shownColumns.map((column) => h("th", { scope: "col", class: column.number ? "number" : null }, column.title)));
    const rows = labels.map((label) => h("tr", {}, ...shownColumns.map((column) => cell(column, column.text(label)))));
    const left = grid.labels.length - labels.length;
    return [h("table", { class: "plain" }, h("thead", {}, head), h("tbody", {}, ...rows)),
      left ? h("p", {}, `${format.count(left)} further labels are not printed.`) : ""];
  }
  addEventListener("beforeprint", () => byId("printed").replaceChildren(...printedTable()));
  addEventListener("afterprint", () => byId("printed").replaceChildren());

  // ---------------------------------------------------------------- kinds and segments
  function fillFilter(name, options) {
    byId(`${name}-box`).hidden = options.length === 0;
    byId(name).append(...options.map(([value, text]) => levelhead.element("option", { value }, text)));
  }
  fillFilter("kind", findings.kinds.map((kind) => [kind, kind]));
  fillFilter("segment", findings.segments.map(({ where }, at) => [at, where]));

  function markSegment() {
    const chosen = byId("segment").value;
    marked = chosen === "any" ? [] : Array.from(findings.segments[Number(chosen)].rows.subarray(0, MOST_RINGS));
    for (const button of document.querySelectorAll("[data-segment]")) button.setAttribute("aria-pressed", button.dataset.segment === chosen);
    refilter();
    if (grid.labels.length) grid.activate(0); else if (detail.shown >= 0) choose(detail.shown);
  }
  byId("segment").addEventListener("change", markSegment);
  for (const button of document.querySelectorAll("[data-segment]")) button.addEventListener("click", () => {
    const was = button.getAttribute("aria-pressed") === "true";
    byId("segment").value = was ? "any" : button.dataset.segment;
    if (!was) byId("show").value = "all";
    markSegment();
    if (!was) byId("suspects").scrollIntoView({ block: "start" });
  });
  document.querySelector("[data-bulk=repair]").hidden = !findings.kinds.some((kind) => kind !== "unknown");

  /* The decision of a bulk action; a repair leaves labels alone whose error is not known. */
  function bulkDecision(label, kind) {
    if (kind === "clear") return null;
    if (kind !== "repair") return { kind };
    const value = findings.repairOf(label);
    return value === undefined ? decisionOf(label) ?? null : { kind: "fix", value };
  }

  // ---------------------------------------------------------------- wiring
  for (const id of ["show", "side", "decided", "kind"]) byId(id).addEventListener("change", refilter);
  let waiting = 0;
  byId("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(refilter, 120); });
  byId("search").addEventListener("keydown", (event) => { if (event.key === "ArrowDown" || event.key === "Enter") { event.preventDefault(); byId("grid").focus(); if (grid.active < 0) grid.activate(0); } });
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("undo").addEventListener("click", undo);
  byId("download-decisions").addEventListener("click", downloadDecisions);
  const cleaned = byId("download-cleaned");
  cleaned.addEventListener("click", downloadCleaned);
  cleaned.disabled = !table?.complete && !audit.all_labels;
  if (!table?.complete) cleaned.textContent = "Cleaned labels (CSV)";
  if (cleaned.disabled) cleaned.title = "The table is too large for this page. Download the decisions and apply them to your file by row number.";
  else cleaned.title = "Rows marked drop are removed, labels marked fix are replaced; all other rows are unchanged.";
  for (const button of document.querySelectorAll("[data-bulk]")) button.addEventListener("click", () => {
    const kind = button.dataset.bulk;
    decisions.change(grid.labels, (label) => bulkDecision(label, kind));
    byId("bulk").open = false;
    if (detail.shown >= 0) detail.show(detail.shown);
    update();
    announce(`${format.count(grid.labels.length)} labels: ${kind}`);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    byId("search").focus();
  });

  if (!verdict.includes(2)) byId("show").value = verdict.includes(1) ? "suspect" : "all";
  refilter();
  update();
  if (grid.labels.length) choose(grid.labels[0]);
  performance.mark("levelhead-ready");
  document.documentElement.dataset.ready = "yes";
  if (window.requestIdleCallback) requestIdleCallback(readLines, { timeout: 1000 }); else setTimeout(readLines, 200);
})());
