// Two people have one question open, and one of them is first.
"use strict";
const { assert, launch, person, run, signIn } = require("./lib.js");

run(async ({ base, links, place }) => {
  const browser = await launch();
  const [ann, bob] = [await person(browser, "phone"), await person(browser, "desk")];
  await signIn(ann, base + links[0], "ann's phone");
  await signIn(bob, base + links[1], "bob's desk");
  await ann.goto(base + place);
  await bob.goto(base + place);
  // A text that was written is kept, and chooses the option that it belongs to.
  await bob.getByRole("textbox", { name: "Your own words" }).fill("not before the tests pass");
  assert.ok(await bob.getByRole("radio", { name: "Your own words" }).isChecked());
  await bob.reload();
  assert.strictEqual(await bob.getByRole("textbox", { name: "Your own words" }).inputValue(), "not before the tests pass");
  assert.ok(await bob.getByRole("radio", { name: "Your own words" }).isChecked());
  await ann.getByText("One section", { exact: true }).click();
  await ann.getByRole("button", { name: "Send the answer" }).click();
  await ann.waitForURL(/#outcome$/);
  // The other page says so by itself, and keeps the text that was written.
  await bob.getByText("This question is over.").waitFor();
  assert.ok((await bob.locator("#live").textContent()).includes("answered by ann's phone"));
  await bob.getByRole("button", { name: "Send the answer" }).click();
  await bob.getByRole("heading", { name: "Your answer was not the first" }).waitFor();
  assert.strictEqual(await bob.getByLabel("You had written").inputValue(), "not before the tests pass");
  assert.ok((await bob.locator("main").textContent()).includes("answered by ann's phone through web"));
  assert.deepStrictEqual([...ann.complaints, ...bob.complaints], []);
  await browser.close();
});
