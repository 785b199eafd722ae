"use strict";
// One rater's page: instructions, then one response at a time. What is submitted or undone is a line that is only ever added:
// on the disk of the browser (IndexedDB) before the page moves on, sent to the server where one serves the page, and in the
// file that is sent at the end. Several tabs share the lines: what one has submitted, another does not submit again.
(() => {
  const study = JSON.parse(document.getElementById("study").textContent);
  const KEYS = "1234567890-=";
  const SECONDS_EACH = study.predicts ? 20 : 120; // what one takes people, roughly
  // Two classes are asked as one question, from the surest "not" to the surest yes.
  const scaled = study.predicts && study.criteria[0].options.length === 2;
  // What the page calls itself, what is asked about, and what a person gives.
  const words = study.predicts
    ? { page: "Predict", items: "samples", done: "are predicted", own: "my predictions", yours: "Your predictions", one: "Your prediction" }
    : { page: "Rate", items: "responses", done: "are rated", own: "my ratings", yours: "Your ratings", one: "Your rating" };
  document.title = words.page;
  const SERVED = location.protocol.startsWith("http");
  const queue = study.turns.flatMap((turn) => turn.responses.map((id) => ({ id, turn })));
  const newId = () => [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
  const byTime = (one, two) => (one.at < two.at ? -1 : one.at > two.at ? 1 : one.id < two.id ? -1 : 1);

  // --- what is kept ---------------------------------------------------------------------------------------------------

  /** Lines and drafts of this study in the browser's database; in memory alone where the browser keeps nothing. */
  class Store {
    static async open() {
      const store = new Store();
      store.memory = { lines: new Map(), drafts: new Map() };
      try {
        store.database = await new Promise((resolve, reject) => {
          const asked = indexedDB.open("hellofresh-rate", 1);
          asked.onupgradeneeded = () => {
            for (const name of ["lines", "drafts"]) {
              asked.result.createObjectStore(name, { keyPath: ["study", "id"] }).createIndex("study", "study");
            }
          };
          asked.onsuccess = () => resolve(asked.result);
          asked.onerror = () => reject(asked.error);
        });
      } catch {
        store.database = null;
      }
      return store;
    }

    /** Run `body` with readers and writers of both tables; resolves with its result once all of it is on the disk. */
    async change(body) {
      if (!this.database) {
        const table = (name) => ({
          all: async () => [...this.memory[name].values()],
          put: (item) => this.memory[name].set(item.id, item),
          remove: (id) => this.memory[name].delete(id),
        });
        return body(table("lines"), table("drafts"));
      }
      const transaction = this.database.transaction(["lines", "drafts"], "readwrite", { durability: "strict" });
      const done = new Promise((resolve, reject) => {
        transaction.oncomplete = resolve;
        transaction.onabort = transaction.onerror = () => reject(transaction.error || new Error("not kept"));
      });
      const table = (name) => {
        const kept = transaction.objectStore(name);
        return {
          all: () =>
            new Promise((resolve, reject) => {
              const asked = kept.index("study").getAll(study.key);
              asked.onsuccess = () => resolve(asked.result);
              asked.onerror = () => reject(asked.error);
            }),
          put: (item) => kept.put({ ...item, study: study.key }),
          remove: (id) => kept.delete([study.key, id]),
        };
      };
      const result = await body(table("lines"), table("drafts"));
      await done;
      return result;
    }
  }

  /** What counts, by the last line about each response; as hellofresh.judging.submitted reads a rater's file. */
  function submittedOf(lines) {
    const submitted = new Map();
    for (const line of [...lines].sort(byTime)) {
      submitted.delete(line.response);
      if (line.step === "submitted") submitted.set(line.response, line);
    }
    return submitted;
  }

  const plain = ({ id, step, response, answers, seconds, at }) => ({ id, step, response, answers, seconds, at });
  const EMPTY = { values: {}, links: {}, comment: "" };

  const page = {
    store: null, lines: [], drafts: new Map(), submitted: new Map(), sent: new Set(), unsent: "", closed: false,
    sideBySide: false, instructions: true, shown: 0, current: null, form: null,
  };
  const others = "BroadcastChannel" in window ? new BroadcastChannel(`hellofresh-rate-${study.key}`) : null;

  async function refresh() {
    const [lines, drafts] = await page.store.change(async (lines, drafts) => [await lines.all(), await drafts.all()]);
    page.lines = lines;
    page.submitted = submittedOf(lines);
    page.drafts = new Map(drafts.map((draft) => [draft.id, draft.answers]));
  }

  /** A time after all others of this study, so that the order of lines is that in which they were made. */
  function timeAfter(lines) {
    const last = lines.reduce((latest, line) => Math.max(latest, Date.parse(line.at)), 0);
    return new Date(Math.max(Date.now(), last + 1)).toISOString();
  }

  /** Add a line unless another tab was faster; true where it was added. */
  async function add(step, response, answers, seconds) {
    const added = await page.store.change(async (lines, drafts) => {
      const known = await lines.all();
      if (submittedOf(known).has(response) === (step === "submitted")) return false;
      lines.put({ id: newId(), step, response, answers, seconds, at: timeAfter(known) });
      if (step === "submitted") drafts.remove(response);
      else drafts.put({ id: response, answers: submittedOf(known).get(response).answers });
      return true;
    });
    await refresh();
    others?.postMessage("changed");
    send();
    return added;
  }

  // --- handing over ---------------------------------------------------------------------------------------------------

  let sending = false;
  let waitS = 2;
  let first = true;

  async function send() {
    if (!SERVED || sending || page.closed) return;
    const lines = page.lines.filter((line) => !page.sent.has(line.id)).sort(byTime);
    if (!first && lines.length === 0) return;
    sending = true;
    let again = 0;
    try {
      const reply = await fetch("lines", {
        method: "POST",
        headers: { Authorization: `Bearer ${study.token}`, "Content-Type": "application/json" },
        body: JSON.stringify({ lines: lines.map(plain), all: first }),
      });
      const said = await reply.json();
      if (reply.ok) {
        lines.forEach((line) => page.sent.add(line.id));
        await takeOver(said.lines || []);
        [first, waitS, page.unsent] = [false, 2, ""];
      } else {
        page.unsent = said.error || `The server answered ${reply.status}.`;
        page.closed = reply.status === 409;
        again = reply.status >= 500 ? waitS : 0;
      }
    } catch {
      page.unsent = "The server cannot be reached; this page keeps trying. What you submitted is kept in this browser.";
      again = waitS;
    }
    sending = false;
    if (again) {
      waitS = Math.min(waitS * 2, 30);
      setTimeout(send, again * 1000);
    } else if (!page.closed && !page.unsent && page.lines.some((line) => !page.sent.has(line.id))) {
      send();
    }
    showHeader();
    if (page.closed || (page.current === null && !page.instructions)) show();
  }

  /** Lines that the server has from another device. */
  async function takeOver(lines) {
    const known = new Set(page.lines.map((line) => line.id));
    const foreign = lines.filter((line) => !known.has(line.id));
    lines.forEach((line) => page.sent.add(line.id));
    if (foreign.length === 0) return;
    await page.store.change(async (kept) => foreign.forEach((line) => kept.put(plain(line))));
    await refresh();
    if (page.current !== null && page.submitted.has(page.current.id)) show();
  }

  function download() {
    const whole = {
      format: 1, edition: study.edition, task: study.task, rater: study.rater, token: study.token,
      lines: page.lines.map(plain).sort(byTime),
    };
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([JSON.stringify(whole, null, 1)], { type: "application/json" }));
    link.download = `${study.predicts ? "predictions" : "ratings"}-${study.edition}-${study.task}-${study.rater}.json`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  }

  // --- what is seen ---------------------------------------------------------------------------------------------------

  function el(tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties || {})) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (name in element && name !== "list") element[name] = value;
      else element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null));
    return element;
  }

  const text = (content) => el("div", { className: "text", dir: "auto" }, content);
  const isWebAddress = (address) => /^https?:\/\/[^\s<>"']+$/.test(address);
  const linkTo = (address, words) =>
    isWebAddress(address) ? el("a", { href: address, target: "_blank", rel: "noopener noreferrer" }, words) : el("span", {}, words);
  const header = el("header", {});
  const main = el("main", { tabIndex: -1 });
  document.body.append(header, main);

  function showHeader() {
    const [done, all] = [page.submitted.size, queue.length];
    const minutes = Math.ceil(((all - done) * SECONDS_EACH) / 60);
    const until = study.until ? ` Answers count until ${new Date(study.until).toLocaleDateString("en", { day: "numeric", month: "long", year: "numeric" })}.` : "";
    const left = done < all ? `About ${minutes} ${minutes === 1 ? "minute" : "minutes"} left.${until} ` : "";
    const kept = page.store.database ? "" : `This browser keeps nothing: do not close this page before you have sent ${words.own.replace("my", "your")}. `;
    header.replaceChildren(
      el("h1", {}, study.question),
      el("div", { className: "row" },
        el("span", { className: "brand" }, "HelloFresh"),
        el("span", { id: "count" }, `${done} of ${all} ${words.items} ${words.done}`),
        el("button", { onclick: () => { page.instructions = !page.instructions; show(); } }, page.instructions ? "Hide instructions" : "Instructions"),
        el("button", { disabled: done === 0 || page.closed, onclick: undo }, "Undo the last one"),
        study.predicts ? null
          : el("button", { ariaPressed: String(page.sideBySide), onclick: () => { page.sideBySide = !page.sideBySide; show(); } }, "Side by side"),
        el("button", { disabled: page.lines.length === 0, onclick: download }, `Download ${words.own}`),
      ),
      el("progress", { max: all, value: done, ariaLabel: "Done" }),
      el("div", { className: "small", role: "status" }, left + kept + page.unsent),
    );
  }

  function show() {
    page.current = queue.find((item) => !page.submitted.has(item.id)) || null;
    page.form = null;
    showHeader();
    if (page.instructions) return showInstructions();
    if (page.closed) return main.replaceChildren(notice("This study is closed. Thank you."));
    if (page.current === null) return showEnd();
    showResponse(page.current);
  }

  const notice = (...parts) => el("div", { className: "notice" }, ...parts);

  /** What is asked, as it is answered: where buttons say how sure one is, no certainty is typed. */
  function asked() {
    const found = study.criteria.map((item) => [item.id, item.title, item.definition]);
    if (!scaled) return found;
    return found.filter(([id]) => id !== "certainty")
      .map(([id, title, definition]) => [id, title, id === "class" ? `${definition} The six buttons also say how sure you are.` : definition]);
  }

  function showInstructions() {
    const example = (item, number) =>
      el("section", {},
        el("h2", {}, `Example ${number + 1}`), el("p", {}, "Post"), text(item.post), el("p", {}, "Response"), text(item.response),
        el("p", {}, item.why),
        el("dl", { className: "small" }, ...item.answers.flatMap(([title, words]) => [el("dt", {}, title), el("dd", {}, words)])));
    main.replaceChildren(
      el("h2", {}, study.title),
      ...study.instructions.split(/\n\n+/).map((part) => el("p", {}, part)),
      el("p", {}, "Questions show their keys: a digit answers the question that you are at, Enter submits when all are answered, and U undoes the last one. You can stop at any time and go on later in the same browser."),
      ...study.examples.map(example),
      el("h2", {}, "The questions"),
      el("dl", {}, ...asked().flatMap(([, title, definition]) => [el("dt", {}, title), el("dd", {}, definition)])),
      el("p", {}, el("button", { className: "main", id: "start", onclick: () => { page.instructions = false; show(); window.scrollTo(0, 0); } },
        page.submitted.size ? "Go on" : "Start")),
    );
  }

  function showEnd() {
    const all = page.lines.every((line) => page.sent.has(line.id));
    const sent = SERVED && all && !page.unsent;
    main.replaceChildren(
      notice(
        el("h2", {}, `All of your ${words.items} ${words.done}. Thank you.`),
        el("p", {}, sent ? `${words.yours} have been sent: you can close this page.`
          : `Download ${words.own.replace("my", "your")}, and send the file to whoever asked you.`),
        el("p", {}, el("button", { className: sent ? "" : "main", onclick: download }, `Download ${words.own}`))),
    );
  }

  function showResponse({ id, turn }) {
    const sample = study.samples[turn.sample];
    page.shown = performance.now();
    const shown = page.sideBySide ? turn.responses : [id];
    const column = (name) => {
      const response = study.responses[name];
      return el("section", { className: name === id ? "now" : "" },
        el("h2", {}, `Response ${turn.responses.indexOf(name) + 1}${page.sideBySide && name === id ? " (this one is rated)" : ""}`), text(response.text),
        el("div", { className: "links" }, ...response.sources.map((address, k) => el("p", {}, `Link ${k + 1}: `, linkTo(address, address)))));
    };
    page.form = new Form(id, turn);
    main.replaceChildren(
      ...(turn.phase === "onboarding" ? [notice("This is for practice: explain your ratings. They are kept apart from the others.")] : []),
      ...sample.parts.flatMap(([name, content]) => [el("h2", {}, name[0].toUpperCase() + name.slice(1)), text(content)]),
      el("p", { className: "links" }, ...sample.media.map((address, k) => el("span", {}, linkTo(address, `Picture ${k + 1}`), " ")),
        ...(isWebAddress(sample.address) ? [linkTo(sample.address, "Open the post")] : [])),
      study.predicts ? "" : el("div", { className: "responses" }, ...shown.map(column)),
      page.form.element,
    );
  }

  /** The values of the chosen button; for a single criterion by its name. */
  function chosenOf(inputs, name) {
    const item = inputs.find((one) => one.input.checked);
    return item && (name ? { [name]: item.value } : item.value);
  }

  /** The questions about one response; conditions show and hide them as answers come. */
  class Form {
    constructor(id, turn) {
      this.id = id;
      this.turn = turn;
      this.links = study.responses[id].sources;
      this.busy = false;
      this.early = [];
      this.keeping = Promise.resolve();
      const before = page.drafts.get(id) || EMPTY;
      this.questions = [
        ...(scaled ? [this.scaleQuestion(before.values), this.boxQuestion(before.values)]
          : study.criteria.filter((item) => item.unit === "response").map((item) => this.question(item, "", before.values))),
        ...this.links.flatMap((link, k) => study.criteria.filter((item) => item.unit === "link")
          .map((item) => this.question(item, link, before.links[link] || {}, `Link ${k + 1}: `))),
      ];
      this.comment = el("textarea", { id: "comment", maxLength: study.most_comment, value: before.comment, oninput: () => this.keep() });
      this.fault = el("p", { className: "fault", role: "alert" });
      const label = turn.phase === "onboarding" ? "Explanation (required)" : "Explanation (optional)";
      this.element = el("section", {},
        scaled ? null : el("h2", {}, words.one), ...this.questions.map((question) => question.element),
        scaled ? el("details", {}, el("summary", {}, label), this.comment) : el("label", { htmlFor: "comment" }, label),
        ...(scaled ? [] : [this.comment]),
        el("div", { className: "submit" }, this.fault,
          el("button", { className: "main", id: "submit", onclick: () => this.submit() }, "Submit", el("kbd", { ariaHidden: "true" }, "Enter"))));
      this.arrange();
    }

    question(criterion, link, before, prefix = "") {
      if (criterion.number) return this.numberQuestion(criterion, before);
      const name = `q-${criterion.id}-${link ? this.links.indexOf(link) : "r"}`;
      const values = criterion.options.map((words, k) => [criterion.low + k, words]);
      if (criterion.undecided) values.push([null, criterion.undecided]);
      const from0 = criterion.range && criterion.low === 0;
      const inputs = values.map(([value, words], k) => {
        const key = (from0 ? "0123456789-=" : KEYS)[k] || "";
        const input = el("input", { type: "radio", name, checked: criterion.id in before && before[criterion.id] === value, onchange: () => this.keep() });
        return { value, key, input, label: el("label", {}, input, key ? el("kbd", { ariaHidden: "true" }, key) : null, el("span", {}, words)) };
      });
      const element = el("fieldset", { tabIndex: -1 },
        el("legend", {}, prefix + criterion.title), el("p", {}, criterion.definition),
        el("div", { className: criterion.range ? "range" : "" }, ...inputs.map((item) => item.label)));
      return { criterion, link, inputs, element, asked: true, chosen: () => chosenOf(inputs, criterion.id) };
    }

    /** Class and certainty as six buttons, from the surest "not" to the surest yes. */
    scaleQuestion(before) {
      const [criterion] = study.criteria;
      const levels = [...study.levels.map((level) => [0, ...level]), ...study.levels.toReversed().map((level) => [1, ...level])];
      const inputs = levels.map(([label, word, certainty], k) => {
        const input = el("input", { type: "radio", name: "q-scale", onchange: () => this.keep(),
          checked: before.class === label && before.certainty === certainty });
        const said = el("span", {}, `${word} ${criterion.options[label]}`);
        return { value: { class: label, certainty }, key: KEYS[k], input, label: el("label", {}, input, el("kbd", { ariaHidden: "true" }, KEYS[k]), said) };
      });
      const element = el("fieldset", { tabIndex: -1, className: "scale" },
        el("legend", {}, criterion.title), el("div", {}, ...inputs.map((item) => item.label)));
      return { criterion, link: "", inputs, element, asked: true, chosen: () => chosenOf(inputs) };
    }

    /** Whether the outcome was known, as a box. */
    boxQuestion(before) {
      const input = el("input", { type: "checkbox", checked: before.known === 1, onchange: () => this.keep() });
      this.box = input;
      const element = el("label", { className: "box" }, input, el("kbd", { ariaHidden: "true" }, "K"), el("span", {}, "I knew it already"));
      return { criterion: { id: "known" }, link: "", inputs: [], element, asked: true, chosen: () => ({ known: Number(input.checked) }) };
    }

    /** A question whose answer is typed: digits go to its field wherever the keyboard is. */
    numberQuestion(criterion, before) {
      const { low, high } = criterion;
      const field = el("input", { type: "text", inputMode: "numeric", autocomplete: "off", className: "number", maxLength: 3,
        ariaLabel: criterion.title, value: criterion.id in before ? String(before[criterion.id]) : "", oninput: () => this.keep() });
      const given = () => (/^[0-9]+$/.test(field.value) && Number(field.value) >= low && Number(field.value) <= high ? Number(field.value) : undefined);
      const element = el("fieldset", { tabIndex: -1 },
        el("legend", {}, criterion.title), el("p", {}, criterion.definition), el("label", {}, field, el("span", {}, `${low} to ${high}`)));
      const chosen = () => (given() === undefined ? undefined : { [criterion.id]: given() });
      return { criterion, link: "", inputs: [], field, element, asked: true, chosen };
    }

    /** Decide what is asked, from the first question to the last; returns the answers to what is. */
    arrange() {
      const answers = { values: {}, links: {}, comment: this.comment.value };
      for (const question of this.questions) {
        const { criterion, link } = question;
        const own = link ? (answers.links[link] ||= {}) : answers.values;
        const condition = criterion.ask_if;
        const value = condition && { ...answers.values, ...own }[condition.criterion];
        question.asked = !condition || (value !== undefined && value !== null && condition.values.includes(value));
        question.element.hidden = !question.asked;
        const chosen = question.chosen();
        question.answered = !question.asked || Boolean(chosen);
        if (question.asked && chosen) Object.assign(own, chosen);
        if (question.answered) question.element.classList.remove("missing");
      }
      answers.links = Object.fromEntries(Object.entries(answers.links).filter(([, values]) => Object.keys(values).length));
      return answers;
    }

    keep() {
      const answers = this.arrange();
      this.fault.textContent = "";
      this.keeping = page.store
        .change(async (lines, drafts) => {
          if (!submittedOf(await lines.all()).has(this.id)) drafts.put({ id: this.id, answers });
        })
        .then(() => page.drafts.set(this.id, answers), () => { this.fault.textContent = "This answer could not be kept: the browser's storage is full or closed."; });
    }

    /** Answer the current question by its key, and go on to the next. */
    press(key) {
      const open = this.questions.filter((question) => question.asked);
      const at = open.find((question) => question.element.contains(document.activeElement)) || open.find((question) => !question.answered) || (scaled && open[0]);
      if (at?.field && /^[0-9]$/.test(key)) {
        at.field.focus({ preventScroll: true });
        if (at.field.value.length < at.field.maxLength || at.field.selectionStart < at.field.selectionEnd) {
          at.field.setRangeText(key, at.field.selectionStart, at.field.selectionEnd, "end");
        }
        this.keep();
        return true;
      }
      const item = at && at.inputs.find((choice) => choice.key === key);
      if (!item) return false;
      item.input.checked = true;
      this.keep();
      const next = this.questions.filter((question) => question.asked).find((question) => !question.answered);
      const target = next ? next.field || next.element : document.getElementById("submit");
      target.focus({ preventScroll: true });
      target.scrollIntoView({ block: "nearest" });
      return true;
    }

    async submit() {
      if (this.busy) return;
      const answers = this.arrange();
      const missing = this.questions.find((question) => !question.answered);
      if (missing) {
        missing.element.classList.add("missing");
        (missing.field || missing.element).focus();
        this.fault.textContent = `${missing.element.querySelector("legend").textContent}: ${missing.field?.value ? "not on the scale" : "no answer yet"}`;
        return;
      }
      if (this.turn.phase === "onboarding" && !answers.comment.trim()) {
        this.fault.textContent = "An explanation is required for practice.";
        this.comment.focus();
        return;
      }
      this.busy = true;
      try {
        await this.keeping;
        await add("submitted", this.id, answers, Math.round((performance.now() - page.shown) / 100) / 10);
      } catch {
        this.busy = false;
        this.fault.textContent = "This rating could not be kept: the browser's storage is full or closed. Nothing was submitted.";
        return;
      }
      show();
      window.scrollTo(0, 0);
      main.focus({ preventScroll: true });
      // Keys that came faster than the disk are for the next response.
      for (const key of this.early) pressed(key);
    }
  }

  let undoing = false;
  async function undo() {
    const last = [...page.submitted.keys()].pop();
    if (last === undefined || undoing || page.closed) return;
    undoing = true;
    try {
      await add("undone", last, EMPTY, 0);
    } finally {
      undoing = false;
    }
    page.instructions = false;
    show();
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || page.form === null || page.instructions) return;
    const tag = event.target.tagName;
    if (tag === "TEXTAREA" || (event.key === "Enter" && (tag === "BUTTON" || tag === "A") && !page.form.busy)) return;
    if (pressed(event.key)) event.preventDefault();
  });

  /** Do what a key stands for; whether it stands for anything. */
  function pressed(key) {
    if (page.form === null) return false;
    if (page.form.busy) page.form.early.push(key);
    else if (key === "Enter") page.form.submit();
    else if (key.toLowerCase() === "u") undo();
    else if (key.toLowerCase() === "k" && page.form.box) page.form.box.click();
    else return page.form.press(key);
    return true;
  }
  others?.addEventListener("message", async () => {
    await refresh();
    if (page.current === null || page.submitted.has(page.current.id)) show();
    else showHeader();
  });
  window.addEventListener("online", send);
  window.addEventListener("beforeunload", (event) => {
    if (!page.store.database && page.lines.some((line) => !page.sent.has(line.id))) event.preventDefault();
  });

  (async () => {
    page.store = await Store.open();
    await refresh();
    page.instructions = page.submitted.size === 0;
    show();
    send();
  })();
})();
