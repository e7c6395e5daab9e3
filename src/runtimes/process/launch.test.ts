import { describe, expect, it } from 'vitest';
import { ContainerConfig, PodSandboxConfig } from '../../cri/index.js';
import { type LaunchInputs, planLaunch } from './launch.js';

type Config = Parameters<typeof ContainerConfig.create>[0];

function inputs(config: Config, more: Partial<LaunchInputs> = {}): LaunchInputs {
  return {
    containerId: 'c1',
    config: ContainerConfig.create({ metadata: { name: 'main' }, ...config }),
    sandboxConfig: PodSandboxConfig.create({ logDirectory: '/logs' }),
    mounts: [{ containerPath: '/data', hostPath: '/volumes/data' }],
    account: { uid: 0, gid: 0, groups: [], home: '/root', change: false },
    root: '/state/c1/root',
    hostSearchPath: '/bin',
    hostName: 'node1',
    findCommand: (command) =>
      command === 'nginx' ? { found: true, path: '/bin/nginx' } : { found: false, problem: 'no' },
    ...more,
  };
}

describe('the command', () => {
  const rows: [string, Config, string[]][] = [
    ['command and arguments', { command: ['sh', '-c'], args: ['true'] }, ['sh', '-c', 'true']],
    ['a command of the host by its path', { command: ['/bin/sh'] }, ['/bin/sh']],
    [
      'a command below a mount',
      { command: ['/data/bin/x', '/data'] },
      ['/state/c1/root/data/bin/x', '/data'],
    ],
    ['a path beside a mount is the host’s', { command: ['/database/x'] }, ['/database/x']],
    ['the image’s name without a command', { image: { image: 'nginx' } }, ['nginx']],
    ['its last part', { image: { image: 'example.test:5000/web/nginx:1.2' }, args: ['-v'] }, ['nginx', '-v']],
    [
      'the name in the pod where the image was resolved to an id',
      { image: { image: `sha256:${'a'.repeat(64)}`, userSpecifiedImage: 'nginx:1' } },
      ['nginx'],
    ],
  ];
  it.each(rows)('%s', (_, config, argv) => {
    expect(planLaunch(inputs(config)).argv).toEqual(argv);
  });

  it('fails without a command in the pod or of the image’s name, and the error says what to do', () => {
    expect(() => planLaunch(inputs({ image: { image: 'example.test/team/app:1' } }))).toThrow(
      'container "main" has no command, and image "example.test/team/app:1" names none: there is no "app" on the PATH ' +
        'of this machine. The process runtime runs host commands and no images: set "command:" in the pod, or use a ' +
        'container runtime such as containerd',
    );
  });
});

describe('the working directory', () => {
  it.each([
    ['is the private root by default', '', '/state/c1/root'],
    ['is the host’s', '/srv/app', '/srv/app'],
    ['is behind the mount that holds it', '/data/sub', '/state/c1/root/data/sub'],
  ])('%s', (_, workingDir, expected) => {
    expect(planLaunch(inputs({ command: ['x'], workingDir })).workingDir).toBe(expected);
  });
});

describe('the environment', () => {
  it('is the pod’s, with what every process needs and nothing of the agent’s', () => {
    const envs = [
      { key: 'A', value: Buffer.from('1') },
      { key: 'NODELET_ROOT', value: Buffer.from('/elsewhere') },
    ];
    expect(planLaunch(inputs({ command: ['x'], envs })).env).toEqual({
      PATH: '/bin',
      HOME: '/root',
      HOSTNAME: 'node1',
      A: '1',
      NODELET_ROOT: '/state/c1/root',
      NODELET_CONTAINER_ID: 'c1',
    });
  });

  it('may have its own search path, and the pod’s host name', () => {
    const { env } = planLaunch(
      inputs(
        { command: ['x'], envs: [{ key: 'PATH', value: Buffer.from('/opt') }] },
        { sandboxConfig: PodSandboxConfig.create({ hostname: 'web-0' }) },
      ),
    );
    expect(env).toMatchObject({ PATH: '/opt', HOSTNAME: 'web-0' });
  });
});

it('the user is changed only if necessary', () => {
  expect(planLaunch(inputs({ command: ['x'] })).user).toBeUndefined();
  const account = { uid: 7, gid: 8, groups: [9], home: '/', change: true };
  expect(planLaunch(inputs({ command: ['x'] }, { account })).user).toEqual({ uid: 7, gid: 8, groups: [9] });
});

it('the log is in the pod’s directory, if there is one', () => {
  expect(planLaunch(inputs({ command: ['x'], logPath: 'main/0.log' })).logPath).toBe('/logs/main/0.log');
  expect(planLaunch(inputs({ command: ['x'] })).logPath).toBe('');
});
