"use strict";
// Filters, sorts, unfolds and saves. What it shows is in the page already, and its state is in the address.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, properties, ...children) => {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...children);
    return element;
  };
  const tables = all("table.rows");
  const rows = tables.flatMap((table) => [...table.tBodies]).map((body, index) => {
    const th = body.querySelector("th");
    return { body, index, th, name: th.textContent.trim(), table: body.closest("table"), kind: body.className,
      keys: body.dataset.s ? body.dataset.s.split(",").map(Number) : [] };
  });
  const changed = ["regressed", "slower", "accepted", "improved", "faster"];
  const open = [...changed, "failed", "incomparable", "inconclusive"];
  const groups = { all: null, changed, open };
  const state = { q: "", show: "all", sort: "", on: null };
  const output = make("output", {});
  let search, choice;

  function unfold(row, is) {
    const detail = row.body.querySelector(".d");
    if (!detail) return;
    detail.classList.toggle("on", is);
    detail.querySelector("details").open = is;
    row.button.setAttribute("aria-expanded", is);
  }
  const unfolded = () => rows.filter((row) => row.button && row.button.getAttribute("aria-expanded") === "true");

  function apply() {
    const wanted = groups[state.show] === undefined ? [state.show] : groups[state.show];
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of rows) {
      const name = row.name.toLowerCase();
      const is = (!wanted || wanted.includes(row.kind)) && words.every((word) => name.includes(word));
      row.body.hidden = !is;
      shown += is;
    }
    output.textContent = `${shown} of ${rows.length} shown`;
    const descending = state.sort.startsWith("-");
    const column = state.sort.replace("-", "");
    const sign = descending ? -1 : 1;
    const byColumn = (one, other) => {
      if (column === "") return 0;
      if (column === "name") return sign * one.name.localeCompare(other.name, undefined, { numeric: true });
      const [a, b] = [one.keys[column], other.keys[column]];
      // What has no value is last in both directions.
      if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
      return sign * (a - b);
    };
    for (const table of tables) {
      const own = rows.filter((row) => row.table === table);
      table.append(...own.sort((a, b) => byColumn(a, b) || a.index - b.index).map((row) => row.body));
      for (const th of table.tHead.rows[0].cells) {
        if (!th.dataset.key) continue;
        const is = th.dataset.key === column;
        th.setAttribute("aria-sort", is ? (descending ? "descending" : "ascending") : "none");
      }
    }
  }

  function write() {
    const words = new URLSearchParams();
    if (state.q) words.set("q", state.q);
    if (state.show !== "all") words.set("show", state.show);
    if (state.sort) words.set("sort", state.sort);
    if (state.on) words.set("on", unfolded().map((row) => row.body.id).join("."));
    try {
      history.replaceState(null, "", words.size || state.on ? `#${words}` : location.href.split("#")[0]);
    } catch { /* A page in a frame may have no address. */ }
  }

  function read() {
    const words = new URLSearchParams(location.hash.slice(1));
    state.q = words.get("q") || "";
    state.show = words.get("show") || "all";
    state.sort = words.get("sort") || "";
    state.on = words.has("on");
    if (search) {
      search.value = state.q;
      choice.value = state.show;
      if (choice.selectedIndex < 0) choice.value = state.show = "all";
    }
    const on = state.on ? words.get("on").split(".") : [];
    for (const row of rows) if (row.button) unfold(row, state.on ? on.includes(row.body.id) : "o" in row.body.dataset);
    const target = rows.find((row) => `#${row.body.id}` === location.hash);
    if (target && target.button) unfold(target, true);
    apply();
  }

  function set(change) {
    Object.assign(state, change);
    apply();
    write();
  }

  async function save() {
    const bytes = Uint8Array.from(atob(data.textContent), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    const json = await new Response(stream).text();
    const link = make("a", { download: `${data.dataset.name}.json`, href: URL.createObjectURL(new Blob([json])) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  const data = document.getElementById("data");
  const tools = make("div", { className: "tools", role: "group", ariaLabel: "Filter, sort and save" });
  if (rows.length) {
    document.documentElement.classList.add("js");
    for (const table of tables) {
      const heads = [...table.tHead.rows[0].cells];
      heads.forEach((th, index) => {
        if (!th.textContent.trim() || th.classList.contains("plot") || index === heads.length - 1) return;
        th.dataset.key = index === 0 ? "name" : th.dataset.k || String(index - 1);
        const button = make("button", { type: "button" }, ...th.childNodes);
        button.addEventListener("click", () => {
          const key = th.dataset.key;
          // Numbers begin with the largest, names with the first; a third click restores the order.
          const order = key === "name" ? [key, `-${key}`, ""] : [`-${key}`, key, ""];
          set({ sort: order[(order.indexOf(state.sort) + 1) % 3] });
        });
        th.append(button);
      });
    }
    for (const row of rows) {
      if (!row.body.querySelector(".d")) continue;
      row.button = make("button", { type: "button" }, ...row.th.childNodes);
      row.th.replaceChildren(row.button);
      row.button.addEventListener("click", () => {
        unfold(row, row.button.getAttribute("aria-expanded") !== "true");
        set({ on: true });
      });
    }
    search = make("input", { type: "search", autocomplete: "off", spellcheck: false });
    search.addEventListener("input", () => set({ q: search.value }));
    choice = make("select", {});
    const kinds = [...new Set(rows.map((row) => row.kind))].filter((kind) => kind);
    const names = { all: "everything", changed: "changes only", open: "changes and what is open", incomparable: "not comparable",
      undecided: "not decided" };
    for (const value of ["all", "changed", "open", ...kinds]) choice.append(make("option", { value }, names[value] || value));
    choice.addEventListener("change", () => set({ show: choice.value }));
    const part = (text, element) => make("label", {}, text, element);
    tools.append(part("Benchmarks whose names contain", search), part("Show", choice));
  }
  if (data && typeof DecompressionStream === "function") {
    const button = make("button", { type: "button" }, "Save as JSON");
    button.addEventListener("click", save);
    tools.append(button);
  }
  if (rows.length) tools.append(output);
  const place = tables[0] || document.querySelector("main > section, main > pre, main > .scroll");
  if (tools.childNodes.length && place) place.before(tools);
  if (rows.length) {
    read();
    addEventListener("hashchange", read);
  }
})();
