"use strict";
/* A table of any length: only the visible rows are in the document. */

levelhead.format = (() => {
  const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 5 });
  const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
  const exact = new Intl.NumberFormat("en", { maximumSignificantDigits: 10 });
  const seven = new Intl.NumberFormat("en", { maximumSignificantDigits: 7 });
  const tidy = (x, form) => {
    if (!Number.isFinite(x)) return "–";
    const size = Math.abs(x);
    if (size !== 0 && (size < 1e-4 || size >= 1e10)) return x.toExponential(3).replace("-", "−");
    return form.format(x).replace("-", "−");
  };
  /* The power of ten of the last digit that a standard deviation leaves meaningful: two digits of it are kept. */
  const lastDigit = (std) => (std > 0 && Number.isFinite(std) ? Math.floor(Math.log10(std)) - 1 : null);
  const rounded = (x, std) => {
    const digit = lastDigit(std);
    if (digit === null || digit < -12) return Number(x.toPrecision(5));
    return digit < 0 ? Number(x.toFixed(-digit)) : Math.round(x / 10 ** digit) * 10 ** digit;
  };
  const withNoise = (x, std) => {
    const digit = lastDigit(std), decimals = digit === null ? -1 : Math.max(0, -digit);
    if (decimals < 0 || decimals > 12 || !Number.isFinite(x) || Math.abs(x) >= 1e10) return tidy(x, plain);
    return (rounded(x, std) + 0).toLocaleString("en", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }).replace("-", "−");
  };
  return {
    rounded, withNoise,
    number: (x) => tidy(x, plain),
    short: (x) => tidy(x, short),
    cell: (x) => tidy(x, seven),
    exact: (x) => tidy(x, exact),
    z: (x) => (Math.abs(x) < 100 ? x.toFixed(1) : plain.format(Math.round(x))).replace("-", "−"),
    chance: (p) => (p > 0.9995 ? ">99.9 %" : p < 0.0005 ? "<0.1 %" : `${(100 * p).toFixed(1)} %`),
    count: (n) => n.toLocaleString("en"),
  };
})();

/* An element with properties and children; text is never read as HTML. */
levelhead.element = (tag, properties = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
};

levelhead.choiceButtons = (h, long) => ["keep", "fix", "drop"].map((kind) =>
  h("button", { type: "button", "data-decision": kind, "aria-pressed": "false", tabindex: long ? null : "-1", title: kind, "aria-label": kind },
    kind[0].toUpperCase(), h("span", { class: long ? null : "wide-only" }, kind.slice(1))));

