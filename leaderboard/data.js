"use strict";

/* What pages load when somebody asks for it: samples with what was said of them, comparisons of any two systems. Data
   come as scripts that set `hfLoaded`, as a page that is opened from disk may load nothing else. What is chosen stands
   in the address after "#". HTML in the data was made, and escaped, by the same code as the pages. */
(() => {
  const DAY = 864e5;
  const STEP = 25; // samples that one press shows more of
  const known = new Map();

  function load(address) {
    if (!known.has(address))
      known.set(
        address,
        new Promise((done, failed) => {
          const script = document.createElement("script");
          script.src = address;
          script.onload = () => done(globalThis.hfLoaded);
          script.onerror = () => failed(new Error(address));
          document.head.append(script);
        }),
      );
    return known.get(address);
  }

  function el(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(key, value);
    made.append(...children.filter((child) => child !== null));
    return made;
  }

  function html(source, name = "div", attributes = {}) {
    const made = el(name, attributes);
    made.innerHTML = source;
    return made;
  }

  const named = (text) => el("bdi", {}, text);
  const chosen = () => new URLSearchParams(location.hash.slice(1));

  /* Put choices into the address: a step that Back undoes, unless somebody is still typing. */
  function keep(change, step = true) {
    const all = chosen();
    for (const [key, value] of Object.entries(change)) value ? all.set(key, value) : all.delete(key);
    const hash = all.toString();
    history[step ? "pushState" : "replaceState"](history.state, "", location.pathname + location.search + (hash ? "#" + hash : ""));
  }

  /* A labelled box; options are pairs of value and text. */
  function select(tools, key, label, options, changed) {
    const box = el("select", { id: "hf-" + key }, ...options.map(([value, text]) => new Option(text, value)));
    box.value = chosen().get(key) ?? options[0][0];
    if (box.selectedIndex < 0) box.selectedIndex = 0;
    box.addEventListener("change", () => changed(key, box.value));
    tools.append(el("div", {}, el("label", { for: box.id }, label), box));
    return box;
  }

  function table(kind, caption, heads, rows) {
    const row = (cells) =>
      el("tr", { role: "row" }, ...cells.map((content, at) => {
        const [first, small] = Array.isArray(content) ? content : [content, null];
        const drawn = heads[at][0] === "drawn";
        const label = drawn ? null : heads[at][1];
        const cell = el("td", { class: "hf-" + heads[at][0], role: "cell", "data-label": label }, first);
        if (small) cell.append(el("small", {}, small));
        return cell;
      }));
    const titles = heads.map(([form, title]) => el("th", { scope: "col", class: "hf-" + form, role: "columnheader" }, title));
    return el("table", { class: "hf-table " + kind, role: "table" }, el("caption", {}, caption),
      el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, ...titles)),
      el("tbody", { role: "rowgroup" }, ...rows.map(row)));
  }

  function heading(title, text) {
    return el("div", { class: "hf-heading" }, el("h2", {}, title), text ? el("p", {}, text) : null);
  }

  /* Samples: a list to narrow, and one of them opened. */
  function samples(place, data) {
    const base = place.dataset.src.replace(/[^/]*$/, "");
    const tools = place.querySelector(".hf-filters");
    const status = place.querySelector("[role=status]");
    const opened = place.querySelector("#sample");
    const shown = place.querySelector("table.hf-samples");
    const titles = [...shown.tHead.rows[0].cells].map((cell) => cell.textContent); // rows have the page's own columns
    const numbers = new Map(data.systems.map(([origin], at) => [origin, at]));
    const columns = Object.entries(data.samples);
    const rows = data.samples.id.map((id, at) => {
      const row = Object.fromEntries(columns.map(([name, values]) => [name, values[at]]));
      return { ...row, at, text: `${id}\n${row.text}`.toLowerCase() };
    });
    const hard = {
      all: (row) => row.judged > 0 && row.right === row.judged,
      some: (row) => row.right > 0 && row.right < row.judged,
      none: (row) => row.judged > 0 && row.right === 0,
    };
    const said = (answer) => (typeof answer === "number" ? (data.classes[answer] ?? `label ${answer}`) : answer);
    const label = (row) => (row.label === null ? "not revealed" : said(row.label));
    let most = STEP;
    let listed = [];
    let dropped = "";
    let timer = 0;

    const any = (text, values) => [["", text], ...values];
    function change(key, value, step = true) {
      most = STEP;
      dropped = "";
      keep({ [key]: value, sample: "" }, step);
      opened.replaceChildren();
      list();
    }
    const find = el("input", { type: "search", id: "hf-search", maxlength: 100, autocomplete: "off", spellcheck: "false" });
    tools.append(el("div", {}, el("label", { for: "hf-search" }, titles[0] === "Text" ? "Search in texts" : "Find a sample"), find));
    find.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => change("search", find.value.trim(), false), 120);
    });
    const periods = [...new Set(rows.map((row) => row.period))].sort().map((name) => [name, name]);
    if (periods.length > 1) select(tools, "period", "Period", any("All periods", periods), change);
    if (data.right.length) {
      const [labelled, found] = [data.classes.length > 0, data.classes.length === 0];
      const labels = data.classes.map((name, at) => [String(at), name]).reverse();
      const who = [["all", "All were right"], ["some", "Some were right"], ["none", "None was right"]];
      if (labelled) select(tools, "label", "Label", any("Any label", labels), change);
      if (labelled) select(tools, "hard", "Systems", any("Any", who), change);
      const systems = data.systems.map(([origin, title]) => [origin, title]);
      select(tools, "right", found ? "Evidence found by" : "Right", any("Any system", systems), change);
      select(tools, "wrong", found ? "Not found by" : "Wrong", any("Any system", systems), change);
    }
    tools.style.display = "flex";

    function fits(given) {
      const [period, wanted, difficulty] = ["period", "label", "hard"].map((key) => given.get(key));
      const text = (given.get("search") ?? "").toLowerCase();
      const marks = [["right", "1"], ["wrong", "0"]]
        .filter(([key]) => given.get(key))
        .map(([key, mark]) => [data.right[numbers.get(given.get(key))] ?? "", mark]);
      return (row) =>
        (!period || row.period === period) &&
        (!wanted || String(row.label) === wanted) &&
        (!(difficulty in hard) || hard[difficulty](row)) &&
        marks.every(([line, mark]) => line[row.at] === mark) &&
        (!text || row.text.includes(text));
    }

    const address = (row) => "#" + new URLSearchParams({ ...Object.fromEntries(chosen()), sample: row.id });

    function list() {
      listed = rows.filter(fits(chosen()));
      status.textContent = `${listed.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} samples.${dropped}`;
      if (!listed.length) {
        const clear = el("button", { type: "button" }, "Clear search and filters");
        clear.addEventListener("click", () => {
          keep(Object.fromEntries([...chosen().keys()].map((key) => [key, ""])));
          read();
        });
        status.append(" ", clear);
      }
      const labelled = [["text", "Label"], ["number", "Right"]].slice(0, data.classes.length ? 2 : 0);
      const [dated, own] = ["Period", "Sample"].map((title) => (titles.lastIndexOf(title) > 0 ? [["text", title]] : []));
      const heads = [["name", titles[0]], ...labelled, ...dated, ...own];
      const lines = listed.slice(0, most).map((row) => {
        const way = el("a", { href: address(row) }, html(row.gist, "span"));
        const more = [label(row), row.judged ? `${row.right} of ${row.judged}` : "–"].slice(0, labelled.length);
        return [[way, row.small ? html(row.small, "span") : null], ...more, ...dated.map(() => row.period), ...own.map(() => row.id)];
      });
      const made = table("hf-samples hf-opens", "Samples", heads, lines);
      shown.tBodies[0].replaceWith(made.tBodies[0]);
      more.hidden = listed.length <= most;
    }
    const more = el("button", { type: "button", class: "hf-more-samples" }, "Show more");
    more.addEventListener("click", () => {
      most += 4 * STEP;
      list();
    });
    place.append(more);

    async function open(id, scroll) {
      const row = rows.find((one) => one.id === id);
      if (!row) {
        const said = Object.hasOwn(data.gone, id) ? `This sample was taken down: ${data.gone[id]}.` : "This edition has no such sample.";
        return opened.replaceChildren(el("p", {}, said));
      }
      const found = (await load(base + `${row.file}.js`))[id];
      const system = (at) => data.systems[at][1];
      const sure = (chance) => (chance === null ? null : `${Math.round(100 * chance)}% sure`);
      const quoted = (raw) => (raw === null ? null : `“${raw}”`);
      const parts = [html(found.html)];
      for (const [frame, text] of found.asked) {
        const wordings = data.asked.filter((one) => one.frame === frame);
        const all = new Set(wordings.flatMap((one) => one.systems));
        const who = all.size > 3 ? `${all.size} systems` : [...all].map(system).join(", ");
        const lines = wordings.map(({ prompt, instruction }) =>
          el("details", {}, el("summary", {}, named(prompt)), html(text + instruction, "blockquote", { class: "hf-said" })));
        parts.push(heading("What was asked", `Of ${who}, in ${lines.length === 1 ? "these words" : `${lines.length} wordings`}.`), ...lines);
      }
      if (found.said.length) {
        const heads = [["name", "System"], ["text", "Answer"], ["text", "Right?"], ["text", "By prompt"]];
        if (!data.classes.length) heads.length = 2;
        const lines = found.said.map(([at, answer, chance, others, raw]) => {
          const right = el("span", answer === row.label ? { class: "hf-right" } : {}, answer === row.label ? "✓ right" : "wrong");
          const wordings = others.map(([prompt, one, how, words]) =>
            el("div", {}, `${data.prompts[prompt]}: ${[said(one), sure(how), quoted(words)].filter(Boolean).join(", ")}`));
          const judged = row.label === null || !data.right.length ? "–" : right;
          const details = wordings.length ? el("div", {}, ...wordings) : "–";
          const small = [sure(chance), quoted(raw)].filter(Boolean).join(", ");
          return [named(system(at)), [said(answer), small || null], judged, details].slice(0, heads.length);
        });
        parts.push(heading("What systems said"), table("hf-answers", "Answers", heads, lines));
      }
      const folded = (at, small, source) =>
        el("details", {}, el("summary", {}, named(system(at)), small ? el("small", {}, ` ${small}`) : null), html(source));
      if (found.words.length)
        parts.push(heading("In their own words", data.words), ...found.words.map(([at, source]) => folded(at, "", source)));
      if (found.ways.length)
        parts.push(heading("How systems came to their answers", data.ways), ...found.ways.map(([at, small, source]) => folded(at, small, source)));
      shown.querySelector(".hf-opened")?.remove();
      const at = listed.indexOf(row);
      if (at >= most) {
        most = at + 1;
        list();
      }
      const close = el("button", { type: "button" }, "Close");
      const ways = [[at - 1, "Previous"], [at + 1, "Next"]].map(([there, text]) =>
        at >= 0 && listed[there] ? el("a", { href: address(listed[there]) }, text) : null);
      const section = el("section", { "data-opened": id }, el("nav", { "aria-label": "Samples" }, ...ways, close), ...parts);
      const line = at < 0 ? null : shown.tBodies[0].rows[at]; // opened below its own line, if the list has it
      const cell = el("td", { class: "hf-inside", colspan: shown.tHead.rows[0].cells.length, role: "cell" }, section);
      const whole = line ? el("tr", { class: "hf-opened", role: "row" }, cell) : section;
      close.addEventListener("click", () => {
        keep({ sample: "" });
        whole.remove();
        line?.querySelector("a").focus();
      });
      if (line) line.after(whole);
      else opened.replaceChildren(section);
      shown.closest("details")?.setAttribute("open", "");
      (line ?? section).scrollIntoView({ block: scroll ? "start" : "nearest" });
    }

    function read(scroll = false) {
      const given = chosen();
      find.value = given.get("search") ?? "";
      dropped = "";
      for (const box of tools.querySelectorAll("select")) {
        const [key, title] = [box.id.slice(3), box.parentElement.firstChild.textContent];
        box.value = given.get(key) ?? "";
        if (box.selectedIndex >= 0) continue;
        dropped += ` The address asked for ${title} “${given.get(key).slice(0, 60)}”, which is not here, so it was ignored.`;
        keep({ [key]: "" }, false);
        box.selectedIndex = 0;
      }
      list();
      opened.replaceChildren();
      if (given.get("sample")) open(given.get("sample"), scroll);
    }
    addEventListener("hashchange", () => read(false));
    read(true);
  }

  /* Two to five ticked systems on the same samples, in pairs. */
  function compare(place, data) {
    const base = place.dataset.src.replace(/[^/]*$/, "");
    const keys = ["one", "two", "three", "four", "five"];
    const [tools, shown] = place.children;
    const drawn = shown.cloneNode(true); // the page has the first two, in the form that all pairs get
    const fileName = (address) => address?.split("/").pop().replace(/\.html$/, "");
    // The table of the leaderboard names systems by their pages.
    const numbers = new Map(data.systems.flatMap(([origin, , , address], at) => [[fileName(address), at], [origin, at]]));
    let ticked = [];

    const find = el("input", { type: "search", id: "hf-search", maxlength: 100, autocomplete: "off", spellcheck: "false" });
    const status = el("p", { role: "status" });
    tools.append(el("div", {}, el("label", { for: find.id }, "Find a system or team"), find), status);
    tools.style.display = "flex";
    const boxes = data.systems.map((_, at) => {
      const box = el("input", { type: "checkbox" });
      box.addEventListener("change", () => choose(box.checked ? [...ticked, at] : ticked.filter((one) => one !== at)));
      return box;
    });
    const lines = data.systems.map(([, title, , , score], at) => [el("label", {}, boxes[at], " ", named(title)), score]);
    const listed = table("hf-wide", "Systems to compare", [["name", "System"], ["number", data.metric]], lines);
    find.addEventListener("input", () => {
      for (const row of listed.tBodies[0].rows)
        row.hidden = !row.textContent.toLowerCase().includes(find.value.trim().toLowerCase());
    });
    shown.before(el("div", { class: "hf-picking", tabindex: 0, role: "region", "aria-label": "Systems to compare" }, listed));

    const turned = ([n, difference, low, high, p, right, one, two, same]) =>
      [n, difference === null ? null : -difference, high === null ? null : -high, low === null ? null : -low, p, right, two, one, same];
    function signed(value, digits = data.decimals) {
      const text = Math.abs(value).toFixed(digits);
      return Number(text) === 0 ? text : (value < 0 ? "−" : "+") + text;
    }
    const limits = (low, high) =>
      low === null || high - low >= 2 * data.span
        ? "samples of one cluster, too few for an interval"
        : `95% interval ${signed(low)} to ${signed(high)}`;
    const chance = (p) => `${p !== null && p < 0.001 ? "p < 0.001" : `p = ${(p ?? 1).toFixed(3)}`}, adjusted for all pairs`;

    async function pairOf(i, j) {
      const first = Math.min(i, j);
      const found = data.files[first] ? (await load(base + `${first}.js`))[Math.max(i, j)] : null;
      if (!found?.all || found.all[1] === null) return null;
      return Object.entries(found).map(([period, values]) => [period, i < j ? values : turned(values)]);
    }

    function filled(i, j, rows) {
      const part = drawn.cloneNode(true);
      const [both, verdict] = part.children;
      const [one, two] = [data.systems[i], data.systems[j]];
      const way = ([, , name, address]) => (address ? el("a", { href: address }, named(name)) : named(name));
      both.replaceChildren(way(one), " and ", way(two), ":");
      if (!rows) {
        verdict.textContent = "They are not compared: they share too few samples, or the board was built without their answers.";
        part.replaceChildren(both, verdict);
        return part;
      }
      const [n, difference, low, high, p, right, onlyOne, onlyTwo, same] = rows.find(([period]) => period === "all")[1];
      const ahead = (difference >= 0) === data.rising ? [one, two] : [two, one];
      const turn = ahead[0] === one ? 1 : -1;
      const ends = low === null ? [null, null] : turn > 0 ? [low, high] : [-high, -low];
      if (p !== null && p < data.apart)
        verdict.replaceChildren(el("strong", {}, named(ahead[0][2])), " is better than ", named(ahead[1][2]),
          ` by ${Math.abs(difference).toFixed(data.decimals)} in ${data.metric} (${limits(...ends)}); ${chance(p)}. The choice of samples does not explain the difference.`);
      else
        verdict.replaceChildren("The two ", el("strong", {}, "do not differ significantly"),
          `: the difference in ${data.metric} is ${signed(difference)} (${limits(low, high)}); ${chance(p)}.`);

      const alike = (r) => r[0] > 0 && r[8] === r[0] && !r[1];
      const wide = rows.filter(([, r]) => !alike(r)).flatMap(([, r]) => r.slice(1, 4).map((v) => Math.abs(v ?? 0)));
      const reach = Math.max(0.1, Math.ceil(10 * Math.max(0, ...wide)) / 10);
      const at = (value) => Math.min(1, Math.max(0, (value / reach + 1) / 2)) * 100;
      const box = (kind, style) => el("i", { class: "hf-" + kind, style });
      const bar = (r) => el("div", { class: "hf-signed", "aria-hidden": "true" }, box("reference", "left:50%"),
        alike(r) ? null : box("range", `left:${at(r[2])}%;width:${at(r[3]) - at(r[2])}%`), box("tick", `left:${at(r[1])}%`));
      const order = ([a], [b]) => (b === "all") - (a === "all") || a.localeCompare(b);
      const lines = rows.filter(([, r]) => r[1] !== null).sort(order).map(([period, r]) =>
        [period === "all" ? "All samples" : period,
          [signed(r[1]), alike(r) ? "identical answers" : `${signed(r[2] ?? -data.span)} to ${signed(r[3] ?? data.span)}`], bar(r), r[0].toLocaleString("en")]);
      const scale = el("div", { class: "hf-scale", "aria-hidden": "true" },
        ...[[0, "−" + reach], [50, "0"], [100, "+" + reach]].map(([left, text]) => el("span", { style: `left:${left}%` }, text)));
      const heads = [["name", "Period"], ["number", "Difference"], ["drawn", scale], ["number", "Samples"]];
      const made = table("hf-balance", "Difference by period", heads, lines);
      made.tBodies[0].rows[0].classList.add("hf-total");
      part.querySelectorAll("table")[0].replaceWith(made);
      const counts = [["Same answer", same], ["Both were right", right], [`Only ${one[2]} was right`, onlyOne],
        [`Only ${two[2]} was right`, onlyTwo], ["Neither was right", n - right - onlyOne - onlyTwo]];
      const shares = counts.map(([text, count]) => [named(text), count.toLocaleString("en"), n ? `${((100 * count) / n).toFixed(1)}%` : "–"]);
      const agreed = [["name", "Answers"], ["number", "Samples"], ["number", "Share"]];
      part.querySelectorAll("table")[1]?.replaceWith(table("hf-balance", "Agreement", agreed, shares));
      const where = (first, second, text) =>
        el("a", { href: `${data.samples}#${new URLSearchParams({ right: first[0], wrong: second[0] })}` }, "that only ", named(text), " got right");
      if (data.samples) part.append(el("p", {}, "Samples ", where(one, two, one[2]), "; ", where(two, one, two[2]), "."));
      return part;
    }

    /* The system of the row minus that of the column. */
    function square(pairs) {
      const cell = (i, j) => {
        const rows = pairs.find(([one, two]) => Math.min(i, j) === Math.min(one, two) && Math.max(i, j) === Math.max(one, two));
        const [, difference, , , p] = rows?.[2]?.find(([period]) => period === "all")[1] ?? [];
        return difference === undefined ? "–" : [signed(rows[0] === i ? difference : -difference), chance(p).replace(/,.*/, "")];
      };
      const names = ticked.map((at) => data.systems[at][2]);
      const heads = [["name", "System"], ...names.map((name) => ["number", named(name)])];
      const lines = ticked.map((i, at) => [named(names[at]), ...ticked.map((j) => cell(i, j))]);
      const made = table("hf-wide hf-findings", `Differences in ${data.metric}`, heads, lines);
      const said = "The system of the row minus that of the column, with p-values adjusted for all pairs on the board.";
      return [heading(`Difference in ${data.metric}`, said), el("div", { class: "hf-scroll", tabindex: 0 }, made)];
    }

    async function show(dropped = "") {
      const now = ticked;
      boxes.forEach((box, at) => {
        box.checked = now.includes(at);
        box.disabled = !box.checked && now.length === keys.length;
      });
      status.textContent = `${now.length} of ${boxes.length} systems ticked; at most ${keys.length}.${dropped}`;
      const pairs = now.flatMap((i, at) => now.slice(at + 1).map((j) => [i, j]));
      const found = await Promise.all(pairs.map(async ([i, j]) => [i, j, await pairOf(i, j)]));
      if (now !== ticked) return; // another tick came while data were loading
      const folded = ([i, j, rows]) =>
        el("details", {}, el("summary", {}, named(data.systems[i][2]), " and ", named(data.systems[j][2])), filled(i, j, rows));
      if (found.length > 1) shown.replaceChildren(...square(found), ...found.map(folded));
      else if (found.length) shown.replaceChildren(...filled(...found[0]).childNodes);
      else shown.replaceChildren(el("p", {}, "Tick two to five systems in the table to compare them."));
    }

    function choose(next) {
      ticked = next;
      keep(Object.fromEntries(keys.map((key, at) => [key, next[at] === undefined ? "" : data.systems[next[at]][0]])));
      show();
    }

    function read() {
      const asked = keys.map((key) => chosen().get(key)).filter(Boolean);
      const known = [...new Set(asked.filter((one) => numbers.has(one)).map((one) => numbers.get(one)))];
      const strange = asked.filter((one) => !numbers.has(one)).map((one) => ` The address asked for “${one.slice(0, 60)}”, which is not here, so it was ignored.`);
      ticked = known.length ? known : [...data.first];
      show(strange.join(""));
    }
    addEventListener("hashchange", read);
    read();
  }

  /* How far a day is from today. */
  function until(time) {
    const days = Math.floor(Date.parse(time.dateTime) / DAY) - Math.floor(Date.now() / DAY); // of the calendar
    time.append(days < 0 ? " (passed)" : days === 0 ? " (today)" : ` (in ${days} ${days === 1 ? "day" : "days"})`);
  }

  /* How much of an open quarter is over. */
  function over(bar) {
    const [from, to] = [Date.parse(bar.dataset.from), Date.parse(bar.dataset.to)];
    bar.style.width = `${100 * Math.min(1, Math.max(0, (Date.now() - from) / (to - from)))}%`;
  }

  /* How many of the visitor's guesses were right: the first of each sample counts. */
  function guessed(status) {
    const first = new Map();
    document.addEventListener("toggle", (event) => {
      const fold = event.target;
      if (!fold.open || !fold.dataset.right || first.has(fold.name)) return;
      first.set(fold.name, fold.dataset.right === "1");
      status.textContent = `You were right on ${[...first.values()].filter(Boolean).length} of ${first.size}.`;
    }, true);
  }

  for (const status of document.querySelectorAll("[data-hf=guessed]")) guessed(status);
  for (const time of document.querySelectorAll("[data-hf=until]")) until(time);
  for (const bar of document.querySelectorAll("[data-hf=over]")) over(bar);
  for (const text of document.querySelectorAll("[data-at]"))
    text.hidden = Date.now() < Date.parse(text.dataset.at) === (text.dataset.hf === "after");
  for (const [kind, start] of [["samples", samples], ["compare", compare]])
    for (const place of document.querySelectorAll(`[data-hf=${kind}]`))
      load(place.dataset.src).then((data) => {
        start(place, data);
        place.dataset.ready = "";
      }, () => place.prepend(el("p", { class: "hf-notice" }, "The data beside this page cannot be loaded.")));
})();
