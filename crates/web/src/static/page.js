// The page works without this script. The script requests the page again when something has changed, and keeps drafts in the browser.
"use strict";
(() => {
  const find = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const hidden = () => document.visibilityState === "hidden";
  const ask = (path) => fetch(path, { headers: hidden() ? { "askbox-hidden": "1" } : {} });

  // Drafts.
  const form = find("form[data-draft]");
  const key = (id) => "draft:" + id;
  const store = (act) => { try { return act(localStorage); } catch { return null; } };
  const fields = () => all("textarea, input:not([type=hidden])", form).filter((field) => !field.name.startsWith("m"));
  const keep = () => {
    const isChoice = (field) => field.type === "radio" || field.type === "checkbox";
    const draft = fields().filter((field) => (isChoice(field) ? field.checked : field.value))
      .map((field) => [field.name, field.value]);
    store((box) => (draft.length ? box.setItem(key(form.dataset.draft), JSON.stringify(draft)) : box.removeItem(key(form.dataset.draft))));
  };
  const restore = () => {
    const draft = store((box) => JSON.parse(box.getItem(key(form.dataset.draft)) || "[]")) || [];
    // The draft replaces the values that the form already contains.
    for (const field of draft.length ? fields() : []) {
      if (/radio|checkbox/.test(field.type)) field.checked = false;
      else field.value = "";
    }
    for (const [name, value] of draft) {
      const field = fields().find((field) => field.name === name && (field.value === value || !/radio|checkbox/.test(field.type)));
      if (!field) continue;
      if (/radio|checkbox/.test(field.type)) field.checked = true;
      else field.value = value;
      field.closest("details")?.setAttribute("open", "");
    }
  };
  if (form) {
    // A form that the server sent back already contains everything that was filled in.
    if (!find("[data-focus]")) restore();
    form.addEventListener("input", (event) => {
      const group = event.target.dataset.words;
      const own = group && event.target.value && find(`input[type=radio][name=${group}][value=words]`, form);
      if (own) own.checked = true;
      keep();
    });
    // A second press must not send a second answer.
    let sent = false;
    form.addEventListener("submit", (event) => (sent ? event.preventDefault() : (sent = true)));
    addEventListener("pageshow", () => (sent = false));
  }
  const forget = (root) => {
    const answered = find("[data-answered]", root)?.dataset.answered;
    if (answered) store((box) => box.removeItem(key(answered)));
  };
  forget(document);
  find("[data-focus]")?.focus();

  // The number of waiting questions.
  const title = () => document.title.replace(/^\(\d+\) /, "");
  const count = (number) => {
    const place = find("#count");
    if (!place || !/^\d+$/.test(number)) return;
    if (place.dataset.count !== number) {
      place.dataset.count = number;
      place.childNodes[1].textContent = number;
    }
    document.title = (number === "0" ? "" : `(${number}) `) + title();
  };
  count(find("#count")?.dataset.count);

  // Requests this page again.
  const scrollDown = () => all(".events").forEach((list) => (list.scrollTop = list.scrollHeight));
  scrollDown();
  const live = find("#live");
  const replace = (other) => {
    const fresh = find("#live", other);
    if (!live || !fresh) return;
    if ("keep" in live.dataset) {
      // The filled-in form stays, and the news is shown above it.
      if (fresh.dataset.state === live.dataset.state || "keep" in fresh.dataset) return;
      live.dataset.state = fresh.dataset.state;
      const said = document.createElement("p");
      said.className = "problem";
      said.setAttribute("role", "alert");
      said.textContent = "This question is over. What you have filled in stays here.";
      live.replaceChildren(said, ...fresh.childNodes);
      return;
    }
    const active = document.activeElement;
    const isInside = live.contains(active);
    if (isInside && active.matches("input, textarea")) return;
    if (live.innerHTML === fresh.innerHTML) return;
    const href = isInside && active.getAttribute("href");
    const down = all(".events", live).map((list) => list.scrollHeight - list.scrollTop - list.clientHeight < 40);
    const opened = all("details", live).map((details) => details.open);
    live.replaceChildren(...fresh.childNodes);
    if (href) all("a", live).find((link) => link.getAttribute("href") === href)?.focus();
    if (down[0] !== false) scrollDown();
    all("details", live).forEach((details, n) => (details.open = opened[n] ?? details.open));
    document.title = other.title;
    forget(other);
  };
  const again = async () => {
    const reply = await ask(location.pathname + location.search);
    // The device was signed out. The reloaded page says that.
    if (reply.status === 401) return location.reload();
    if (!reply.ok) return;
    const other = new DOMParser().parseFromString(await reply.text(), "text/html");
    replace(other);
    count(find("#count", other)?.dataset.count);
  };
  const look = async () => {
    const reply = await ask("/here");
    if (reply.ok) count(await reply.text());
  };
  let due = 0, wanted = "";
  const changed = (ids) => {
    const about = live?.dataset.about;
    const concerns = ids === "*" || about === "*" || ids.split(" ").includes(about);
    if (concerns) wanted = "again";
    wanted ||= "look";
    if (due) return;
    due = setTimeout(() => {
      const act = wanted === "again" ? again : look;
      due = 0;
      wanted = "";
      act().catch(() => {});
    }, hidden() ? 2000 : 100);
  };

  // All pages of this browser share one stream, because a browser opens only few connections to one server.
  const channel = new BroadcastChannel("askbox");
  channel.onmessage = (event) => changed(event.data);
  let stream = null;
  const listen = () => {
    if (stream && stream.readyState !== EventSource.CLOSED) return;
    stream = new EventSource("/events");
    const tell = (ids) => {
      channel.postMessage(ids);
      changed(ids);
    };
    // Changes during a lost connection are not reported later, so after a reconnect everything counts as changed.
    let first = true;
    stream.onopen = () => (first ? (first = false) : tell("*"));
    stream.onmessage = (event) => tell(event.data);
    stream.onerror = () => stream.readyState === EventSource.CLOSED && setTimeout(listen, 5000);
  };
  if (navigator.locks) navigator.locks.request("askbox-events", () => new Promise(listen)).catch(() => {});
  else listen();

  // A phone that was asleep has missed the changes. A visible page tells the server, so that notifications wait.
  document.addEventListener("visibilitychange", () => {
    if (hidden()) return;
    if (stream) listen();
    changed("*");
  });
  setInterval(() => hidden() || look().catch(() => {}), 20000);
})();
