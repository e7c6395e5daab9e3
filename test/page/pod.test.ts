/** One pod on the page: its life, why it waits, its last words, its log, a terminal in it; and names and lines that mean harm. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { PageServer } from '../../src/page/index.js';
import { type LocalNode, pod, shellPod, startLocalNode } from '../local/local-node.js';
import { openBrowser, openPage } from './browser.js';
import { servePage } from './served-page.js';

let browser: Browser;
let node: LocalNode;
let server: PageServer;

const harm = '<img src=x onerror="window.harmed=1"><script>window.harmed=1</script>';
/** Moves the cursor, changes the title of a terminal, turns the direction of the text. */
const escapes = '\\033[2J\\033]0;owned\\007\\033[31mred\\033[0m \\342\\200\\256txt.exe';

beforeAll(async () => {
  [browser, node] = await Promise.all([openBrowser(), startLocalNode()]);
  server = await servePage(() => node.socketPath);
  const hostile = shellPod('hostile', `printf '%s\\n' '${harm}'; printf '${escapes}\\n'; sleep 1000`);
  node.set(
    pod('crash', [
      { name: 'app', image: 'host', command: ['sh', '-c', `echo '${harm}'; echo last words; exit 3`] },
    ]),
    { ...hostile, metadata: { ...hostile.metadata, annotations: { note: harm } } },
    pod('refused', [
      { name: 'app', image: 'host', resources: { requests: { cpu: '100000' }, limits: { cpu: '100000' } } },
    ]),
  );
  await node.ready('hostile');
});
afterAll(async () => {
  await server?.close();
  await browser?.close();
  await node?.close();
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
});

async function openPod(name: string): Promise<{ page: Page; faults: string[] }> {
  const opened = await openPage(browser, server.newAddress());
  await opened.page.getByRole('link', { name, exact: true }).click();
  await opened.page.getByRole('heading', { level: 1, name }).waitFor();
  return opened;
}

const harmed = (page: Page): Promise<unknown> => page.evaluate('window.harmed ?? null');

it('tells why a pod waits, its last words beside its exit, and its life to scale', async () => {
  const { page, faults } = await openPod('crash');
  await page.getByText('CrashLoopBackOff, next try at').first().waitFor();
  await page.getByRole('heading', { name: 'app ended with 3' }).waitFor();
  await page.locator('pre', { hasText: 'last words' }).waitFor();
  expect(await page.locator('pre').first().textContent()).toContain(harm);
  const life = page.getByRole('listbox', { name: 'app' });
  await life
    .getByRole('option', { name: /^Exited with 3/ })
    .first()
    .dispatchEvent('click');
  // The keyboard goes from one to the next.
  await life.focus();
  await page.keyboard.press('Home');
  await page.getByText(/^app: /).waitFor();
  while ((await page.getByText(/^app: Exited with 3.*because/).count()) === 0)
    await page.keyboard.press('ArrowRight');
  await page
    .getByRole('listbox', { name: 'pod' })
    .getByRole('option', { name: /^Pending/ })
    .waitFor();
  expect(await harmed(page)).toBeNull();
  expect(faults).toEqual([]);
});

it('tells of a pod that is refused what would help', async () => {
  const { page } = await openPod('refused');
  await page
    .getByText(/OutOfcpu/)
    .first()
    .waitFor();
  await page.getByText('What would help').waitFor();
});

it('shows names, annotations and lines that mean harm as text', async () => {
  const { page, faults } = await openPod('hostile');
  await page.getByRole('link', { name: 'Manifest' }).click();
  await page.locator('pre', { hasText: 'window.harmed' }).waitFor();
  await page.getByRole('link', { name: 'Events and steps' }).click();
  await page.getByRole('heading', { name: 'All steps' }).waitFor();
  await page.getByRole('link', { name: 'Logs' }).click();
  const log = page.getByRole('log');
  await log.getByText('red').waitFor();
  expect(await log.textContent()).toContain(harm);
  expect(await log.textContent()).toContain('red \ufffdtxt.exe');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be there
  expect(await log.textContent()).not.toMatch(/[\u0000-\u0008\u001b\u202e]/);
  await page.getByPlaceholder('Search').fill('onerror');
  await page.getByText('1 line', { exact: true }).waitFor();
  await expect.poll(() => log.locator('div').count()).toBe(1);
  expect(await page.locator('img').count()).toBe(0);
  expect(await harmed(page)).toBeNull();
  expect(await page.title()).not.toBe('owned');
  expect(faults).toEqual([]);
});

describe('a terminal', () => {
  it('runs a command in the container, takes keys, and fits its place', async () => {
    const { page, faults } = await openPod('hostile');
    await page.getByRole('link', { name: 'Terminal' }).click();
    await page.getByRole('button', { name: 'Open' }).click();
    await page.locator('.xterm-screen').waitFor();
    await page.keyboard.type(
      'stty size; echo $((6 * 7))$((6 * 7)); printf "\\033[38;2;9;8;7mcoloured\\033[0m\\n"\n',
    );
    const screen = page.locator('.xterm-rows');
    await expect.poll(() => screen.textContent(), { timeout: 20_000 }).toMatch(/4242/);
    await expect.poll(() => screen.textContent()).toMatch(/coloured/);
    // Neither the 80 columns of before it fitted, nor none.
    const [, rows = '0', columns = '0'] =
      /(\d+) (\d+)/.exec(((await screen.textContent()) ?? '').split('7mcoloured')[1] ?? '') ?? [];
    expect(Number(rows)).toBeGreaterThan(10);
    expect(Number(columns)).toBeGreaterThan(90);
    await page.keyboard.type('exit\n');
    await page.getByText('The command has ended.').waitFor();
    expect(faults).toEqual([]);
  });

  it('says why there is none', async () => {
    const { page } = await openPod('hostile');
    await page.getByRole('link', { name: 'Terminal' }).click();
    await page.getByLabel('Command').fill('no-such-command');
    await page.getByRole('button', { name: 'Open' }).click();
    await page
      .getByText(/no-such-command|has ended|exit/)
      .last()
      .waitFor();
  });
});
