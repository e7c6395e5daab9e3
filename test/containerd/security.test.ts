/** As whom and with which rights real containers run. */
import { existsSync } from 'node:fs';
import { mkdir, readlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Container, PodSpec, SecurityContext } from '../../src/kube/index.js';
import { chosenRelease, testImages } from '../env/index.js';
import { busybox, eventually, forever, manifest, TestNode } from './agent.js';

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.create();
  const profiles = path.join(node.root, 'seccomp/profiles');
  await mkdir(profiles, { recursive: true });
  await writeFile(
    path.join(profiles, 'no-mkdir.json'),
    JSON.stringify({
      defaultAction: 'SCMP_ACT_ALLOW',
      syscalls: [{ names: ['mkdir', 'mkdirat'], action: 'SCMP_ACT_ERRNO' }],
    }),
  );
  await node.start();
});
afterAll(() => node.stop());

interface Shape {
  readonly image?: string;
  readonly pod?: PodSpec['securityContext'];
  readonly container?: SecurityContext;
  readonly spec?: Partial<PodSpec>;
}

async function apply(name: string, { image = busybox, pod, container, spec }: Shape): Promise<void> {
  const app: Container = { name: 'app', image, command: forever };
  await node.apply(
    `${name}.yaml`,
    manifest(name, {
      spec: {
        ...(pod === undefined ? {} : { securityContext: pod }),
        ...spec,
        containers: [{ ...app, ...(container === undefined ? {} : { securityContext: container }) }],
      },
    }),
  );
}

/** What the kernel says of the container's first process. */
async function processStatus(name: string): Promise<Record<string, string>> {
  const text = await node.exec(name, 'app', 'cat', '/proc/1/status');
  return Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map((line) => line.split(/:\s*/, 2)),
  );
}

const id = async (name: string): Promise<string> => (await node.exec(name, 'app', 'id')).trim();

describe.concurrent('users and groups', () => {
  it.each<[string, string, Shape, RegExp]>([
    ['root', 'root by default', {}, /^uid=0\(root\) gid=0/],
    ['imageuid', 'the user of the image', { image: testImages.nonroot }, /^uid=1000/],
    ['imagename', 'the user of the image by name', { image: testImages.namedUser }, /^uid=65534\(nobody\)/],
    ['poduser', 'the user of the pod', { pod: { runAsUser: 1234, runAsGroup: 2345 } }, /^uid=1234 gid=2345/],
    [
      'own',
      'the user of the container wins',
      { pod: { runAsUser: 1234 }, container: { runAsUser: 77 } },
      /^uid=77 /,
    ],
    [
      'groups',
      'groups of the pod',
      { pod: { runAsUser: 1000, runAsGroup: 1000, fsGroup: 3000, supplementalGroups: [4000, 4001] } },
      /groups=(1000[^,]*,)?3000,4000,4001/,
    ],
  ])('%s: %s', async (name, _, shape, expected) => {
    await apply(name, shape);
    const status = await node.untilReady(name);
    expect(await id(name)).toMatch(expected);
    expect(status.containerStatuses?.[0]?.state?.running).toBeDefined();
  });

  it.each<[string, Shape, string]>([
    [
      'nonroot-root',
      { container: { runAsNonRoot: true } },
      'container has runAsNonRoot and image will run as root',
    ],
    [
      'nonroot-zero',
      { container: { runAsNonRoot: true, runAsUser: 0 } },
      "container's runAsUser breaks non-root policy",
    ],
    [
      'nonroot-name',
      { image: testImages.namedUser, pod: { runAsNonRoot: true } },
      'container has runAsNonRoot and image has non-numeric user (nobody), cannot verify user is non-root',
    ],
  ])('%s is refused', async (name, shape, message) => {
    await apply(name, shape);
    const status = await node.until(
      name,
      'is refused',
      (one) => one.containerStatuses?.[0]?.state?.waiting?.reason === 'CreateContainerConfigError',
    );
    expect(status.containerStatuses?.[0]?.state?.waiting?.message).toMatch(
      new RegExp(
        `^${message.replace(/[()]/g, '\\$&')} \\(pod: "${name}-node1_default\\(.*\\)", container: app\\)$`,
      ),
    );
    // The log is written a moment after the status can be read.
    await eventually(
      'the refusal is told',
      async () => node.logOf(name, `event.Failed: Error: ${message}`).length > 0,
    );
    await node.remove(`${name}.yaml`);
  });

  it('nonroot-ok: a user other than root is let in', async () => {
    await apply('nonroot-ok', { image: testImages.nonroot, pod: { runAsNonRoot: true } });
    await node.untilReady('nonroot-ok');
  });
});

