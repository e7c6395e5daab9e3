/** What a machine that cannot be read makes. */
import { expect, it } from 'vitest';
import { VirtualClock } from '../../async/index.js';
import { baselineConfiguration, resolveFeatureGates } from '../../config/index.js';
import { simulatedHost } from '../../host/index.js';
import { Timeline } from '../../timeline/index.js';
import { readNodeBasis } from './node-basis.js';

function basisOf(code?: string) {
  const { gates } = resolveFeatureGates({});
  const machine = simulatedHost();
  if (code !== undefined)
    machine.inject({
      at: ({ path }) => path === '/proc/meminfo',
      when: 'before',
      effect: { kind: 'fail', code },
    });
  const timeline = new Timeline({ clock: new VirtualClock() });
  const flags = { nodeLabels: {}, nodeIp: '', externalCloud: false };
  const settings = {
    nodeName: 'node-a',
    rootDir: '/',
    config: baselineConfiguration(gates),
    gates,
    timeline,
  };
  return readNodeBasis({ ...settings, machine }, { flags, kubeletVersion: 'v1.37.1' });
}

it('a machine that does not show what it has makes a node without capacity', async () => {
  expect((await basisOf()).machine).toBeUndefined();
});

it.each(['EIO', 'EMFILE', 'ENOMEM'])('a machine whose files fail with %s makes none', async (code) => {
  await expect(basisOf(code)).rejects.toThrow(code);
});
