import { describe, expect, it } from 'vitest';
import { ContainerConfig, Signal } from '../../cri/index.js';
import type { Container } from '../../kube/index.js';
import { containerConfig } from './container.js';
import type { EnvValue } from './environment.js';
import { type RuntimeSettings, runtimeSettings } from './settings.js';

function build(
  container: Partial<Container>,
  environment: [string, EnvValue][] = [],
  change: Partial<RuntimeSettings> = {},
) {
  const full: Container = { name: 'c', image: 'example/app:1', ...container };
  return containerConfig({
    pod: { metadata: { name: 'web', namespace: 'shop', uid: 'u1' }, spec: { containers: [full] } },
    container: full,
    restartCount: 4,
    image: { ref: 'sha256:abc' },
    environment: new Map(environment),
    imageUser: {},
    volumeGroups: [],
    hasExclusiveCpus: false,
    targetContainerId: undefined,
    settings: runtimeSettings({ nodeName: 'n', ...change }),
  });
}

describe('containerConfig', () => {
  const rows: [rule: string, container: Partial<Container>, expected: object][] = [
    [
      'attempt and log follow the restart count',
      {},
      { metadata: { name: 'c', attempt: 4 }, logPath: 'c/4.log' },
    ],
    [
      'the resolved image, with the text of the spec',
      {},
      { image: { image: 'sha256:abc', userSpecifiedImage: 'example/app:1' } },
    ],
    ['no command leaves that of the image', {}, { command: [], args: [] }],
    [
      'references are expanded',
      { command: ['run', '$(A)'], args: ['--x=$(A)', '$(B)', '$$(A)'] },
      { command: ['run', '1'], args: ['--x=1', '$(B)', '$(A)'] },
    ],
    [
      'streams and directory',
      { workingDir: '/w', stdin: true, stdinOnce: true, tty: true },
      { workingDir: '/w', stdin: true, stdinOnce: true, tty: true },
    ],
  ];
  it.each(rows)('%s', (_rule, container, expected) => {
    expect(build(container, [['A', '1']])).toMatchObject(expected);
  });

  it('is a valid CRI message, with environment values as bytes', () => {
    const raw = new Uint8Array([0x80, 0xff]);
    const decoded = ContainerConfig.decode(
      ContainerConfig.encode(
        build({}, [
          ['A', 'é'],
          ['B', raw],
        ]),
      ),
    );
    expect(decoded.envs.map(({ key, value }) => [key, [...value]])).toEqual([
      ['A', [0xc3, 0xa9]],
      ['B', [0x80, 0xff]],
    ]);
  });

  it('rejects bytes in arguments', () => {
    expect(() => build({ args: ['$(B)'] }, [['B', new Uint8Array([0x80])]])).toThrow(
      'pod "web_shop(u1)", container c: command and args cannot contain $(B)',
    );
  });

  it('sends a stop signal only with its feature gate', () => {
    const lifecycle = { stopSignal: 'SIGUSR1' };
    expect(build({ lifecycle })).not.toHaveProperty('stopSignal');
    expect(build({ lifecycle }, [], { containerStopSignals: true }).stopSignal).toBe(Signal.SIGNAL_SIGUSR1);
    expect(() => build({ lifecycle: { stopSignal: 'SIGODD' } }, [], { containerStopSignals: true })).toThrow(
      'lifecycle.stopSignal "SIGODD" is not a known signal',
    );
  });
});
