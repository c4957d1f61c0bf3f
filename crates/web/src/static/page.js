// The page works without scripts. This one requests the page again when something has changed, and says when its server is lost.
"use strict";
const askbox = (() => {
  const find = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const hidden = () => document.visibilityState === "hidden";
  const store = (act) => { try { return act(localStorage); } catch { return null; } };

  // The path of this device. Other pages of this origin find it here (door.js).
  const home = location.pathname.split("/", 3).join("/");
  store((box) => box.setItem("home", home));

  // The connection. A request that is cut off by leaving the page says nothing about the server.
  const TIMEOUT = 10000, RETRY = 2000;
  let lostAt = 0, retry = 0, isLeaving = false;
  addEventListener("beforeunload", () => (isLeaving = true));
  addEventListener("pageshow", () => (isLeaving = false));
  const lost = () => {
    if (isLeaving) return;
    clearTimeout(retry);
    retry = setTimeout(() => look().catch(() => {}), RETRY);
    if (lostAt) return;
    lostAt = Date.now();
    const since = new Date(lostAt).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
    const said = find("#lost");
    said.textContent = `Not connected since ${since}. What you fill in is kept, and this page goes on by itself.`;
    said.hidden = false;
  };
  const back = () => {
    if (!lostAt) return;
    lostAt = 0;
    clearTimeout(retry);
    find("#lost").hidden = true;
    all(".unsent").forEach((said) => (said.textContent = "Connected again. Nothing was sent: press the button once more."));
    if (stream) listen();
    changed("*");
  };
  const ask = async (path) => {
    try {
      const reply = await fetch(path, { headers: { [hidden() ? "askbox-hidden" : "askbox-again"]: "1" }, signal: AbortSignal.timeout(TIMEOUT) });
      // A server in front answers for one that is gone.
      if (reply.status === 502 || reply.status === 504) throw new Error("the server is gone");
      back();
      return reply;
    } catch (error) {
      lost();
      throw error;
    }
  };

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
  const look = async () => {
    const reply = await ask(home + "/here");
    if (reply.ok) count(await reply.text());
    return reply;
  };

  // The draft of a question that was answered is not needed any more.
  const forget = (root) => {
    const answered = find("[data-answered]", root)?.dataset.answered;
    if (answered) store((box) => box.removeItem("draft:" + answered));
    return answered;
  };
  forget(document);
  find("[data-focus]")?.focus();

  // Loads the page anew.
  const scrollDown = () => all(".events").forEach((list) => (list.scrollTop = list.scrollHeight));
  scrollDown();
  const live = find("#live");
  // A page may put fresh content in its place by itself: it then returns true.
  const own = { takes: () => false };
  const tellHeldUp = (other) => {
    const [told, now] = [find("#held-up"), find("#held-up", other)];
    if (told && now && told.textContent !== now.textContent) told.replaceChildren(...now.cloneNode(true).childNodes);
  };
  const replace = (other) => {
    const fresh = find("#live", other);
    if (live && fresh && own.takes(fresh, other)) return;
    tellHeldUp(other);
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
    const at = all(".events", live).map((list) => (list.scrollHeight - list.scrollTop - list.clientHeight < 40 ? 1e9 : list.scrollTop));
    const opened = new Map(all("details", live).map((details, n) => [details.id || n, details.open]));
    live.replaceChildren(...fresh.childNodes);
    if (href) all("a", live).find((link) => link.getAttribute("href") === href)?.focus();
    all("details", live).forEach((details, n) => (details.open = opened.get(details.id || n) ?? details.open));
    all(".events", live).forEach((list, n) => (list.scrollTop = at[n] ?? 1e9));
    document.title = other.title;
    forget(other);
  };
  const load = async (path) => {
    const reply = await ask(path);
    // The device was signed out. The reloaded page says that.
    if (reply.status === 401) location.reload();
    return reply.ok ? new DOMParser().parseFromString(await reply.text(), "text/html") : null;
  };
  const again = async () => {
    const place = () => location.pathname + location.search;
    const asked = place();
    const other = await load(asked);
    // The list may have been filtered in the meantime.
    if (!other || place() !== asked) return;
    // A prompt has arrived. Words typed since are another one.
    const own = find("form.answer.prompt:not([data-typed])");
    if (own && forget(other)) own.reset();
    replace(other);
    count(find("#count", other)?.dataset.count);
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

  // All pages of this device share one stream: a browser opens few connections to a server.
  const channel = new BroadcastChannel("askbox" + home);
  const hear = (ids) => (ids === "lost" ? look().catch(() => {}) : changed(ids));
  const tell = (ids) => {
    channel.postMessage(ids);
    hear(ids);
  };
  channel.onmessage = (event) => hear(event.data);
  let stream = null;
  const listen = () => {
    if (stream && stream.readyState !== EventSource.CLOSED) return;
    stream = new EventSource(home + "/events");
    // Nobody tells later what has changed meanwhile.
    let first = true;
    stream.onopen = () => (first ? (first = false) : tell("*"));
    stream.onmessage = (event) => tell(event.data);
    stream.onerror = () => {
      if (!isLeaving) tell("lost");
      if (stream.readyState === EventSource.CLOSED) setTimeout(listen, 5000);
    };
  };
  if (navigator.locks) navigator.locks.request("askbox-events" + home, () => new Promise(listen)).catch(() => {});
  else listen();

  // A phone was asleep. A visible page tells the server, so that notifications wait.
  document.addEventListener("visibilitychange", () => {
    if (hidden()) return;
    if (stream) listen();
    changed("*");
  });
  setInterval(() => hidden() || look().catch(() => {}), 20000);

  return { find, all, hidden, store, home, look, load, own, tellHeldUp };
})();
