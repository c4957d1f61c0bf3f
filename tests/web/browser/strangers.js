// Pages of strangers try to use a browser that is signed in.
"use strict";
const { assert, launch, person, run, signIn } = require("./lib.js");

run(async ({ port, link, place, shown }) => {
  const base = `http://127.0.0.1:${port}`;
  // The stranger's name leads here: first to the stranger, now to the page.
  const browser = await launch(["--host-resolver-rules=MAP rebound.example 127.0.0.1, MAP evil.example 127.0.0.1:1"]);
  const page = await person(browser, "desk");
  const home = await signIn(page, base + link, "desk");
  const statuses = {};
  const status = async (name, act) => {
    const reply = page.waitForResponse((reply) => reply.request().isNavigationRequest() && reply.url().includes(`:${port}/`));
    await act();
    statuses[name] = (await reply).status();
    // The next one would be interrupted by it.
    await page.waitForURL((url) => url.port === String(port)).catch(() => {});
    await page.waitForLoadState();
  };
  await status("rebound", () => page.goto(`http://rebound.example:${port}/`).catch(() => {}));
  // Its script reads nothing.
  await page.context().route("http://*.example/**", (route) => route.fulfill({ contentType: "text/html", body: "<h1>Hello</h1>" }));
  await page.context().route("http://127.0.0.1:1/**", (route) => route.fulfill({ contentType: "text/html", body: "<h1>Hello</h1>" }));
  const form = `<form method=post action="${base}${home}${place}"><input name=act value=send><input name=a0 value=0><input name=shown value="${shown}"><input name=form value=x></form>`;
  for (const [name, from] of [["elsewhere", "http://evil.example/"], ["another port", "http://127.0.0.1:1/"]]) {
    await page.goto(from);
    const read = await page.evaluate((url) => fetch(url, { credentials: "include" }).then(() => "read", () => "refused"), base + "/");
    assert.strictEqual(read, "refused", from);
    const framed = await page.evaluate(async (url) => {
      const frame = document.createElement("iframe");
      frame.src = url;
      document.body.append(frame);
      await new Promise((done) => (frame.onload = done));
      try { return frame.contentDocument ? "own" : "refused"; } catch { return "refused"; }
    }, base + "/");
    assert.strictEqual(framed, "refused", from);
    await status(name, () => page.evaluate((form) => { document.body.innerHTML = form; document.forms[0].submit(); }, form));
  }
  // A link from another site: the browser does not say who it is, and the page leads on. Without the path of the device, it does so alone.
  for (const below of [home, ""]) {
    await page.goto("http://evil.example/");
    await page.evaluate((url) => { document.body.innerHTML = `<a href="${url}">go</a>`; }, base + below + place);
    await status("link", () => page.getByText("go").click());
    if (below) await page.getByRole("link", { name: "Open the page" }).click();
    await page.getByRole("button", { name: "Send the answer" }).waitFor();
  }
  await browser.close();
  return statuses;
});
