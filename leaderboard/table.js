"use strict";

/* Sorts, searches, filters and narrows the tables of systems, and ticks those to compare. What is chosen stands in the
   address after "#", so that a link keeps it; everything is read from the table itself, and nothing is fetched or
   stored. */
(() => {
  let update = () => {};
  const replace = history.replaceState.bind(history);
  const push = history.pushState.bind(history); // a choice is a step that Back undoes

  function start(table, tools) {
    tools.style.display = "flex"; // for browsers that do not know the media feature "scripting"

    const heads = [...table.tHead.rows[0].cells];
    const bodies = [...table.tBodies];
    const rows = bodies.map((body) => [...body.rows].filter((row) => !row.classList.contains("hf-group")));
    const every = rows.flat();
    const titles = heads.map((head) => head.textContent.trim());
    const column = (title) => titles.indexOf(title);
    const find = tools.querySelector("[type=search]");
    const order = tools.querySelector("#order");
    const filters = [...tools.querySelectorAll("select[data-column]")];
    const none = Object.fromEntries(filters.map((select) => [select.id, ""]));
    const boxes = [...tools.querySelectorAll("[type=checkbox][value]")];
    const status = tools.querySelector("[role=status]");
    const picture = document.querySelector(".hf-ranking"); // in another tab: it follows the filters, and says so
    const pageOf = (row) => row.querySelector("a")?.href;
    const bars = new Map([...(picture?.querySelectorAll("li") ?? [])].map((bar) => [pageOf(bar), bar]));
    const narrowed = document.createElement("p");
    picture?.prepend(narrowed);
    const keyOf = (title) => (title === "#" ? "rank" : title.toLowerCase().replaceAll(" ", "-"));
    const sortable = titles.flatMap((title, at) => (heads[at].querySelector(".hf-unseen") ? [] : [at]));
    const hidden = boxes.filter((box) => !box.checked).map((box) => keyOf(titles[box.value - 1])).join(",");
    const initial = { sort: "", find: "", ...none, hide: hidden, compare: "" };
    let state = { ...initial };
    let sorted = "";
    let dropped = "";

    const upper = (row, at) => row.cells[at]?.firstChild?.textContent.trim() ?? "";
    const groupOf = (row, select) => {
      const at = column(select.dataset.column);
      return row.cells[at]?.dataset.group ?? upper(row, at);
    };
    const number = (text) =>
      Number.parseFloat(/[-+\u2212]?\d[\d,.]*/.exec(text)?.[0].replaceAll(",", "").replace("\u2212", "-") ?? "NaN");
    const isText = (at) => ["hf-name", "hf-text"].some((kind) => heads[at].classList.contains(kind));
    const risesFirst = (at) => isText(at) || ["#", "Cost", "No answer"].includes(titles[at]);
    const texts = new Map(); // of each row, in small letters, made when they are first asked for

    function read() {
      const given = new URLSearchParams(location.hash.slice(1));
      const known = Object.keys(initial).map((key) => [key, (given.get(key) ?? initial[key]).slice(0, 400)]);
      state = Object.fromEntries(known);
    }

    function write(step) {
      const kept = Object.entries(state).filter(([key, value]) => value !== initial[key]);
      const hash = new URLSearchParams(kept).toString();
      (step ? push : replace)(history.state, "", location.pathname + location.search + (hash ? "#" + hash : ""));
    }

    function sort() {
      if (state.sort === sorted) return;
      sorted = state.sort;
      const falling = state.sort.startsWith("-");
      const at = sortable.find((k) => keyOf(titles[k]) === state.sort.replace("-", ""));
      table.classList.toggle("hf-sorted", at !== undefined && titles[at] !== "#");
      heads.forEach((head, k) => {
        if (k === at) head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        else head.removeAttribute("aria-sort");
      });
      const turn = falling ? -1 : 1;
      bodies.forEach((body, k) => {
        const ordered = [...rows[k]];
        if (at !== undefined) {
          const keys = new Map(ordered.map((row) => [row, isText(at) ? upper(row, at) : number(upper(row, at))]));
          const compare = isText(at) ? (a, b) => turn * a.localeCompare(b) : byNumber(turn);
          ordered.sort((a, b) => compare(keys.get(a), keys.get(b)));
        }
        body.append(...ordered);
      });
    }

    const byNumber = (turn) => (a, b) =>
      Number.isNaN(a) || Number.isNaN(b) ? Number(Number.isNaN(a)) - Number(Number.isNaN(b)) : turn * (a - b);

    function filter() {
      const wanted = state.find.toLowerCase();
      const system = column("System");
      for (const row of every) {
        if (wanted && !texts.has(row)) texts.set(row, row.cells[system].textContent.toLowerCase());
        row.hidden = Boolean(
          (wanted && !texts.get(row).includes(wanted)) ||
            filters.some((select) => state[select.id] && groupOf(row, select) !== state[select.id]),
        );
        bars.get(pageOf(row))?.toggleAttribute("hidden", row.hidden);
      }
      bodies.forEach((body, k) => (body.hidden = rows[k].every((row) => row.hidden)));
      const left = every.filter((row) => !row.hidden).length;
      const counted = every.some((row) => row.hidden && number(upper(row, 0)) > 0) ? "; ranks count the hidden too" : "";
      status.textContent = left < every.length ? `${left} of ${every.length} systems shown${counted}` : "";
      narrowed.textContent = status.textContent;
      if (narrowed.textContent) {
        offerButton(narrowed, "Clear search and filters", { find: "", ...none });
        for (const more of picture?.querySelectorAll("details") ?? []) more.open = true;
      }
      if (dropped) status.textContent += (status.textContent && ".") + dropped;
      if (!left) offerButton(status, "Clear search and filters", { find: "", ...none });
    }

    function offerButton(place, text, change) {
      const all = document.createElement("button");
      all.type = "button";
      all.textContent = text;
      all.addEventListener("click", () => choose(change));
      place.append(" ", all);
    }

    function hide() {
      const hidden = state.hide.split(",");
      for (const box of boxes) {
        const away = hidden.includes(keyOf(titles[box.value - 1]));
        box.checked = !away;
        table.classList.toggle("hf-hide-" + box.value, away);
      }
      table.classList.toggle("hf-wider", boxes.some((box) => box.checked && !box.defaultChecked));
    }

    /* Two to five ticked systems, named by their pages, lead to their comparison. */
    const most = 5;
    const ticks = new Map(tools.dataset.compare ? every.flatMap(offerTick) : []);
    const bar = document.createElement("p");
    bar.className = "hf-ticked";
    bar.setAttribute("role", "status");
    if (ticks.size) tools.after(bar);

    function offerTick(row) {
      const name = row.querySelector("td.hf-name a")?.pathname.split("/").pop().replace(/\.html$/, "");
      if (!name) return [];
      const box = document.createElement("input");
      box.type = "checkbox";
      box.className = "hf-tick";
      box.setAttribute("aria-label", `Compare ${upper(row, column("System"))}`);
      box.addEventListener("change", () => {
        const others = ticked().filter((one) => one !== name);
        choose({ compare: [...others, ...(box.checked ? [name] : [])].join(",") }, false);
      });
      box.addEventListener("keydown", (event) => event.key === "Enter" && bar.querySelector("a")?.click());
      const target = document.createElement("label"); // larger than the box, for fingers
      target.className = "hf-box";
      target.append(box);
      row.cells[0].append(target);
      return [[name, box]];
    }

    const ticked = () => state.compare.split(",").filter((name) => ticks.has(name)).slice(0, most);

    function showTicks() {
      const names = ticked();
      for (const [name, box] of ticks) {
        box.checked = names.includes(name);
        box.disabled = !box.checked && names.length === most;
      }
      bar.textContent = names.length ? `${names.length} of at most ${most} systems ticked. ` : "";
      if (names.length > 1) {
        const way = document.createElement("a");
        const keys = ["one", "two", "three", "four", "five"];
        way.href = `${tools.dataset.compare}#${new URLSearchParams(names.map((name, at) => [keys[at], name]))}`;
        way.textContent = "Compare them";
        bar.append(way);
      }
      if (names.length) offerButton(bar, "Untick all", { compare: "" });
    }

    function show() {
      find.value = state.find;
      for (const select of [...filters, order]) {
        const key = select === order ? "sort" : select.id;
        select.value = state[key];
        if (select.selectedIndex >= 0) continue;
        select.value = "";
        // The menu has one direction of each column, heads have both.
        if (key === "sort" && sortable.some((at) => keyOf(titles[at]) === state.sort.replace("-", ""))) continue;
        dropped += ` The address asked for ${key} “${state[key].slice(0, 60)}”, which is not here, so it was ignored.`;
        state[key] = "";
        write(false);
      }
      sort();
      filter();
      hide();
      showTicks();
    }

    function choose(change, step = true) {
      state = { ...state, ...change };
      dropped = "";
      write(step);
      show();
    }

    function press(at) {
      const key = keyOf(titles[at]);
      const first = (risesFirst(at) ? "" : "-") + key;
      const second = (risesFirst(at) ? "-" : "") + key;
      choose({ sort: state.sort === first ? second : state.sort === second ? "" : first });
    }

    function offer(select, values) {
      [...new Set(values)].filter((text) => text && text !== "\u2013").sort().forEach((text) => select.add(new Option(text, text)));
      select.parentElement.hidden = select.options.length < 3;
    }

    for (const at of sortable) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = titles[at];
      button.title = "Sort";
      if (titles[at] === "#") button.setAttribute("aria-label", "Rank");
      button.addEventListener("click", () => press(at));
      heads[at].replaceChildren(button);
      order.add(new Option(titles[at] === "#" ? "Rank" : titles[at], (risesFirst(at) ? "" : "-") + keyOf(titles[at])));
    }
    filters.forEach((select) => offer(select, every.map((row) => groupOf(row, select))));
    const more = tools.querySelector(".hf-more");
    more.addEventListener("click", () => more.setAttribute("aria-expanded", String(tools.classList.toggle("hf-open"))));
    find.addEventListener("input", () => choose({ find: find.value.trim() }, false));
    for (const select of filters)
      select.addEventListener("change", () => choose({ [select.id]: select.value }));
    order.addEventListener("change", () => choose({ sort: order.value }));
    for (const box of boxes) {
      box.addEventListener("change", () =>
        choose({ hide: boxes.filter((one) => !one.checked).map((one) => keyOf(titles[one.value - 1])).join(",") }),
      );
    }
    // On phones a tap or a button unfolds a row, elsewhere a click opens the system's page.
    table.addEventListener("click", (event) => {
      const row = event.target.closest("tbody tr:not(.hf-group)");
      if (!row || event.target.closest("a, button, input") || String(getSelection())) return;
      if (phone.matches) unfold(row);
      else row.querySelector("a")?.click();
    });
    const phone = matchMedia("(max-width: 699.9px)");
    function unfold(row) {
      const open = row.classList.toggle("hf-unfolded");
      row.querySelector(".hf-fold")?.setAttribute("aria-expanded", String(open));
    }
    function offerMore() {
      for (const row of phone.matches && !table.querySelector(".hf-fold") ? every : []) {
        const button = document.createElement("button");
        button.type = "button";
        button.className = "hf-fold";
        button.textContent = "\u25be";
        button.setAttribute("aria-label", `More about ${upper(row, column("System"))}`);
        button.setAttribute("aria-expanded", "false");
        button.addEventListener("click", () => unfold(row));
        row.cells[2].append(button);
      }
    }
    phone.addEventListener("change", offerMore);
    offerMore();
    update = () => {
      if (location.hash.includes("=") || !location.hash) {
        read();
        show();
        const tab = tools.closest(".hf-tabs > section");
        const place = tab ? [...tab.parentElement.querySelectorAll(":scope > section")].indexOf(tab) : -1;
        if (location.hash && place >= 0) document.getElementById(`tab-${place}`).checked = true;
      }
    };
    if (location.hash.includes("=")) update();
    else hide();
    tools.dataset.ready = "";
  }

  function look() {
    const tools = document.querySelector(".hf-tools:not([data-ready])");
    const table = tools?.parentElement.querySelector(".hf-standings");
    if (table) start(table, tools);
  }

  addEventListener("hashchange", () => update());
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", look);
  else look();
})();
