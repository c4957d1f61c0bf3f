// Pages that are open follow the mailbox, through one stream for all of them.
"use strict";
const { assert, launch, person, run, signIn } = require("./lib.js");
const { execFileSync } = require("child_process");

run(async ({ base, link, program }) => {
  const browser = await launch();
  const page = await person(browser, "desk");
  const streams = [];
  page.context().on("request", (request) => request.url().endsWith("/events") && streams.push(request.url()));
  await signIn(page, base + link, "desk");
  const second = await page.context().newPage();
  await second.goto(base + "/");
  assert.strictEqual(await page.title(), "Inbox · askbox");
  // An empty list shows what comes. Later rows wait behind a button.
  execFileSync(program, ["-w", "one", "The first?"]);
  for (const each of [page, second]) await each.getByRole("link", { name: "The first?" }).waitFor();
  execFileSync(program, ["-w", "two", "The second?"]);
  for (const each of [page, second]) {
    await each.getByRole("button", { name: "1 new" }).click();
    await each.getByRole("link", { name: "The second?" }).waitFor();
    await each.waitForFunction(() => document.title === "(2) Inbox · askbox");
  }
  assert.strictEqual(streams.length, 1, streams.join());
  // A person who reads a page is not disturbed.
  await page.getByRole("searchbox").focus();
  await page.keyboard.type("first");
  execFileSync(program, ["-w", "three", "The third?"]);
  await page.waitForFunction(() => document.title === "(3) Inbox · askbox");
  assert.strictEqual(await page.getByRole("searchbox").inputValue(), "first");
  await page.keyboard.press("Enter");
  // The first one was in the whole list as well.
  await page.getByRole("link", { name: "The second?" }).waitFor({ state: "detached" });
  await page.getByRole("link", { name: "The first?" }).waitFor();
  assert.strictEqual(await page.getByRole("link", { name: "The second?" }).count(), 0);
  assert.deepStrictEqual(page.complaints, []);
  await browser.close();
});
