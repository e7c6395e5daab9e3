/** `kubectl logs` with all its flags, of containers in every state, to the letter. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  busybox,
  type Cluster,
  container,
  eventually,
  phaseIs,
  podManifest,
  shell,
  startCluster,
  thenForever,
  waitingReason,
} from './cluster.js';
import { runKubectl, startKubectl } from './kubectl.js';

let cluster: Cluster;

const app = (command: readonly string[], more: object = {}) => ({
  name: 'app',
  image: busybox,
  command: [...command],
  ...more,
});
const lines = (count: number, prefix = 'line'): string =>
  Array.from({ length: count }, (_, at) => `${prefix} ${at + 1}\n`).join('');

beforeAll(async () => {
  cluster = await startCluster({
    node: {
      config: { containerLogMaxSize: '20Ki', containerLogMaxFiles: 3, containerLogMonitorInterval: '3s' },
    },
  });
  await cluster.apply(
    podManifest(
      'talker',
      {
        initContainers: [{ name: 'init', image: busybox, command: ['echo', 'from init'] }],
        containers: [
          app(thenForever('for i in 1 2 3 4 5; do echo line $i; done; sleep 2; echo late >&2')),
          { name: 'side', image: busybox, command: thenForever('echo from side') },
        ],
      },
      { labels: { app: 'talker' } },
    ),
    podManifest('ended', { restartPolicy: 'Never', containers: [app(shell('printf "last words"; exit 3'))] }),
    podManifest('crashing', { containers: [app(shell('echo run $HOSTNAME; exit 1'))] }),
    podManifest('no-image', { containers: [{ name: 'app', image: 'nodelet.test/none:1', command: ['sh'] }] }),
    podManifest('no-config', {
      containers: [
        app(['true'], { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'none', key: 'a' } } }] }),
      ],
    }),
    podManifest('gated', {
      initContainers: [{ name: 'slow', image: busybox, command: ['sleep', '100000'] }],
    }),
  );
  await cluster.untilReady('talker');
  await eventually('it has spoken', async () => (await logs('talker', '-c', 'app')).includes('late'));
});
afterAll(() => cluster?.stop());

const logs = (...args: string[]): Promise<string> => cluster.kubectl('logs', ...args);
const refused = (...args: string[]): Promise<string> => cluster.kubectlFails('logs', ...args);

describe.concurrent('the logs of a running pod', () => {
  it.each([
    ['whole', ['-c', 'app'], `${lines(5)}late\n`],
    ['the last lines', ['-c', 'app', '--tail=2'], 'line 5\nlate\n'],
    ['no lines', ['-c', 'app', '--tail=0'], ''],
    ['so many bytes', ['-c', 'app', '--limit-bytes=9'], 'line 1\nli'],
    ['of the last hour', ['-c', 'app', '--since=1h'], `${lines(5)}late\n`],
    ['since a time long ago', ['-c', 'app', '--since-time=2020-01-01T00:00:00Z', '--tail=1'], 'late\n'],
    ['since a time to come', ['-c', 'app', '--since-time=2120-01-01T00:00:00Z'], ''],
    ['of an init container', ['-c', 'init'], 'from init\n'],
  ])('%s', async (_, args, expected) => {
    expect(await logs('talker', ...args)).toBe(expected);
  });

  it('of all containers', async () => {
    const printed = (await logs('talker', '--all-containers')).split('\n');
    expect(printed.sort()).toEqual(`${lines(5)}late\nfrom init\nfrom side\n`.split('\n').sort());
  });

  it('name their pod and container when asked to', async () => {
    const printed = await logs('-l', 'app=talker', '--all-containers', '--prefix');
    expect(printed.split('\n').filter((line) => line.startsWith('[pod/talker/app]'))).toHaveLength(6);
    expect(printed).toContain('[pod/talker/init] from init\n');
  });

  it('tell the time of each line, from which they can be read on', async () => {
    const stamped = await logs('talker', '-c', 'app', '--timestamps');
    const times = stamped
      .trim()
      .split('\n')
      .map((line) => /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z) (line \d|late)$/.exec(line)?.[1] ?? line);
    expect(times).toEqual([...times].sort());
    expect(await logs('talker', '-c', 'app', `--since-time=${times.at(-1)}`)).toBe('late\n');
  });

  it.each([
    [
      'without a previous run',
      ['talker', '-c', 'app', '--previous'],
      'Error from server (BadRequest): previous terminated container "app" in pod "talker" not found\n',
    ],
    [
      'of a pod that does not exist',
      ['nobody'],
      'error: error from server (NotFound): pods "nobody" not found in namespace "default"\n',
    ],
    [
      'of a container that does not exist',
      ['talker', '-c', 'nobody'],
      'error: container nobody is not valid for pod talker out of: app, side, init (init)\n',
    ],
  ])('%s are refused', async (_, args, expected) => {
    expect(await refused(...args)).toBe(expected);
  });
});

describe.concurrent('the logs of a pod that does not run', () => {
  it('are there after its end', async () => {
    await cluster.untilPod('ended', 'has failed', phaseIs('Failed'));
    expect(await logs('ended')).toBe('last words');
    expect(await logs('ended', '-f')).toBe('last words');
  });

  it('are those of the last run while it waits to be restarted, and of the one before on request', async () => {
    await cluster.untilPod(
      'crashing',
      'waits after two runs',
      (pod) => waitingReason(pod) === 'CrashLoopBackOff' && container(pod).restartCount >= 1,
    );
    expect(await logs('crashing')).toBe('run crashing\n');
    expect(await logs('crashing', '--previous')).toMatch(
      /^run crashing\n$|^unable to retrieve container logs for /,
    );
  });

  it.each([
    ['no-image', 'ImagePullBackOff', 'trying and failing to pull image'],
    ['no-config', 'CreateContainerConfigError', 'CreateContainerConfigError'],
    ['gated', 'PodInitializing', 'PodInitializing'],
  ])('of %s say that it waits', async (name, reason, why) => {
    await cluster.untilPod(name, `waits: ${reason}`, (pod) => waitingReason(pod) === reason);
    const expected = `Error from server (BadRequest): container "app" in pod "${name}" is waiting to start: ${why}\n`;
    expect(await refused(name, '-c', 'app')).toBe(expected);
  });
});

describe.concurrent('followed logs', () => {
  it('come as they are written and end with the container', async () => {
    await cluster.apply(
      podManifest('counter', {
        restartPolicy: 'Never',
        containers: [
          app(shell('echo line 1; until [ -e /tmp/go ]; do sleep 0.1; done; echo line 2; echo line 3')),
        ],
      }),
    );
    await cluster.untilPod('counter', 'runs', phaseIs('Running'));
    const following = await startKubectl(cluster, ['logs', '-f', 'counter']);
    await following.untilSays(/line 1\n/);
    await cluster.exec('counter', 'touch', '/tmp/go');
    expect(await following.end()).toMatchObject({ exitCode: 0, text: lines(3), stderr: '' });
  });

  it('begin with the last lines when asked to', async () => {
    const following = await startKubectl(cluster, ['logs', '-f', '--tail=1', 'talker', '-c', 'app']);
    await following.untilSays(/late\n/);
    expect((await following.interrupt()).text).toBe('late\n');
  });

  it('lose nothing when the file is rotated under them', { timeout: 90_000 }, async () => {
    const total = 1000;
    await cluster.apply(
      podManifest('chatty', {
        restartPolicy: 'Never',
        containers: [
          app(
            shell(
              `i=0; while [ $i -lt ${total} ]; do i=$((i+1)); echo "line $i"; [ $((i % 10)) = 0 ] && sleep 0.1; done; sleep 3`,
            ),
          ),
        ],
      }),
    );
    await cluster.untilPod('chatty', 'runs', phaseIs('Running'));
    const { text } = await runKubectl(cluster, ['logs', '-f', 'chatty']);
    expect(text).toBe(lines(total));
    // Older files are not shown: that there are fewer lines now shows that there was a rotation.
    expect((await logs('chatty')).length).toBeLessThan(text.length);
  });

  it('end when the pod is deleted', async () => {
    await cluster.apply(podManifest('brief', { containers: [app(thenForever('echo here'))] }));
    await cluster.untilReady('brief');
    const following = await startKubectl(cluster, ['logs', '-f', 'brief']);
    await following.untilSays(/here\n/);
    await cluster.delete('brief');
    expect(await following.end()).toMatchObject({ exitCode: 0, text: 'here\n' });
  });
});
