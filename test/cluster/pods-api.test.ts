/** Pods in protobuf beside a real API server, and the pods API of a node of its cluster. */
import { readFileSync } from 'node:fs';
import { request } from 'node:https';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { GrpcConnection } from '../../src/grpc/index.js';
import type { Pod } from '../../src/kube/index.js';
import { kubeMessage, openEnvelope, protobufMediaType } from '../../src/kube-protobuf/index.js';
import { PodsService } from '../../src/pods/pods-api/index.js';
import { busybox, type Cluster, eventually, forever, podManifest, startCluster } from './cluster.js';

let cluster: Cluster;

beforeAll(async () => {
  cluster = await startCluster();
}, 900_000);
afterAll(async () => await cluster?.stop());

const podMessage = kubeMessage<Pod>('Pod');

/** The body of a GET as the admin, in the form that is asked for. */
function get(url: string, accept: string): Promise<Buffer> {
  const { users } = parse(readFileSync(cluster.plane.adminKubeconfig, 'utf8'));
  const { user } = users[0];
  const bytes = (data: string, file: string): Buffer =>
    data === undefined ? readFileSync(file) : Buffer.from(data, 'base64');
  return new Promise((resolve, reject) => {
    const call = request(
      new URL(url, cluster.plane.url),
      {
        headers: { accept },
        rejectUnauthorized: false,
        cert: bytes(user['client-certificate-data'], user['client-certificate']),
        key: bytes(user['client-key-data'], user['client-key']),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => void chunks.push(chunk));
        response.on('end', () => resolve(Buffer.concat(chunks)));
      },
    );
    call.once('error', reject);
    call.end();
  });
}

/** Without what JSON shows as null, and protobuf does not show. */
const withoutNulls = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, each) => (each === null ? undefined : each)));

it('a pod is the same in JSON and in protobuf of the API server', async () => {
  await cluster.apply(
    podManifest('rich', {
      serviceAccountName: 'default',
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [{ key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 0 }],
      securityContext: { runAsUser: 0, supplementalGroups: [1, 2], sysctls: [] },
      volumes: [
        { name: 'empty', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
        { name: 'map', configMap: { name: 'none', optional: true, defaultMode: 0o440 } },
      ],
      containers: [
        {
          name: 'app',
          image: busybox,
          command: forever,
          env: [
            { name: 'A', value: '' },
            { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
            { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
          ],
          ports: [{ name: 'web', containerPort: 8080 }],
          resources: { requests: { cpu: '50m', memory: '16Mi' }, limits: { cpu: '1', memory: '64Mi' } },
          volumeMounts: [
            { name: 'empty', mountPath: '/empty' },
            { name: 'map', mountPath: '/map', readOnly: true },
          ],
          startupProbe: { tcpSocket: { port: 'web' }, failureThreshold: 1000 },
          lifecycle: { preStop: { sleep: { seconds: 0 } } },
          securityContext: { privileged: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    }),
  );
  await eventually('the pod has a container', async () => {
    const { status } = await cluster.pod('rich');
    return status?.containerStatuses?.[0]?.state?.running !== undefined;
  });
  const url = '/api/v1/namespaces/default/pods/rich';
  let inJson: Pod | undefined;
  let inProtobuf: Pod | undefined;
  await eventually('both answers are of the same version', async () => {
    inJson = JSON.parse((await get(url, 'application/json')).toString());
    inProtobuf = podMessage.decode(openEnvelope(await get(url, protobufMediaType)).bytes);
    return inProtobuf.metadata.resourceVersion === inJson?.metadata.resourceVersion;
  });
  const { apiVersion, kind, ...json } = { apiVersion: '', kind: '', ...inJson! };
  expect(inProtobuf).toEqual(withoutNulls(json));
  // And what is written of the JSON is the same pod again.
  expect(podMessage.decode(podMessage.encode(inJson!))).toEqual(withoutNulls(json));
});

it('the pods API of the node lists and watches the pods of the cluster', async () => {
  const client = new GrpcConnection(path.join(cluster.node.rootDir, 'pods-api/pods-api.sock'));
  const stop = new AbortController();
  const seen: string[] = [];
  const watching = (async () => {
    for await (const { type, pod } of client.stream(PodsService.watchPods, {}, { signal: stop.signal })) {
      const name = pod.length === 0 ? '' : podMessage.decode(pod).metadata.name;
      seen.push(`${type} ${name}`);
    }
  })().catch(() => undefined);
  await eventually('the watch has begun', async () => seen.includes('4 '));
  await cluster.apply(
    podManifest('brief', {
      restartPolicy: 'Never',
      containers: [{ name: 'app', image: busybox, command: ['true'] }],
    }),
  );
  await eventually('the watch has told of its life', async () =>
    ['1 brief', '2 brief', '3 brief'].every((event) => seen.includes(event)),
  );
  const { pods } = await client.unary(PodsService.listPods, {});
  const brief = pods
    .map((bytes) => podMessage.decode(bytes))
    .find(({ metadata }) => metadata.name === 'brief');
  expect(brief).toMatchObject({ metadata: { namespace: 'default' }, status: { phase: 'Succeeded' } });
  const { pod } = await client.unary(PodsService.getPod, { podUID: brief!.metadata.uid });
  expect(podMessage.decode(pod).spec).toEqual(brief!.spec);
  stop.abort();
  await watching;
  await client.close();
});