const sysAdmin = 1n << 21n;
const netRaw = 1n << 13n;
const chown = 1n;

describe.concurrent('rights', () => {
  it.each<[string, string, Shape, (effective: bigint) => boolean]>([
    ['caps-default', 'the usual ones', {}, (caps) => (caps & chown) !== 0n && (caps & sysAdmin) === 0n],
    ['caps-drop', 'none', { container: { capabilities: { drop: ['ALL'] } } }, (caps) => caps === 0n],
    [
      'caps-some',
      'one of none',
      { container: { capabilities: { drop: ['ALL'], add: ['NET_RAW'] } } },
      (caps) => caps === netRaw,
    ],
    [
      'caps-add',
      'one more',
      { container: { capabilities: { add: ['SYS_ADMIN'] } } },
      (caps) => (caps & sysAdmin) !== 0n,
    ],
  ])('%s: %s', async (name, _, shape, holds) => {
    await apply(name, shape);
    await node.untilReady(name);
    const { CapEff = '' } = await processStatus(name);
    expect(holds(BigInt(`0x${CapEff}`)), CapEff).toBe(true);
  });

  it('privileged: all rights, all devices, nothing hidden', async () => {
    await apply('privileged', { container: { privileged: true } });
    await apply('ordinary', {});
    await Promise.all([node.untilReady('privileged'), node.untilReady('ordinary')]);
    const { CapEff = '', Seccomp } = await processStatus('privileged');
    const { CapBnd = '' } = await processStatus('privileged');
    expect(CapEff).toBe(CapBnd);
    expect(BigInt(`0x${CapEff}`) & sysAdmin).not.toBe(0n);
    expect(Seccomp).toBe('0');
    const devices = async (name: string): Promise<number> =>
      (await node.exec(name, 'app', 'ls', '/dev')).split('\n').length;
    expect(await devices('privileged')).toBeGreaterThan(await devices('ordinary'));
    const mounts = await node.exec('privileged', 'app', 'cat', '/proc/mounts');
    expect(mounts).not.toMatch(/ \/proc\/sys /);
    const [sandboxId = ''] = await node.readySandboxes('privileged');
    const { info } = await node.cri.podSandboxStatus({ podSandboxId: sandboxId, verbose: true });
    expect(JSON.parse(info.info ?? '{}').config.linux.security_context.privileged).toBe(true);
  });

  it('no-new: privileges cannot be gained where that is refused', async () => {
    await apply('no-new', { container: { allowPrivilegeEscalation: false } });
    await apply('may-new', {});
    await Promise.all([node.untilReady('no-new'), node.untilReady('may-new')]);
    expect((await processStatus('no-new')).NoNewPrivs).toBe('1');
    expect((await processStatus('may-new')).NoNewPrivs).toBe('0');
  });

  it('read-only: the root file system', async () => {
    await apply('read-only', { container: { readOnlyRootFilesystem: true } });
    await node.untilReady('read-only');
    await expect(node.exec('read-only', 'app', 'touch', '/x')).rejects.toThrow('Read-only file system');
  });

  it('masked: parts of /proc are hidden, and shown where they should be', async () => {
    await apply('masked', {});
    await node.untilReady('masked');
    const mounts = await node.exec('masked', 'app', 'cat', '/proc/mounts');
    expect(mounts).toMatch(/ \/proc\/timer_list /);
    expect(mounts).toMatch(/ \/proc\/sys .*\bro\b/);
    const { info } = await node.cri.containerStatus({
      containerId: (await node.running('masked'))[0] ?? '',
      verbose: true,
    });
    const linux = JSON.parse(info.info ?? '{}').config.linux.security_context;
    expect(linux.masked_paths).toContain('/sys/firmware');
    expect(linux.readonly_paths).toEqual([
      '/proc/bus',
      '/proc/fs',
      '/proc/irq',
      '/proc/sys',
      '/proc/sysrq-trigger',
    ]);
  });
});

