/** Lifecycle hooks in real containers. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Lifecycle } from '../../src/kube/index.js';
import { busybox, eventually, forever, manifest, shell, TestNode } from './agent.js';

const requests: string[] = [];
const server = createServer((request, response) => {
  requests.push(request.url ?? '');
  response.writeHead(500).end();
});
let node: TestNode;
let port = 0;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  node = await TestNode.create();
  await node.start();
});
afterAll(async () => {
  await node.stop();
  server.closeAllConnections();
  server.close();
});

const apply = (name: string, lifecycle: Lifecycle, command = forever, graceSeconds = 10): Promise<void> =>
  node.apply(
    `${name}.yaml`,
    manifest(name, {
      spec: {
        terminationGracePeriodSeconds: graceSeconds,
        containers: [{ name: 'app', image: busybox, command, lifecycle }],
      },
    }),
  );

describe.concurrent('postStart', () => {
  it('exec runs inside the container before the pod is ready', async () => {
    await apply('after', { postStart: { exec: { command: shell('sleep 0.5; echo done > /tmp/hook') } } });
    await node.untilReady('after');
    expect(await node.exec('after', 'app', 'cat', '/tmp/hook')).toBe('done\n');
  });

  it('httpGet is content with any answer', async () => {
    await apply('get', { postStart: { httpGet: { host: '127.0.0.1', port, path: '/started?pod=get' } } });
    const status = await node.untilReady('get');
    expect(requests).toContain('/started?pod=get');
    expect(status.containerStatuses?.[0]?.restartCount).toBe(0);
  });

  it('a failure kills the container, is told, and the container waits for its next turn', async () => {
    await apply('fails', { postStart: { exec: { command: shell('echo no; exit 3') } } });
    const status = await node.until(
      'fails',
      'backs off',
      (one) => one.containerStatuses?.[0]?.state?.waiting?.reason === 'CrashLoopBackOff',
    );
    expect(status.containerStatuses?.[0]?.lastState?.terminated).toBeDefined();
    expect(node.logOf('fails', 'event.FailedPostStartHook: PostStartHook failed')[0]).toContain(
      'container=app',
    );
    expect(node.logOf('fails', 'event.Killing: FailedPostStartHook').length).toBeGreaterThan(0);
    expect(node.log).toContain(
      `failed - error: command 'sh -c echo no; exit 3' exited with 3: , message: \\"no\\\\n\\"`,
    );
    await node.remove('fails.yaml');
  });
});

/** How the container of a pod was stopped: the timeout that the runtime was given, once the agent has told it. */
const stopTimeout = async (name: string): Promise<number> => {
  await eventually(`the stop of ${name} is told`, async () => node.logOf(name, 'container.stop').length > 0);
  return Number(/timeoutSeconds=(\d+)/.exec(node.logOf(name, 'container.stop').join())?.[1]);
};

describe.concurrent('preStop', () => {
  it('exec runs before the container is told to stop, on its grace', async () => {
    await apply('before', { preStop: { exec: { command: shell('sleep 2; echo bye > /proc/1/fd/1') } } }, [
      ...shell("trap 'echo term; exit 0' TERM; while true; do sleep 0.1; done"),
    ]);
    await node.untilReady('before');
    const [id = ''] = await node.running('before');
    const { status } = await node.cri.containerStatus({ containerId: id });
    await node.remove('before.yaml');
    await node.untilGone('before');
    const lines = (await readFile(status?.logPath ?? '', 'utf8')).trim().split('\n');
    expect(lines.map((line) => line.split(' ').at(-1))).toEqual(['bye', 'term']);
    expect(await stopTimeout('before')).toBeLessThanOrEqual(8);
  });

  it('httpGet and sleep', async () => {
    await apply('web', { preStop: { httpGet: { host: '127.0.0.1', port, path: '/stopping' } } });
    await apply('slow', { preStop: { sleep: { seconds: 3 } } });
    await Promise.all([node.untilReady('web'), node.untilReady('slow')]);
    await node.remove('web.yaml');
    await node.remove('slow.yaml');
    await Promise.all([node.untilGone('web'), node.untilGone('slow')]);
    expect(requests).toContain('/stopping');
    expect(await stopTimeout('slow')).toBeLessThanOrEqual(7);
    expect(await stopTimeout('web')).toBeGreaterThan(await stopTimeout('slow'));
  });

  it('that hangs gets all of the grace, and the container the least', async () => {
    await apply('hangs', { preStop: { exec: { command: shell('sleep 1000') } } }, forever, 3);
    await node.untilReady('hangs');
    await node.remove('hangs.yaml');
    await node.untilGone('hangs');
    expect(await stopTimeout('hangs')).toBe(2);
  });

  it('of a kind that does not exist is told and stops nothing', async () => {
    await apply('socket', { preStop: { tcpSocket: { port: 1 } } });
    await node.untilReady('socket');
    await node.remove('socket.yaml');
    await node.untilGone('socket');
    expect(node.logOf('socket', 'event.FailedPreStopHook: PreStopHook failed')).toHaveLength(1);
  });

  it('that fails is told and stops nothing', async () => {
    await apply('wrong', { preStop: { exec: { command: ['/no/such/command'] } } });
    await node.untilReady('wrong');
    await node.remove('wrong.yaml');
    await node.untilGone('wrong');
    expect(node.logOf('wrong', 'event.FailedPreStopHook: PreStopHook failed')).toHaveLength(1);
  });
});
