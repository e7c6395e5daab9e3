/** `nodelet ui --kubeconfig` against a real API server: the page of a node through its proxy, with the rights of an account alone. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { pollUntil } from '../env/index.js';
import { type CliChild, startCli } from '../local/local-node.js';
import { openBrowser, openPage } from '../page/browser.js';
import { busybox, type Cluster, podManifest, startCluster, thenForever } from './cluster.js';

let cluster: Cluster;
let browser: Browser;
const started: CliChild[] = [];

const viewer = 'page-viewer';
const reader = 'page-reader';
const prints = 'while true; do echo "line at $(date +%s)"; sleep 1; done & echo begun';

beforeAll(async () => {
  [browser, cluster] = await Promise.all([
    openBrowser(),
    startCluster({ plane: { controllers: false, scheduler: false } }),
  ]);
  await cluster.apply(
    ...allow(viewer, ['nodes/proxy', ['get']], ['pods/exec', ['get', 'create']]),
    ...allow(reader, ['nodes/proxy', ['get']]),
    // What controllers would make of each namespace.
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace: 'default' } },
  );
  await cluster.apply(podOfNode('web', prints));
  await cluster.untilReady('web');
});
afterAll(async () => {
  await browser?.close();
  await cluster?.stop();
});
afterEach(async () => {
  for (const context of browser.contexts()) await context.close();
  for (const { child, ended } of started.splice(0)) {
    child.kill('SIGINT');
    await ended;
  }
});

type Right = readonly [resource: string, verbs: readonly string[]];

function allow(user: string, ...rights: readonly Right[]): object[] {
  const apiGroup = 'rbac.authorization.k8s.io';
  const apiVersion = `${apiGroup}/v1`;
  const metadata = { name: user };
  const rules = rights.map(([resource, verbs]) => ({ apiGroups: [''], resources: [resource], verbs }));
  return [
    { apiVersion, kind: 'ClusterRole', metadata, rules },
    {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata,
      roleRef: { apiGroup, kind: 'ClusterRole', name: user },
      subjects: [{ apiGroup, kind: 'User', name: user }],
    },
  ];
}

/** Needs no scheduler, and no token of its account. */
function podOfNode(name: string, script: string): object {
  return podManifest(name, {
    nodeName: cluster.node.name,
    automountServiceAccountToken: false,
    containers: [{ name: 'app', image: busybox, command: thenForever(script) }],
  });
}

async function openAs(user: string): Promise<{ page: Page; faults: string[]; ui: CliChild }> {
  const kubeconfig = cluster.plane.kubeconfigFor(user);
  const ui = startCli(['ui', '--kubeconfig', kubeconfig, '--node', cluster.node.name]);
  started.push(ui);
  const address = await pollUntil(
    'the address',
    () => /^http:\/\/127\.0\.0\.1:\d+\/#[\w-]{43}$/m.exec(ui.output().stdout)?.[0],
    { timeoutMs: 60_000, detail: () => ui.output().stderr },
  );
  return { ...(await openPage(browser, address)), ui };
}

async function openWeb(page: Page): Promise<void> {
  await page.getByRole('row', { name: /web.*1\/1.*Running/ }).waitFor();
  await page.getByRole('link', { name: 'web', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'web' }).waitFor();
}

