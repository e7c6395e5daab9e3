import { mkdir, readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { busybox, eventually, forever, manifest, TestNode } from './agent.js';

let node: TestNode;
beforeAll(async () => {
  node = await TestNode.create({
    config: {
      fileCheckFrequency: '2s',
      containerLogMaxSize: '16Ki',
      containerLogMaxFiles: 3,
      containerLogMonitorInterval: '3s',
    },
  });
  await node.start();
});
afterAll(() => node.stop());

const shell = (script: string): string[] => ['sh', '-c', script];
const app = (status: { containerStatuses?: { name: string }[] }) =>
  status.containerStatuses?.find(({ name }) => name === 'app');

describe('a pod from a manifest', () => {
  it('runs its init containers in order, then its containers, and reports them', async () => {
    await node.apply(
      'life.yaml',
      manifest('life', {
        spec: {
          initContainers: [
            { name: 'first', image: busybox, command: shell('echo one') },
            { name: 'second', image: busybox, command: shell('echo two') },
          ],
          containers: [
            {
              name: 'app',
              image: busybox,
              command: shell("echo started; trap 'exit 0' TERM; while true; do sleep 0.1; done"),
            },
            { name: 'side', image: busybox, command: forever },
          ],
        },
      }),
    );
    const status = await node.untilReady('life');
    expect(status.phase).toBe('Running');
    expect(status.podIP).toMatch(/^10\.88\./);
    expect(status.initContainerStatuses?.map(({ state }) => state?.terminated?.exitCode)).toEqual([0, 0]);
    const [first, second] = status.initContainerStatuses ?? [];
    expect(Date.parse(second?.state?.terminated?.startedAt ?? '')).toBeGreaterThanOrEqual(
      Date.parse(first?.state?.terminated?.finishedAt ?? ''),
    );
    expect(
      status.containerStatuses?.map(({ name, ready, restartCount }) => [name, ready, restartCount]),
    ).toEqual([
      ['app', true, 0],
      ['side', true, 0],
    ]);
    const [logDirectory] = await readdir(node.podLogs);
    expect(logDirectory).toMatch(/^default_life-node1_[0-9a-f]{32}$/);
    expect(await readFile(path.join(node.podLogs, logDirectory!, 'app/0.log'), 'utf8')).toMatch(
      /^\S+ stdout F started\n$/,
    );
  });

  it('is stopped with its grace when the manifest goes, and leaves nothing running', async () => {
    await node.remove('life.yaml');
    await node.untilGone('life');
    await eventually('the pod is forgotten', async () => (await node.status('life')) === undefined);
    await eventually('its worker is done', async () => node.log.includes('pod.finished'));
    await eventually(
      'its directory is removed',
      async () => (await readdir(path.join(node.root, 'pods'))).length === 0,
      20_000,
    );
  });

  it.each([
    ['Never, exit 0', 'Never', 'exit 0', 'Succeeded'],
    ['Never, exit 1', 'Never', 'exit 1', 'Failed'],
    ['OnFailure, exit 0', 'OnFailure', 'exit 0', 'Succeeded'],
  ] as const)('ends by its restart policy: %s', async (_rule, restartPolicy, script, phase) => {
    const name = `end-${restartPolicy.toLowerCase()}-${script.at(-1)}`;
    await node.apply(`${name}.yaml`, manifest(name, { command: shell(script), spec: { restartPolicy } }));
    const status = await node.until(name, `is ${phase}`, (one) => one.phase === phase);
    expect(status.containerStatuses?.[0]?.restartCount).toBe(0);
    await node.remove(`${name}.yaml`);
  });

  it('is restarted and backs off when it keeps failing', async () => {
    await node.apply('crash.yaml', manifest('crash', { command: shell('echo boom; exit 3') }));
    const status = await node.until(
      'crash',
      'is in CrashLoopBackOff',
      (one) =>
        app(one)?.name === 'app' && one.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
    );
    const [container] = status.containerStatuses ?? [];
    expect(status.phase).toBe('Running');
    expect(container?.restartCount).toBe(1);
    expect(container?.lastState?.terminated?.exitCode).toBe(3);
    expect(container?.state?.waiting?.message).toMatch(
      /^back-off 10s restarting failed container=app pod=crash-node1_default\([0-9a-f]{32}\)$/,
    );
    await node.remove('crash.yaml');
  });

  it('reports last words from the file, or from the log when asked to', async () => {
    await node.apply(
      'words.yaml',
      manifest('words', {
        spec: {
          restartPolicy: 'Never',
          containers: [
            {
              name: 'file',
              image: busybox,
              command: shell('echo -n goodbye > /dev/termination-log; exit 1'),
            },
            {
              name: 'log',
              image: busybox,
              command: shell('echo from the log; exit 1'),
              terminationMessagePolicy: 'FallbackToLogsOnError',
            },
            {
              name: 'quiet',
              image: busybox,
              command: shell('echo hidden; exit 0'),
              terminationMessagePolicy: 'FallbackToLogsOnError',
            },
          ],
        },
      }),
    );
    const status = await node.until('words', 'has failed', ({ phase }) => phase === 'Failed');
    expect(
      Object.fromEntries(
        (status.containerStatuses ?? []).map(({ name, state }) => [name, state?.terminated?.message ?? '']),
      ),
    ).toEqual({
      file: 'goodbye',
      log: 'from the log\n',
      quiet: '',
    });
    await node.remove('words.yaml');
  });

  it('an edit replaces the pod: the old one stops before the new one starts', async () => {
    await node.apply('edit.yaml', manifest('edit'));
    await node.untilReady('edit');
    const [before] = await node.running('edit');
    await node.apply(
      'edit.yaml',
      manifest('edit', {
        spec: {
          containers: [{ name: 'app', image: busybox, command: forever, env: [{ name: 'V', value: '2' }] }],
        },
      }),
    );
    await eventually('another container runs', async () => {
      const running = await node.running('edit');
      expect(running.length).toBeLessThanOrEqual(1);
      return running.length === 1 && running[0] !== before;
    });
    await node.untilReady('edit');
    await node.remove('edit.yaml');
    await node.untilGone('edit');
  });

  it('the same UID removed and put back at once is started anew', async () => {
    const same = manifest('again', { uid: 'fixed-uid-1' });
    await node.apply('again.yaml', same);
    await node.untilReady('again');
    const [before] = await node.running('again');
    await node.remove('again.yaml');
    await eventually('it is being stopped', async () =>
      node.log.includes('pod is being stopped pod=default/again-node1'),
    );
    await node.apply('again.yaml', same);
    await eventually('another container runs', async () => {
      const running = await node.running('again');
      return running.length === 1 && running[0] !== before;
    });
    expect(await node.metric('kubelet_restarted_pods_total{static="true"}')).toBeGreaterThanOrEqual(1);
    await node.remove('again.yaml');
    await node.untilGone('again');
  });

  it('its logs are rotated', async () => {
    await node.apply(
      'chatty.yaml',
      manifest('chatty', {
        command: shell(
          "trap 'exit 0' TERM; while true; do echo 0123456789012345678901234567890123456789012345678901234567890123; usleep 2000; done",
        ),
      }),
    );
    await node.untilReady('chatty');
    const dir = async (): Promise<string[]> => {
      const [pod] = (await readdir(node.podLogs)).filter((name) => name.startsWith('default_chatty'));
      return readdir(path.join(node.podLogs, pod!, 'app'));
    };
    await eventually(
      'there is a compressed log',
      async () => (await dir()).some((name) => name.endsWith('.gz')),
      40_000,
    );
    const names = await dir();
    expect(names).toContain('0.log');
    expect(names.length).toBeLessThanOrEqual(4);
    await node.remove('chatty.yaml');
    await node.untilGone('chatty');
  });
});

describe('bad input', () => {
  it('names the file and the field, leaves the others alone, and takes the mended file', async () => {
    await node.apply('good.yaml', manifest('good'));
    await node.apply('broken.yaml', 'kind: Pod\n  apiVersion: v1\n');
    await node.apply('invalid.yaml', JSON.stringify(manifest('invalid')).replace('"image"', '"imaje"'));
    await mkdir(path.join(node.manifests, 'subdirectory'));
    await node.untilReady('good');
    await eventually(
      'both are reported',
      async () =>
        node.log.includes('broken.yaml:') &&
        node.log.includes('spec.containers[0].image: invalid pod: Required value'),
    );
    expect(node.log).toMatch(/invalid\.yaml:1:\d+: spec\.containers\[0\]\.imaje/);
    expect(node.log).toContain('subdirectory: not a regular file');
    await node.apply('invalid.yaml', manifest('invalid'));
    await node.untilReady('invalid');
    for (const name of ['good.yaml', 'broken.yaml', 'invalid.yaml']) await node.remove(name);
    await node.untilGone('good');
  });
  it('a command that does not exist is told where users look', async () => {
    await node.apply('nocmd.yaml', manifest('nocmd', { command: ['/no/such/command'] }));
    const status = await node.until(
      'nocmd',
      'tells why',
      ({ containerStatuses: [one] = [] }) =>
        ((one?.state?.waiting?.reason ?? '') !== 'ContainerCreating' &&
          one?.lastState?.terminated !== undefined) ||
        one?.state?.terminated !== undefined,
    );
    expect(JSON.stringify(status)).toMatch(/no such file or directory/);
    await node.remove('nocmd.yaml');
  });
  it('a volume that this build cannot mount is an event that says so', async () => {
    const pod = manifest('vol', { spec: { volumes: [{ name: 'data', gitRepo: { repository: 'x' } }] } });
    for (const container of pod.spec.containers) {
      container.volumeMounts = [{ name: 'data', mountPath: '/data' }];
    }
    await node.apply('vol.yaml', pod);
    await eventually('it is told', async () => node.log.includes('event.FailedMount'));
    expect(node.log).toContain('git-repo volume plugin has been disabled');
    await node.remove('vol.yaml');
  });
});

describe('what the agent serves', () => {
  it('health, pods and metrics, and nothing for debugging', async () => {
    await node.apply('served.yaml', manifest('served'));
    await node.untilReady('served');
    expect(await node.get('/healthz', 'healthz')).toBe('ok');
    expect(await node.get('/healthz/syncloop', 'healthz')).toBe('ok');
    expect((await node.pods()).map(({ metadata }) => metadata.name)).toContain('served-node1');
    expect(await node.get('/runningpods/')).toBe('Debug endpoints are disabled.\n');
    const metrics = await node.get('/metrics');
    for (const name of [
      'kubelet_running_pods',
      'kubelet_pleg_relist_duration_seconds_bucket',
      'kubelet_runtime_operations_total',
      'kubelet_desired_pods',
      'kubelet_working_pods',
    ]) {
      expect(metrics).toContain(name);
    }
    // Counted by housekeeping, which runs every two seconds.
    await eventually(
      'the pod is counted',
      async () => ((await node.metric('kubelet_desired_pods{static="true"}')) ?? 0) >= 1,
    );
    await node.remove('served.yaml');
    await node.untilGone('served');
  });
});

describe('the network is not ready', () => {
  it('a host-network pod starts, another waits and is told why', async () => {
    await node.containerd.setNetworkReady(false);
    await eventually(
      'the agent sees it',
      async () => node.log.includes('container runtime network not ready'),
      20_000,
    );
    await node.apply('hostnet.yaml', manifest('hostnet', { spec: { hostNetwork: true } }));
    await node.apply('podnet.yaml', manifest('podnet'));
    await node.untilReady('hostnet');
    await eventually('the other is told', async () => node.log.includes('event.NetworkNotReady'));
    expect(await node.running('podnet')).toEqual([]);
    await node.containerd.setNetworkReady(true);
    await node.untilReady('podnet', 30_000);
    for (const name of ['hostnet', 'podnet']) await node.remove(`${name}.yaml`);
    await node.untilGone('podnet');
  });
});
