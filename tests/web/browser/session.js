// The conversation of a session on a phone: it fits, its calls open, and it grows without closing them.
"use strict";
const { assert, barriers, launch, layout, person, run, signIn } = require("./lib.js");
const fs = require("fs");

run(async ({ base, link, place, codex, opencode, transcript, next, see }) => {
  const browser = await launch();
  for (const colorScheme of ["light", "dark"]) {
    const page = await person(browser, "phone", { viewport: { width: 390, height: 844 }, colorScheme });
    if (colorScheme === "light") {
      await signIn(page, base + link, "ann's phone");
      await page.context().storageState({ path: transcript + ".state" });
    } else {
      await page.context().addCookies(JSON.parse(fs.readFileSync(transcript + ".state")).cookies);
      await page.goto(base + fs.readFileSync(transcript + ".home") + place);
    }
    if (colorScheme === "light") {
      await page.getByRole("link", { name: "Sessions" }).click();
      await page.getByRole("link", { name: "shop-7f" }).first().waitFor();
      assert.deepStrictEqual(await layout(page), { wide: false, small: [] });
      assert.deepStrictEqual((await barriers(page)).serious, []);
      await page.getByRole("link", { name: "shop-7f" }).first().click();
      fs.writeFileSync(transcript + ".home", new URL(page.url()).pathname.slice(0, -place.length));
    }
    await page.getByText("The tax was wrong.").waitFor();
    assert.deepStrictEqual(await layout(page), { wide: false, small: [] });
    const result = page.getByText("The file was updated.");
    assert.ok(!(await result.isVisible()));
    await page.getByText("/work/shop/src/prices.rs").click();
    await result.waitFor();
    await page.getByText("+let tax = 7;").waitFor();
    await page.locator(".talk").evaluate((list) => (list.scrollTop = list.scrollHeight));
    assert.deepStrictEqual((await barriers(page)).serious, []);
    // What comes is shown at the end, and the opened call stays open.
    const entry = { parentUuid: String(next - 1), uuid: String(next++), type: "user", message: { content: `news in ${colorScheme}` } };
    fs.appendFileSync(transcript, JSON.stringify(entry) + "\n");
    await page.getByText(entry.message.content).waitFor();
    assert.ok(await result.isVisible());
    const last = await page.locator(".talk").evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight);
    assert.ok(last < 5, String(last));
    await page.screenshot({ path: see ? `${see}/session-${colorScheme}.png` : transcript + ".png" });
    // A session of Codex that works can be stopped.
    // Of a page that has signed in, `goto` knows the home.
    const home = colorScheme === "light" ? "" : fs.readFileSync(transcript + ".home");
    await page.goto(`${base}${home}/session/${codex}`);
    await page.getByText("The bill was wrong.").waitFor();
    assert.ok(await page.getByRole("button", { name: "Stop its turn" }).isVisible());
    assert.deepStrictEqual(await layout(page), { wide: false, small: [] });
    assert.deepStrictEqual((await barriers(page)).serious, []);
    if (see) await page.screenshot({ path: `${see}/codex-${colorScheme}.png`, fullPage: true });
    const elsewhere = place.replace("/session/", "/session/build:");
    for (const [name, path, words] of [
      ["opencode", `/session/${opencode}`, "The tests were wrong."],
      ["elsewhere", elsewhere, "The tax was wrong."],
      ["sessions", "/sessions", "on build"],
    ]) {
      await page.goto(base + home + path);
      await page.getByText(words).first().waitFor();
      assert.deepStrictEqual(await layout(page), { wide: false, small: [] });
      assert.deepStrictEqual((await barriers(page)).serious, []);
      if (see) await page.screenshot({ path: `${see}/${name}-${colorScheme}.png`, fullPage: true });
      await page.setViewportSize({ width: 1280, height: 800 });
      assert.deepStrictEqual((await layout(page)).wide, false);
      assert.deepStrictEqual((await barriers(page)).serious, []);
      if (see) await page.screenshot({ path: `${see}/${name}-wide-${colorScheme}.png` });
      await page.setViewportSize({ width: 390, height: 844 });
    }
    // A prompt reaches the other machine, and is taken back there.
    await page.goto(base + home + elsewhere);
    await page.getByLabel("The next prompt").fill(`go on in ${colorScheme}`);
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("kept until the session is idle").waitFor();
    assert.strictEqual(await page.getByLabel("The next prompt").inputValue(), "");
    assert.ok(!(await page.evaluate(() => Object.keys(localStorage).some((key) => key.includes("session:")))));
    if (see) await page.screenshot({ path: `${see}/kept-${colorScheme}.png`, fullPage: true });
    await page.getByRole("button", { name: "Take it back" }).click();
    await page.getByText("kept until the session is idle").waitFor({ state: "detached" });
    await page.getByText("taken back").last().waitFor();
    assert.deepStrictEqual(page.complaints, []);
  }
  await browser.close();
});
