// The server goes away and comes back while two pages are open.
"use strict";
const { assert, launch, person, run, signIn } = require("./lib.js");
const fs = require("fs");

const appears = async (path) => {
  while (!fs.existsSync(path)) await new Promise((done) => setTimeout(done, 20));
};

run(async ({ base, link, place, pid, folder }) => {
  const browser = await launch();
  const inbox = await person(browser, "desk");
  await signIn(inbox, base + link, "ann's desk");
  const page = await inbox.context().newPage();
  await page.goto(base + place);
  await page.getByText("One section", { exact: true }).click();
  process.kill(pid, "SIGKILL");
  // Both pages say so, although only one of them has the stream.
  for (const each of [inbox, page]) {
    await each.locator("#lost:not([hidden])").waitFor();
    assert.match(await each.locator("#lost").textContent(), /^Not connected since \d\d:\d\d\. /);
  }
  // The button sends nothing, and the page stays.
  await page.getByRole("button", { name: "Send the answer" }).click();
  await page.getByText("Not sent: the page is not connected.").waitFor();
  assert.ok(new URL(page.url()).pathname.endsWith(place));
  assert.ok(await page.getByRole("radio", { name: "merge" }).isChecked());
  fs.writeFileSync(folder + "/killed", "");
  await appears(folder + "/again");
  for (const each of [inbox, page]) await each.locator("#lost").waitFor({ state: "hidden" });
  await page.getByText("Connected again. Nothing was sent").waitFor();
  await page.getByRole("button", { name: "Send the answer" }).click();
  await page.waitForURL(/#outcome$/);
  assert.ok((await page.locator(".given").textContent()).includes("One section"));
  // The stream is there again: the inbox hears of the answer.
  await inbox.waitForFunction(() => document.title === "Inbox · askbox");
  assert.deepStrictEqual(inbox.complaints, []);
  await browser.close();
});