/*
columns: [{key, title, text(label), value(label), number, wide, width}]
events: activate(label), open(label), decide(label, kind), key(event), sort(key)
*/
levelhead.makeGrid = (element, columns, decisionOf, events) => {
  const h = levelhead.element, OVERSCAN = 8;
  let labels = new Int32Array(0), active = -1, sorted = { key: null, down: true };
  const pool = [];

  const head = h("div", { class: "grid-head", role: "row", "aria-rowindex": 1 });
  const space = h("div", { class: "grid-space", role: "rowgroup" });
  const empty = h("p", { class: "grid-empty" }, "No labels match these filters.");
  empty.hidden = true;
  const headers = new Map();
  for (const column of columns) {
    const button = h("button", { type: "button", onclick: () => events.sort(column.key) }, column.title);
    const cell = h("div", { role: "columnheader", class: classes(column) }, button);
    headers.set(column.key, cell);
    head.append(cell);
  }
  element.append(head, space, empty);

  function classes(column) {
    return [column.number && "num", column.wide && "wide-only", column.key === "decision" && "decision"].filter(Boolean).join(" ") || null;
  }

  const narrow = matchMedia("(max-width: 640px)");
  function layout() {
    const seen = columns.filter((column) => !(narrow.matches && column.wide));
    element.style.setProperty("--columns", seen.map((column) => (narrow.matches ? column.narrow : column.width) ?? "minmax(0, 1fr)").join(" "));
    render();
  }

  const rowHeight = () => head.offsetHeight || 40;

  function blank() {
    const row = h("div", { class: "grid-row", role: "row" });
    for (const column of columns) {
      const cell = h("div", { role: "gridcell", class: classes(column) });
      if (column.key === "decision") cell.append(h("span", { class: "choice" }, ...levelhead.choiceButtons(h, false)));
      row.append(cell);
    }
    return row;
  }

  function fill(row, index) {
    const label = labels[index], height = rowHeight();
    row.id = `grid-row-${index}`;
    row.dataset.index = index;
    row.setAttribute("aria-rowindex", index + 2);
    row.setAttribute("aria-selected", index === active);
    row.style.transform = `translateY(${index * height}px)`;
    columns.forEach((column, place) => {
      const cell = row.children[place];
      if (column.key !== "decision") {
        const text = column.text(label);
        if (cell.textContent !== text) cell.textContent = cell.title = text;
        return;
      }
      const kind = decisionOf(label)?.kind;
      for (const button of cell.querySelectorAll("button")) button.setAttribute("aria-pressed", button.dataset.decision === kind);
    });
  }

  function render() {
    const height = rowHeight(), top = element.scrollTop;
    space.style.height = `${labels.length * height}px`;
    const first = Math.max(0, Math.floor(top / height) - OVERSCAN);
    const last = Math.min(labels.length, Math.ceil((top + element.clientHeight) / height) + OVERSCAN);
    while (pool.length < last - first) pool.push(space.appendChild(blank()));
    pool.forEach((row, place) => {
      row.hidden = first + place >= last;
      row.style.display = row.hidden ? "none" : "";
      if (!row.hidden) fill(row, first + place);
    });
    empty.hidden = labels.length > 0;
    if (active >= first && active < last) element.setAttribute("aria-activedescendant", `grid-row-${active}`);
    else element.removeAttribute("aria-activedescendant");
  }

  function show(index) {
    const height = rowHeight(), top = index * height, room = element.clientHeight - height; // the head covers a row
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + height > element.scrollTop + room) element.scrollTop = top + height - room;
  }

  function activate(index) {
    if (!labels.length) return;
    active = Math.max(0, Math.min(labels.length - 1, index));
    show(active);
    render();
    events.activate(labels[active]);
  }

  /* Show other labels or another order; the active label stays active if it is still shown. */
  function set(next, order) {
    const was = active >= 0 ? labels[active] : -1;
    labels = next;
    sorted = order;
    element.setAttribute("aria-rowcount", labels.length + 1);
    for (const [key, cell] of headers) {
      if (key === sorted.key) cell.setAttribute("aria-sort", sorted.down ? "descending" : "ascending");
      else cell.removeAttribute("aria-sort");
    }
    active = was < 0 ? -1 : labels.indexOf(was);
    if (active < 0) element.scrollTop = 0; else show(active);
    render();
  }

  const page = () => Math.max(1, Math.floor(element.clientHeight / rowHeight()) - 2);
  const MOVES = {
    ArrowDown: () => active + 1, ArrowUp: () => active - 1, PageDown: () => active + page(), PageUp: () => active - page(),
    Home: () => 0, End: () => labels.length - 1,
  };

  element.addEventListener("keydown", (event) => {
    if (event.target !== element || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in MOVES) activate(MOVES[event.key]());
    else if (event.key === "Enter" && active >= 0) events.open(labels[active]);
    else if (!events.key(event, active >= 0 ? labels[active] : -1)) return;
    event.preventDefault();
  });
  element.addEventListener("click", (event) => {
    const row = event.target.closest(".grid-row");
    if (!row) return;
    const index = Number(row.dataset.index), button = event.target.closest("button[data-decision]");
    if (button) events.decide(labels[index], button.dataset.decision);
    activate(index);
    element.focus({ preventScroll: true });
  });
  element.addEventListener("scroll", () => requestAnimationFrame(render), { passive: true });
  new ResizeObserver(render).observe(element);
  narrow.addEventListener("change", layout);
  layout();

  return { set, render, activate, has: (label) => labels.indexOf(label), get labels() { return labels; }, get active() { return active; } };
};
