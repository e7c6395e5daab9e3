/** Nothing of a Secret is told to anybody, whatever goes wrong with it on its way into a pod. */
import { afterEach, expect, it } from 'vitest';
import type { HostFault } from '../../src/host/index.js';
import type { Container, Volume } from '../../src/kube/index.js';
import { endNodes, minute } from './node.js';
import { apiPod } from './pods.js';
import { configMap, Outside, secret, startVolumeNode, volumePath } from './volume-node.js';

afterEach(endNodes);

const value = 'sesame-open-4711';
/** What the value looks like in base64, wherever in a text it stands. */
const traces = ['sesame', ...[0, 1, 2].map((skip) => btoa(`${'x'.repeat(skip)}${value}`).slice(4, -4))];

const failing = (code: string, operation: string, path: string, when: HostFault['when'] = 'before') => ({
  at: (call: { operation: string; path: string }) => call.operation === operation && call.path.includes(path),
  when,
  effect: { kind: 'fail' as const, code },
});

interface Trouble {
  readonly volume?: Volume;
  readonly container?: Partial<Container>;
  readonly data?: Record<string, string>;
  readonly fault?: HostFault;
  /** Of the events that tell of it; none when it does no harm. */
  readonly told?: string | undefined;
}

const keys = (items: { key: string; path: string }[]): Volume => ({
  name: 's',
  secret: { secretName: 'key', items },
});
const whole: Volume = { name: 's', secret: { secretName: 'key' } };
const rows: [rule: string, trouble: Trouble][] = [
  ['nothing', { told: undefined }],
  ['a missing key', { volume: keys([{ key: 'none', path: 'x' }]), told: 'non-existent secret key: none' }],
  ['a path that leads out', { volume: keys([{ key: 'a', path: '../x' }]), told: "must not contain '..'" }],
  ['a path from the root', { volume: keys([{ key: 'a', path: '/x' }]), told: 'must be relative path' }],
  ['a key that is too long', { data: { ['k'.repeat(300)]: value }, told: 'invalid path' }],
  ['no room for it', { fault: failing('ENOSPC', 'writeFile', '/a'), told: 'ENOSPC' }],
  ['a write that fails late', { fault: failing('EIO', 'writeFile', '/a', 'after'), told: 'EIO' }],
  ['a switch that fails', { fault: failing('EIO', 'rename', '..data'), told: 'EIO' }],
  ['a mount that fails', { fault: failing('EPERM', 'mount', '/s'), told: 'EPERM' }],
  [
    'a projection without its other half',
    {
      volume: {
        name: 's',
        projected: { sources: [{ secret: { name: 'key' } }, { secret: { name: 'none' } }] },
      },
      told: 'secret "none" not found',
    },
  ],
  [
    'a subPath that is no path',
    {
      container: { volumeMounts: [{ name: 's', mountPath: '/s', subPath: 'a/b' }] },
      told: 'failed to prepare subPath',
    },
  ],
];

it.each(rows)(
  '%s',
  async (_rule, { volume = whole, container, data = { a: value, b: value }, fault, told }) => {
    const { node, objects, host } = await startVolumeNode();
    objects.set('test', { secrets: [secret('key', data)] });
    if (fault !== undefined) host.inject(fault);
    const volumeMounts = [{ name: 's', mountPath: '/s' }];
    const pod = apiPod('web', {
      containers: [{ name: 'app', image: 'app:1', volumeMounts, ...container }],
      spec: { volumes: [volume] },
    });
    node.set([pod]);
    await node.advance(minute);
    expect(node.isReady('web')).toBe(told === undefined);
    const said = node.events('web').map(({ message }) => message);
    if (told !== undefined) expect(said.join('\n')).toContain(told);
    // A running pod whose Secret goes, comes back as something else and is used no more.
    objects.set('test', { configMaps: [configMap('key', {})] });
    await node.advance(2 * minute);
    objects.set('test', { secrets: [secret('key', { ...data, c: `${value}-2` })] });
    await node.advance(2 * minute);
    node.delete('web', 1);
    await node.untilStopped('web');
    node.drop('web');
    await node.advance(minute);
    const everything = [
      ...node.entries.map((entry) => JSON.stringify(entry)),
      JSON.stringify(node.kubelet.pods()),
      node.kubelet.registry.text(),
    ].join('\n');
    for (const trace of traces) expect(everything).not.toContain(trace);
    expect(await new Outside(host.machine).names(volumePath(pod, 'secret', 's'))).toEqual([]);
  },
);

it('the value is where it belongs, on a file system in memory', async () => {
  const { node, objects, host } = await startVolumeNode();
  objects.set('test', { secrets: [secret('key', { a: value })] });
  const volumeMounts = [{ name: 's', mountPath: '/s' }];
  const pod = apiPod('web', {
    containers: [{ name: 'app', image: 'app:1', volumeMounts }],
    spec: { volumes: [whole] },
  });
  node.set([pod]);
  await node.untilReady('web');
  const outside = new Outside(host.machine);
  expect(await outside.text(`${volumePath(pod, 'secret', 's')}/a`)).toBe(value);
  expect(await outside.mounts()).toEqual([volumePath(pod, 'secret', 's')]);
  const written = host.calls.filter(({ operation }) => operation === 'writeFile').map(({ path }) => path);
  const records = written.filter((path) => path.endsWith('_state.tmp')).map((path) => path.slice(0, -4));
  for (const record of records) expect(await outside.text(record)).not.toContain(value);
  expect(written.filter((path) => !path.endsWith('/ready') && !path.endsWith('_state.tmp'))).toEqual([
    expect.stringContaining(`${volumePath(pod, 'secret', 's')}/..2026`),
  ]);
});