describe.concurrent('seccomp', () => {
  it.each<[string, Shape, string]>([
    ['sec-none', {}, '0'],
    ['sec-runtime', { pod: { seccompProfile: { type: 'RuntimeDefault' } } }, '2'],
    [
      'sec-own',
      {
        pod: { seccompProfile: { type: 'RuntimeDefault' } },
        container: { seccompProfile: { type: 'Unconfined' } },
      },
      '0',
    ],
    [
      'sec-local',
      { container: { seccompProfile: { type: 'Localhost', localhostProfile: 'profiles/no-mkdir.json' } } },
      '2',
    ],
  ])('%s', async (name, shape, mode) => {
    await apply(name, shape);
    await node.untilReady(name);
    expect((await processStatus(name)).Seccomp).toBe(mode);
    const makes = node.exec(name, 'app', 'mkdir', '/tmp/made');
    if (name === 'sec-local') await expect(makes).rejects.toThrow('Operation not permitted');
    else await makes;
  });
});

/** A newer runtime enforces these; `test/newer-runtime` shows that it does. */
const olderCannot: [string, Shape, string, string][] = [
  [
    'strict-groups',
    { pod: { supplementalGroupsPolicy: 'Strict' } },
    'SupplementalGroupsPolicyNotSupported',
    'Pod was rejected: SupplementalGroupsPolicy=Strict is not supported in this node',
  ],
];

describe.concurrent('what cannot be enforced', () => {
  it.each<[string, Shape, string, string]>([
    ...(chosenRelease() === 'packaged' ? olderCannot : []),
    [
      'app-armor',
      { container: { appArmorProfile: { type: 'RuntimeDefault' } } },
      'AppArmor',
      'Pod was rejected: Cannot enforce AppArmor: AppArmor is not enabled on the host',
    ],
  ])('%s: the pod is refused', async (name, shape, reason, message) => {
    if (name === 'app-armor' && existsSync('/sys/module/apparmor/parameters/enabled')) return;
    await apply(name, shape);
    const status = await node.until(name, 'has failed', ({ phase }) => phase === 'Failed');
    expect(status).toMatchObject({ reason, message });
    expect(await node.sandboxes(name)).toEqual([]);
  });
});

describe.concurrent('namespaces', () => {
  it('shared-pid: containers of a pod see each other', async () => {
    await node.apply(
      'shared-pid.yaml',
      manifest('shared-pid', {
        spec: {
          shareProcessNamespace: true,
          containers: [
            { name: 'app', image: busybox, command: forever },
            { name: 'other', image: busybox, command: ['sleep', '4242'] },
          ],
        },
      }),
    );
    await node.untilReady('shared-pid');
    expect(await node.exec('shared-pid', 'app', 'ps')).toContain('sleep 4242');
  });

  it('host-ns: a pod on the network, processes and memory of the node', async () => {
    await apply('host-ns', { spec: { hostNetwork: true, hostPID: true, hostIPC: true } });
    await node.untilReady('host-ns');
    const own = async (what: string): Promise<string> =>
      (await node.exec('host-ns', 'app', 'readlink', `/proc/self/ns/${what}`)).trim();
    for (const what of ['net', 'pid', 'ipc'])
      expect(await own(what)).toBe(await readlink(`/proc/self/ns/${what}`));
  });

  it('sysctl: of the namespace', async () => {
    await apply('sysctl', {
      pod: { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '80' }] },
    });
    await node.untilReady('sysctl');
    expect(await node.exec('sysctl', 'app', 'cat', '/proc/sys/net/ipv4/ip_unprivileged_port_start')).toBe(
      '80\n',
    );
  });

  it('own-users: a runtime that cannot is said to be one', async () => {
    await apply('own-users', { spec: { hostUsers: false } });
    await node.until(
      'own-users',
      'is there',
      () => node.logOf('own-users', 'event.FailedCreatePodSandBox').length > 0,
    );
    expect(node.logOf('own-users', 'event.FailedCreatePodSandBox')[0]).toContain(
      "Failed to create pod sandbox: can't set `spec.hostUsers: false`, runtime does not support user namespaces",
    );
    await node.remove('own-users.yaml');
  });
});
