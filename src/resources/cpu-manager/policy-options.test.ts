/** Which options the policies take, and what is said about wrong ones. */
import { describe, expect, it } from 'vitest';
import { big80, ht8, testMachine } from '../machine-topology/test-machines.js';
import { cpuTopology } from './cpu-topology.js';
import { checkSocketAlignment, readStaticPolicyOptions } from './policy-options.js';
import { testCpuNode } from './test-cpu-node.js';

describe('options', () => {
  const all = { alphaOptions: true, betaOptions: true };
  const conflict = (first: string, second: string): string =>
    `new static policy error: static policy options ${first} and ${second} can not be used at the same time`;
  it.each<[Record<string, string>, string]>([
    [{ x: 'true' }, 'new static policy error: unknown CPU Manager Policy option: "x"'],
    [
      { 'full-pcpus-only': 'yes' },
      'new static policy error: bad value for option "full-pcpus-only": strconv.ParseBool: parsing "yes": invalid syntax',
    ],
    [
      { 'full-pcpus-only': 'true', 'distribute-cpus-across-cores': 'true' },
      conflict('full-pcpus-only', 'distribute-cpus-across-cores'),
    ],
    [
      { 'distribute-cpus-across-numa': '1', 'distribute-cpus-across-cores': 'T' },
      conflict('distribute-cpus-across-numa', 'distribute-cpus-across-cores'),
    ],
    [
      { 'prefer-align-cpus-by-uncorecache': 't', 'distribute-cpus-across-cores': 'TRUE' },
      conflict('prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-cores'),
    ],
    [
      { 'prefer-align-cpus-by-uncorecache': 'True', 'distribute-cpus-across-numa': 'true' },
      conflict('prefer-align-cpus-by-uncorecache', 'distribute-cpus-across-numa'),
    ],
  ])('%o is refused', (given, message) => expect(() => readStaticPolicyOptions(given, all)).toThrow(message));

  it.each([
    ['align-by-socket', 'Alpha'],
    ['distribute-cpus-across-cores', 'Alpha'],
    ['distribute-cpus-across-numa', 'Beta'],
  ])('%s needs its gate', (option, stage) =>
    expect(() =>
      readStaticPolicyOptions({ [option]: 'false' }, { alphaOptions: false, betaOptions: false }),
    ).toThrow(
      `new static policy error: CPU Manager Policy ${stage}-level Options not enabled, but option "${option}" provided`,
    ),
  );

  it('an option that is off conflicts with nothing', () => {
    const options = readStaticPolicyOptions(
      { 'full-pcpus-only': 'true', 'distribute-cpus-across-cores': 'false' },
      all,
    );
    expect(options).toMatchObject({ fullPcpusOnly: true, acrossCores: false });
  });

  it('align-by-socket fits neither single-numa-node nor more sockets than nodes', () => {
    const options = readStaticPolicyOptions({ 'align-by-socket': 'true' }, all);
    expect(() => checkSocketAlignment(options, cpuTopology(ht8), 'single-numa-node')).toThrow(
      'new static policy error: Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option',
    );
    const sockets = testMachine({ cores: 4, socket: (core) => core % 2 });
    expect(() => checkSocketAlignment(options, cpuTopology(sockets), 'none')).toThrow(
      'new static policy error: Align by socket is not compatible with hardware where number of sockets are more than number of NUMA',
    );
    expect(() => checkSocketAlignment(options, cpuTopology(big80), 'restricted')).not.toThrow();
  });

  it('policy none has no options', async () => {
    await expect(
      testCpuNode({ machine: ht8, policy: 'none', options: { 'full-pcpus-only': 'true' } }),
    ).rejects.toThrow(
      'cpuManagerPolicyOptions (--cpu-manager-policy-options): new none policy error: None policy: received unsupported options=map[full-pcpus-only:true]',
    );
  });
});
