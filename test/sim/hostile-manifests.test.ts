/** Manifests made to harm the agent, beside a good one: each is reported once, and the good pod runs. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { settle } from '../../src/async/index.js';
import { endNodes, minute, nodeName, second, startNode } from './node.js';

const dirs: string[] = [];

afterEach(async () => {
  await endNodes();
  for (const dir of dirs.splice(0)) rmSync(dir, { recursive: true });
});

const pod = (name: string): string =>
  `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec:\n  containers:\n  - {name: app, image: web}\n`;

const unknown = `${pod('bad')}x: `;
const lines = (count: number, text: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => text(index)).join('');

describe('a hostile manifest', () => {
  it.each([
    [
      'nested lists',
      `${unknown}${'['.repeat(3000)}${']'.repeat(3000)}\n`,
      /bad\.yaml:7:\d+: x: .*flatten or remove/,
    ],
    ['nested keys', `${unknown}\n  ${'? '.repeat(90)}a\n`, /cannot be the name of a field/],
    ['aliases', `a: &a [x]\n${lines(20_000, (at) => `a${at}: *a\n`)}`, /20000 aliases repeat too much/],
    ['documents', '---\na\n'.repeat(200_000), /more than 250000 values/],
    [
      'wrong types',
      pod('bad').replace('{name: app, image: web}', '1\n  - '.repeat(20_000)),
      /there are more problems/,
    ],
    [
      'duplicate containers',
      `${pod('bad')}${'  - {name: app, image: web}\n'.repeat(5000)}`,
      /there are more problems/,
    ],
  ])(
    'with %s is reported, and the other pod runs',
    async (_, text, message) => {
      const dir = mkdtempSync(path.join(tmpdir(), 'nodelet-hostile-'));
      dirs.push(dir);
      writeFileSync(path.join(dir, 'bad.yaml'), text);
      writeFileSync(path.join(dir, 'good.yaml'), pod('good'));
      const node = await startNode({ sources: [], kubelet: { config: { staticPodPath: dir } } });
      const name = `good-${nodeName}`;
      for (let waited = 0; waited < minute && node.machine.running(name).length === 0; waited += second) {
        // Files are read in real time, which the node's clock does not wait for.
        await new Promise((resolve) => setTimeout(resolve, 5));
        await settle();
        await node.advance(second);
      }
      expect(node.machine.running(name)).toHaveLength(1);
      expect(node.machine.seenSandboxes(`bad-${nodeName}`)).toEqual([]);
      const reports = node.entries.filter(({ what }) => what === 'manifest').map((entry) => entry.message);
      expect(reports).toHaveLength(1);
      expect(reports[0]).toMatch(message);
      expect(reports[0]?.length).toBeLessThan(20_000);
    },
    60_000,
  );
});
