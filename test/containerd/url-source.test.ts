/** Pods that a web server tells the agent to run. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PodManifest } from '../../src/kube/index.js';
import { busybox, eventually, forever, manifest, TestNode } from './agent.js';

let node: TestNode;
let server: Server;
let answer: { status: number; body: string } = { status: 200, body: '' };
let headers: IncomingHttpHeaders = {};
let requests = 0;

const serve = (...pods: PodManifest[]): void => {
  answer = { status: 200, body: JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: pods }) };
};

/** Waits until the agent has asked again and had an answer. */
const untilAsked = async (): Promise<void> => {
  const seen = requests;
  await eventually('the agent asks again', async () => requests > seen + 1);
};

beforeAll(async () => {
  server = createServer((request, response) => {
    headers = request.headers;
    requests++;
    response.writeHead(answer.status).end(answer.body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  node = await TestNode.create({
    config: {
      staticPodURL: `http://127.0.0.1:${port}/pods?token=s3cret`,
      staticPodURLHeader: { Authorization: ['Bearer s3cret'], 'X-Node': ['one', 'two'] },
      httpCheckFrequency: '200ms',
    },
  });
});
afterAll(async () => {
  await node.stop();
  server.closeAllConnections();
  server.close();
});

it('pods of the list run, and the server is asked with the headers', async () => {
  serve(manifest('one'), manifest('two'));
  await node.start();
  await node.untilReady('one');
  await node.untilReady('two');
  expect(headers).toMatchObject({ authorization: 'Bearer s3cret', 'x-node': 'one, two' });
  const [pod] = await node.pods();
  expect(pod?.metadata.annotations?.['kubernetes.io/config.source']).toBe('http');
});

it('an answer with an error changes nothing', async () => {
  const before = await node.running();
  answer = { status: 500, body: 'broken' };
  await untilAsked();
  answer = { status: 200, body: '{"kind": "Pod", "apiVersion"' };
  await untilAsked();
  expect(await node.running()).toEqual(before);
  await eventually('both are told', async () => node.log.includes('500 Internal Server Error'));
});

it('a changed list stops, replaces and starts what differs, and nothing else', async () => {
  const [one] = await node.running('one');
  const [two] = await node.running('two');
  const edited = { name: 'app', image: busybox, command: forever, env: [{ name: 'V', value: '2' }] };
  serve(manifest('two', { spec: { containers: [edited] } }), manifest('three'));
  await node.untilGone('one');
  await node.untilReady('three');
  await eventually('the edited pod is replaced', async () => {
    const running = await node.running('two');
    return running.length === 1 && running[0] !== two;
  });
  expect(await node.running()).not.toContain(one);
});

it('a single pod is taken as well as a list', async () => {
  const before = await node.running('three');
  answer = { status: 200, body: JSON.stringify(manifest('three')) };
  await node.untilGone('two');
  expect(await node.running('three')).toEqual(before);
});

it('an empty answer stops all pods, and they run again when they are back', async () => {
  answer = { status: 200, body: '' };
  await node.untilGone('three');
  serve(manifest('three'));
  await eventually('it runs again', async () => (await node.running('three')).length === 1);
  await node.untilReady('three');
  expect(await node.running()).toHaveLength(1);
});

it('nothing of what may be secret is written to the log', () => {
  expect(node.log).not.toContain('s3cret');
});
