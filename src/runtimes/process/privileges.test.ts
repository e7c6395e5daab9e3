/** What a container that runs as another user can and cannot do on the shared machine. */
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ContainerConfig, Init, LinuxContainerSecurityContext } from '../../cri/index.js';
import type { ProcessRuntime } from './runtime.js';
import { output, runPod, TestMachine } from './test-pods.js';

let machine: TestMachine;
let runtime: ProcessRuntime;
beforeAll(async () => {
  machine = await TestMachine.create();
  // The usual setup: the path to the agent's state is open, the state is not.
  chmodSync(machine.directory, 0o755);
  runtime = await machine.open();
});
afterAll(() => machine.remove());

const as = (security: Init<LinuxContainerSecurityContext>) => ({
  linux: { securityContext: { runAsUser: { value: 4711 }, ...security } },
});
const printed = async (config: Init<ContainerConfig>): Promise<string[]> => {
  const { start } = await runPod(runtime, machine.logs);
  const id = await start(config);
  return (await output(runtime, id)).map((line) => line.replace(/^\w+ [FP] /, ''));
};
const sh = (script: string) => ({ command: ['sh', '-c', script] });

describe('groups', () => {
  it('an unknown user is in no group of the machine', async () => {
    expect(await printed({ ...sh('id -u; id -G'), ...as({}) })).toEqual(['4711', '65534']);
  });

  it('it cannot read files of the root group', async () => {
    const secrets = join(machine.directory, 'secrets');
    mkdirSync(secrets);
    writeFileSync(join(secrets, 'token'), 'secret', { mode: 0o640 });
    chmodSync(secrets, 0o750);
    expect(await printed({ ...sh(`cat ${secrets}/token || echo refused`), ...as({}) })).toContain('refused');
  });

  it('it has its pod’s groups, and no others', async () => {
    const groups = { runAsGroup: { value: 4712 }, supplementalGroups: [5001, 5002] };
    expect(await printed({ ...sh('id -G'), ...as(groups) })).toEqual(['4712 5001 5002']);
    expect(await printed({ ...sh('id -G'), ...as({ runAsGroup: { value: 4712 } }) })).toEqual(['4712']);
  });

  it('exec commands have the same', async () => {
    const { start } = await runPod(runtime, machine.logs);
    const id = await start({ command: ['sleep', '100'], ...as({ supplementalGroups: [5001] }) });
    const { stdout } = await runtime.execSync({ containerId: id, cmd: ['id', '-G'], timeout: 10 });
    expect(Buffer.from(stdout).toString()).toBe('65534 5001\n');
    await runtime.stopContainer({ containerId: id, timeout: 0 });
  });

  it.each([
    ['runAsGroup', { runAsGroup: { value: 0 } }],
    ['a supplementary one', { supplementalGroups: [0] }],
  ])('the root group as %s is rejected', async (_, groups) => {
    const { create } = await runPod(runtime, machine.logs);
    await expect(create({ ...sh('id -G'), ...as(groups) })).rejects.toThrow('group 0');
  });
});

describe('privileges', () => {
  it('cannot be gained if the pod forbids it', async () => {
    const status = sh('grep NoNewPrivs /proc/self/status');
    expect(await printed({ ...status, ...as({ noNewPrivs: true }) })).toEqual(['NoNewPrivs:\t1']);
    expect(await printed({ ...status, ...as({}) })).toEqual(['NoNewPrivs:\t0']);
    expect(await printed({ ...status, linux: { securityContext: { noNewPrivs: true } } })).toEqual([
      'NoNewPrivs:\t1',
    ]);
  });

  it('a user other than root has no capability', async () => {
    const lines = await printed({ ...sh('grep -E "Cap(Inh|Prm|Eff|Amb)" /proc/self/status'), ...as({}) });
    expect(lines.map((line) => line.split('\t')[1])).toEqual(Array(4).fill('0000000000000000'));
  });

  it('no open file of the agent is inherited', async () => {
    expect(await printed({ ...sh('ls /proc/$$/fd'), ...as({}) })).toEqual(['0', '1', '2']);
  });
});

describe('the environment of a container', () => {
  it('does not affect programs that run as root on the way', async () => {
    const dir = join(machine.directory, 'loader');
    mkdirSync(dir);
    chmodSync(dir, 0o777);
    const envs = Object.entries({ LD_DEBUG: 'libs', LD_DEBUG_OUTPUT: join(dir, 'by') });
    for (const groups of [[], [5001]]) {
      await printed({
        command: ['true'],
        envs: envs.map(([key, value]) => ({ key, value: Buffer.from(value) })),
        ...as({ supplementalGroups: groups }),
      });
    }
    const owners = readdirSync(dir).map((name) => statSync(join(dir, name)).uid);
    // The loader did write, for the container's own command.
    expect(new Set(owners)).toEqual(new Set([4711]));
  });

  it('arrives as the pod wrote it, whatever the names and values', async () => {
    const wanted = {
      PLAIN: 'a b',
      QUOTES: `it's "$HOME" \`id\` \\`,
      LINES: 'one\ntwo',
      EMPTY: '',
      IFS: 'x',
      UID: '0',
      PPID: '1',
      nodelet_at: '9',
      NODELET_ENV_0: 'mine',
      'with.dots-and-dashes': 'here',
      BASH_ENV: '/nowhere',
      PATH: '/usr/bin:/bin',
    };
    const envs = Object.entries(wanted).map(([key, value]) => ({ key, value: Buffer.from(value) }));
    for (const groups of [[], [5001]]) {
      const [text = ''] = await printed({
        command: ['base64', '-w0', '/proc/self/environ'],
        envs,
        ...as({ supplementalGroups: groups }),
      });
      const pairs = Buffer.from(text, 'base64').toString().split('\0').filter(Boolean);
      const found = Object.fromEntries(pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2)));
      expect(found).toMatchObject(wanted);
      expect(
        Object.keys(found)
          .filter((name) => name.startsWith('NODELET_'))
          .sort(),
      ).toEqual(['NODELET_CONTAINER_ID', 'NODELET_ENV_0', 'NODELET_ROOT']);
    }
  });

  it('has nothing of the agent’s', async () => {
    process.env.NODE_OPTIONS_FOR_TEST = 'secret';
    const before = process.env.NODE_OPTIONS;
    process.env.NODE_OPTIONS = '--no-warnings';
    try {
      expect(await printed({ ...sh('env'), ...as({}) })).not.toContainEqual(
        expect.stringMatching(/NODE_OPTIONS/),
      );
    } finally {
      delete process.env.NODE_OPTIONS_FOR_TEST;
      if (before === undefined) delete process.env.NODE_OPTIONS;
      else process.env.NODE_OPTIONS = before;
    }
  });
});
