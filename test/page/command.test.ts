/** `nodelet ui` as a user types it: before its run is there, and for a bare node. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { createTempDir, pollUntil } from '../env/index.js';
import { type CliChild, startCli } from '../local/local-node.js';
import { openBrowser, openPage } from './browser.js';

let browser: Browser;
let dir: Awaited<ReturnType<typeof createTempDir>>;
const started: CliChild[] = [];

beforeAll(async () => {
  [browser, dir] = await Promise.all([openBrowser(), createTempDir('ui')]);
});
afterAll(async () => {
  await browser?.close();
  await dir?.remove();
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
  for (const { child, ended } of started.splice(0).reverse()) {
    child.kill('SIGINT');
    await ended;
  }
});

const start = (args: readonly string[], input = ''): CliChild => {
  const cli = startCli(args, { env: { NODELET_STATE_DIR: dir.path }, input });
  started.push(cli);
  return cli;
};

const addressOf = (ui: CliChild): Promise<string> =>
  pollUntil('the address', () => /^http:\/\/127\.0\.0\.1:\d+\/#[\w-]{43}$/m.exec(ui.output().stdout)?.[0], {
    timeoutMs: 30_000,
    detail: () => ui.output().stderr,
  });

const manifest = `apiVersion: v1
kind: Pod
metadata: { name: told }
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 0
  containers: [{ name: app, image: host, command: [sleep, "1000"] }]
`;

it('shows a run that comes after the page, and ends in order', async () => {
  const ui = start(['ui', '--wait']);
  const address = await addressOf(ui);
  const { page, faults } = await openPage(browser, address);
  await page.getByText(/^Nothing is known of this node now: .*nothing runs/).waitFor();
  const run = start(['run', '--runtime', 'process', '--quiet', '-'], manifest);
  await page.getByRole('row', { name: /told.*1\/1.*Running/ }).waitFor();
  // Statistics are read only now that somebody looks.
  await page.getByRole('link', { name: 'Node', exact: true }).click();
  await page.getByRole('figure', { name: /^Memory: used [\d.]+ [KMGT]iB/ }).waitFor();
  ui.child.kill('SIGINT');
  expect(await ui.ended).toMatchObject({ code: 0 });
  run.child.kill('SIGINT');
  expect(await run.ended).toMatchObject({ code: 0 });
  expect(faults).toEqual([]);
});

it('shows a bare node through the socket of its owner', async () => {
  const stateDir = path.join(dir.path, 'node');
  start(['up', '--runtime', 'process', '--port', '0', '--state-dir', stateDir]);
  await pollUntil('the socket', () => (existsSync(path.join(stateDir, 'nodelet.sock')) ? true : undefined), {
    timeoutMs: 60_000,
    detail: () => started[0]?.output().stderr ?? '',
  });
  const { page } = await openPage(browser, await addressOf(start(['ui', '--state-dir', stateDir])));
  await page.getByText('This node has no pods.').waitFor();
  await page.getByRole('link', { name: 'Node', exact: true }).click();
  await page.getByText('Gates and limits in use').waitFor();
  await page.getByRole('row', { name: /^memory \d/ }).waitFor();
});
