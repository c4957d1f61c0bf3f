// A person follows a link of a question to another port of the page's host, comes back, and answers.
"use strict";
const { assert, launch, person, run, signIn } = require("./lib.js");

run(async ({ base, link, place }) => {
  const browser = await launch();
  const page = await person(browser, "desk");
  await signIn(page, base + link, "ann's desk");
  // A link without the path of the device, as of a notification, leads on.
  const news = await page.context().newPage();
  await news.goto(base + place + "?from=news#question");
  await news.getByRole("button", { name: "Send the answer" }).waitFor();
  assert.ok(news.url().endsWith(place + "?from=news#question"), news.url());
  await page.goto(base + place);
  const opened = page.context().waitForEvent("page");
  await page.getByRole("link", { name: "the preview" }).click();
  await (await opened).getByText("preview").waitFor();
  await page.reload();
  await page.getByText("Keep both", { exact: true }).click();
  await page.getByRole("button", { name: "Send the answer" }).click();
  await page.waitForURL(/#outcome$/);
  assert.deepStrictEqual(page.complaints, []);
  await browser.close();
});