describe('an account with the rights to look at the node and to run commands in its pods', () => {
  it('sees the pods, the node and what is asked of it', async () => {
    const { page, faults } = await openAs(viewer);
    await page.getByRole('row', { name: /web.*1\/1.*Running/ }).waitFor();
    await page.getByText(`${cluster.node.name} through https://`).waitFor();
    const views = page.getByRole('navigation', { name: 'Views' });
    await views.getByRole('link', { name: 'Node', exact: true }).click();
    await page.getByRole('row', { name: /^memory \d/ }).waitFor();
    await page.getByRole('figure', { name: /^Memory: used [\d.]+ [KMGT]iB/ }).waitFor();
    await page.getByText('Gates and limits in use').waitFor();
    await page.getByText('Check ping').waitFor();
    await views.getByRole('link', { name: 'What if' }).click();
    await page.getByText(/evict/i).first().waitFor();
    expect(faults).toEqual([]);
  });

  it('follows a log', async () => {
    const { page, faults } = await openAs(viewer);
    await openWeb(page);
    await page.getByRole('link', { name: 'Logs' }).click();
    const lines = page.getByRole('log').locator('div', { hasText: /line at \d+/ });
    await lines.first().waitFor();
    const before = await lines.count();
    await expect.poll(() => lines.count(), { timeout: 60_000 }).toBeGreaterThan(before + 2);
    expect(faults).toEqual([]);
  });

  it('opens a terminal', async () => {
    const { page, faults } = await openAs(viewer);
    await openWeb(page);
    await page.getByRole('link', { name: 'Terminal' }).click();
    await page.getByRole('button', { name: 'Open' }).click();
    await page.locator('.xterm-screen').waitFor();
    await page.keyboard.type('echo $((6 * 7))$((6 * 7))\n');
    await expect.poll(() => page.locator('.xterm-rows').textContent(), { timeout: 60_000 }).toMatch(/4242/);
    await page.keyboard.type('exit\n');
    await page.getByText('The command has ended.').waitFor();
    expect(faults).toEqual([]);
  });

  it('is told that the API server is gone, and sees what happened meanwhile when it comes back', async () => {
    const { page, faults } = await openAs(viewer);
    await openWeb(page);
    await page.getByRole('link', { name: 'Terminal' }).click();
    await page.getByRole('button', { name: 'Open' }).click();
    await expect.poll(() => page.locator('.xterm-rows').textContent(), { timeout: 60_000 }).toMatch(/[#$]/);
    const server = cluster.plane.server('kube-apiserver');
    await server.kill();
    try {
      await page.getByText(/^lost at .* trying again/).waitFor({ timeout: 60_000 });
      await page.getByText('The connection has ended').waitFor({ timeout: 60_000 });
      await page.getByRole('link', { name: 'Pods' }).click();
      // What was known stays.
      await page.getByRole('row', { name: /web/ }).waitFor();
    } finally {
      await server.start();
    }
    await page.getByText('live', { exact: true }).waitFor({ timeout: 60_000 });
    await cluster.apply(podOfNode('after', 'echo begun'));
    await page.getByRole('row', { name: /after.*1\/1.*Running/ }).waitFor({ timeout: 60_000 });
    expect(faults).toEqual([]);
  });
});

describe('an account that may only look', () => {
  it('sees the pods, and is told which right a terminal needs', async () => {
    const { page, faults } = await openAs(reader);
    await openWeb(page);
    await page.getByRole('link', { name: 'Terminal' }).click();
    await page.getByRole('button', { name: 'Open' }).click();
    await page.getByText(/User "page-reader" cannot \w+ resource "pods\/exec"/).waitFor();
    expect(faults).toEqual([]);
  });
});

describe('an account without rights', () => {
  it('is refused in the words of the API server, and sees nothing of the node', async () => {
    const { page, faults, ui } = await openAs('page-stranger');
    await page
      .getByText(/User "page-stranger" cannot get resource "nodes\/proxy"/)
      .first()
      .waitFor();
    // Words, and not the object that has them.
    expect(await page.locator('body').textContent()).not.toContain('"apiVersion"');
    await page.getByText(/^refused since /).waitFor();
    expect(await page.getByRole('row', { name: /web/ }).count()).toBe(0);
    await page.getByRole('link', { name: 'Node', exact: true }).click();
    await page
      .getByText(/cannot get resource "nodes\/proxy"/)
      .first()
      .waitFor();
    expect(ui.child.exitCode).toBeNull();
    expect(faults).toEqual([]);
  });
});
