// A person sees the questions of four machines on the page of one. One of them is cut off, and on another one somebody else is first.
"use strict";
const { assert, barriers, launch, layout, person, run, signIn } = require("./lib.js");
const { execFileSync } = require("child_process");

run(async ({ base, link, places, program, lab, folder }) => {
  const browser = await launch();
  const page = await person(browser, "phone");
  const picture = async (name) => folder && page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
  const serious = [];
  const look = async () => {
    serious.push(...(await barriers(page)).serious);
    assert.deepStrictEqual(await layout(page), { wide: false, small: [] });
  };
  await signIn(page, base + link, "ann's phone");
  assert.strictEqual(await page.title(), "(4) Inbox · askbox");
  for (const name of ["build", "lab"]) assert.ok(await page.locator(".card:not(.away)", { hasText: `${name}:docs-42` }).count(), name);
  const away = page.locator(".card.away");
  assert.strictEqual(await away.count(), 1);
  assert.ok(/edge:docs-42.*as of .*ago.*Merge the sections on edge\?/s.test(await away.textContent()), await away.textContent());
  await look();
  await picture("hub-inbox");

  // A machine that is cut off is given nothing, and what was filled in stays.
  await page.getByRole("link", { name: "Merge the sections on edge?" }).click();
  await page.getByText("nothing can be sent there now").waitFor();
  await page.getByText("Keep both", { exact: true }).click();
  await page.getByRole("button", { name: "Send the answer" }).click();
  await page.getByText("Nothing was sent:").waitFor();
  assert.ok(await page.getByRole("radio", { name: "keep" }).isChecked());
  await look();

  // Two taps: the answer is sent, and it is accepted when the machine says so.
  await page.goto(base + "/");
  await page.getByRole("link", { name: "Merge the sections on build?" }).click();
  await page.getByText("Into one", { exact: true }).click();
  await page.getByRole("button", { name: "Send the answer" }).click();
  await page.waitForURL(/#outcome$/);
  assert.ok(["sent", "sentnot yet"].includes(await page.locator(".steps li").first().textContent()));
  assert.ok(!(await page.locator("main").textContent()).includes("answered"));
  await page.locator(".steps li.done", { hasText: "accepted by build" }).waitFor();
  await look();
  await picture("hub-accepted");

  // Somebody else is first, there.
  await page.goto(base + places.lab);
  await page.getByRole("textbox", { name: "Your own words" }).fill("after the tests");
  execFileSync(program, ["docs-42", "keep", "--by", "bob"], { env: { ...process.env, ASKBOX_DIR: lab } });
  await page.getByText("This question is over.").waitFor();
  assert.ok((await page.locator("#live").textContent()).includes("bob"), await page.locator("#live").textContent());
  await page.getByRole("button", { name: "Send the answer" }).click();
  await page.getByLabel("You had written").waitFor();
  assert.strictEqual(await page.getByLabel("You had written").inputValue(), "after the tests");
  assert.ok((await page.locator("main").textContent()).includes("bob"));
  await look();
  // The page looks again when something changes there, and keeps what was written.
  const before = await page.title();
  execFileSync(program.replace(/ask-answer$/, "ask-post"), ["-w", "later", "Another one?"], { env: { ...process.env, ASKBOX_DIR: lab } });
  await page.waitForFunction((title) => document.title !== title, before);
  assert.strictEqual(await page.getByLabel("You had written").inputValue(), "after the tests");

  assert.deepStrictEqual(page.complaints, []);
  await browser.close();
  return { serious };
});
