"use strict";
// The page Try: a post goes to the server, which answers with events: each step as it begins, then the response or a fault.
(() => {
  const token = new URLSearchParams(location.search).get("token");
  const find = (id) => document.getElementById(id);
  const [status, steps, answer] = ["status", "steps", "answer"].map(find);
  let stopping = null;

  function el(tag, className, ...children) {
    const element = document.createElement(tag);
    if (className) element.className = className;
    element.append(...children.filter((child) => child !== null));
    return element;
  }
  const text = (content, more = "") => Object.assign(el("div", `text ${more}`, content), { dir: "auto" });
  const isWebAddress = (address) => /^https?:\/\/[^\s<>"']+$/.test(address);
  const linkTo = (address) =>
    isWebAddress(address) ? Object.assign(el("a", "", address), { href: address, target: "_blank", rel: "noopener noreferrer" }) : el("span", "", address);

  const encoded = (file) =>
    new Promise((resolve, reject) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result.slice(reader.result.indexOf(",") + 1));
      reader.onerror = () => reject(reader.error);
      reader.readAsDataURL(file);
    });

  /** Calls `seen` with each event of a stream of server-sent events. */
  async function follow(body, seen) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const event of events) seen(JSON.parse(event.replace(/^data: /, "")));
    }
  }

  function fault(words) {
    status.textContent = "Stopped";
    answer.replaceChildren(el("p", "fault", words));
  }

  function show(found) {
    status.textContent = "Done";
    const cost = found.cost_usd === null ? "unknown" : `${found.cost_usd.toFixed(4)} USD`;
    const about = (item) => `${item.published || "undated"}, publisher of ${item.priority || "unknown"} priority`;
    const columns = ["step", "model", "requests", "seconds", "tokens_in", "tokens_out", "cost_usd"];
    const cell = (row, name) => el("td", "", row[name] === null || row[name] === undefined ? "-" : String(row[name]));
    answer.replaceChildren(
      ...found.notes.map((note) => el("p", "small", note)),
      el("h2", "", "Response"), text(found.text || `(no response: ${found.status})`, "response"),
      ...found.links.map((address, k) => el("p", "small", `Link ${k + 1}: `, linkTo(address))),
      el("h2", "", "Evidence"),
      ...(found.evidence.length ? [] : [el("p", "", "No usable page said anything about it.")]),
      ...found.evidence.map((item) =>
        el("section", "", el("strong", "", item.title || item.url), el("div", "small", linkTo(item.url), ` (${about(item)})`),
          ...Object.entries(item.quotes).flatMap(([stance, quotes]) => quotes.map((quote) => text(`${stance}: ${quote}`))))),
      ...found.pictures.flatMap((words, k) => [el("h2", "", `Picture ${k + 1}`), text(words)]),
      el("p", "small", `${found.seconds} s, cost ${cost}. Kept in ${found.folder}`),
      el("details", "", el("summary", "", "How it was made"),
        ...found.queries.map((query) => el("p", "small", `Searched: ${query}`)),
        el("p", "small", `Nothing after ${found.until || "any date"} was used.`),
        el("div", "scroll small", el("table", "", el("tr", "", ...columns.map((name) => el("th", "", name.replaceAll("_", " ")))),
          ...found.steps.map((row) => el("tr", "", ...columns.map((name) => cell(row, name))))))),
    );
  }

  find("post").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (stopping) return;
    const files = [...find("pictures").files].slice(0, 4);
    if (!find("text").value.trim() && files.length === 0) return fault("Write a post, or add a picture.");
    stopping = new AbortController();
    [find("respond").disabled, find("stop").hidden] = [true, false];
    steps.replaceChildren();
    answer.replaceChildren();
    status.textContent = "Responding ...";
    let ended = false;
    try {
      const reply = await fetch("ask", {
        method: "POST", signal: stopping.signal,
        headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
        body: JSON.stringify({
          text: find("text").value, date: find("date").value.trim(), model: find("model").value.trim(),
          pictures: await Promise.all(files.map(encoded)),
        }),
      });
      if (!reply.ok) throw new Error((await reply.json()).error);
      await follow(reply.body, (item) => {
        if ("step" in item) steps.append(el("li", "small", item.step.slice(0, 1).toUpperCase() + item.step.slice(1)));
        if ("result" in item) show(item.result);
        if ("fault" in item) fault(item.fault);
        ended ||= !("step" in item);
      });
      if (!ended) fault("The connection ended. Answers so far are kept: send the post again to go on.");
    } catch (error) {
      fault(error.name === "AbortError" ? "You stopped it. Answers so far are kept: send the post again to go on." : error.message);
    }
    stopping = null;
    [find("respond").disabled, find("stop").hidden] = [false, true];
  });
  find("stop").addEventListener("click", () => stopping?.abort());
})();
