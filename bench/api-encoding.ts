/** Pods of a real API server in JSON and in protobuf: what their bytes are, and what reading them costs. */
import { request } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import { gzipSync } from 'node:zlib';
import { WireReader } from '../src/grpc/index.js';
import type { Pod } from '../src/kube/index.js';
import { parseJson } from '../src/kube/manifests/json-text.js';
import { resources } from '../src/kube-client/index.js';
import { kubeMessage, openEnvelope, protobufMediaType } from '../src/kube-protobuf/index.js';
import { startControlPlane } from '../test/env/control-plane.js';
import { CleanupStack } from '../test/env/index.js';
import type { Bench, BenchOptions, Measure } from './measure.js';

const podCount = 250;
const rounds = 15;
const sampleMs = 60;
const nodeName = 'bench';

interface Encoded {
  readonly json: Buffer;
  readonly protobuf: Buffer;
}

export const apiEncoding: Bench = {
  name: 'encoding',
  summary: 'pods of an API server: JSON against protobuf',
  async run({ note, options }) {
    const cleanups = new CleanupStack();
    try {
      const { list, events } = await recorded(cleanups);
      note('the bytes of an API server are there');
      const pods = readJsonList(list.json);
      if (pods.length !== podCount) throw new Error(`${pods.length} pods instead of ${podCount}`);
      checkSame(pods, readProtobufList(list.protobuf));
      checkSame(readJsonEvents(events.json), readProtobufEvents(events.protobuf));
      const name = `a list of ${podCount} pods`;
      const eventName = `${podCount} watch events`;
      return [
        ...sizes(name, list),
        ...sizes(eventName, events),
        compare(
          name,
          () => readProtobufList(list.protobuf),
          () => readJsonList(list.json),
          options,
        ),
        compare(
          eventName,
          () => readProtobufEvents(events.protobuf),
          () => readJsonEvents(events.json),
          options,
        ),
        compare(
          `${name}, without the check of depth`,
          () => readProtobufList(list.protobuf),
          () => JSON.parse(list.json.toString('utf8')) as unknown,
          options,
        ),
      ];
    } finally {
      await cleanups.run();
    }
  },
};

/** Makes the pods on a real server, and gets them in both forms by a list and by a watch. */
async function recorded(cleanups: CleanupStack): Promise<{ list: Encoded; events: Encoded }> {
  const plane = await startControlPlane({ cleanups });
  const { admin } = plane;
  await admin.create(resources.serviceAccounts, { metadata: { name: 'default', namespace: 'default' } });
  for (let index = 0; index < podCount; index++) {
    const name = `web-${String(index).padStart(3, '0')}`;
    const ref = { namespace: 'default', name };
    await admin.create(resources.pods, podOf(name));
    await admin.patch(
      resources.pods,
      ref,
      { type: 'merge', body: { status: statusOf(index) } },
      {
        subresource: 'status',
        fieldManager: 'kubelet',
      },
    );
  }
  const { certificatePem: cert, keyPem: key } = plane.pki.issue({
    subject: { commonName: 'bench', organizations: ['system:masters'] },
  });
  const path = `/api/v1/pods?fieldSelector=spec.nodeName%3D${nodeName}`;
  const fetch = (accept: string, query: string): Promise<Buffer> =>
    new Promise((resolve, reject) => {
      const url = `${plane.url}${path}${query}`;
      const headers = { accept, 'accept-encoding': 'identity' };
      // The server is one that this process has started.
      request(url, { cert, key, headers, rejectUnauthorized: false }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () => resolve(Buffer.concat(chunks)));
        response.on('error', reject);
      })
        .on('error', reject)
        .end();
    });
  const watch = '&watch=true&resourceVersion=0&timeoutSeconds=3';
  return {
    list: { json: await fetch('application/json', ''), protobuf: await fetch(protobufMediaType, '') },
    events: {
      json: await fetch('application/json;stream=watch', watch),
      protobuf: await fetch(`${protobufMediaType};stream=watch`, watch),
    },
  };
}

function podOf(name: string) {
  return {
    metadata: { name, namespace: 'default', labels: { app: 'web', 'pod-template-hash': '5c689d88bb' } },
    spec: {
      nodeName,
      containers: [
        {
          name: 'app',
          image: 'example.com/shop/web:1.27',
          ports: [{ name: 'http', containerPort: 8080 }],
          env: [
            { name: 'MODE', value: 'production' },
            { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
            { name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'web', key: 'password' } } },
          ],
          resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
          readinessProbe: { httpGet: { path: '/ready', port: 'http' }, periodSeconds: 5 },
          livenessProbe: { httpGet: { path: '/alive', port: 'http' } },
          volumeMounts: [{ name: 'config', mountPath: '/etc/web', readOnly: true }],
        },
        { name: 'proxy', image: 'example.com/shop/proxy:2.1', args: ['--listen=:9090'] },
      ],
      volumes: [{ name: 'config', configMap: { name: 'web' } }],
    },
  };
}

function statusOf(index: number) {
  const at = '2026-01-01T00:00:00Z';
  const ip = `10.244.${Math.floor(index / 200)}.${(index % 200) + 2}`;
  const types = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'];
  return {
    phase: 'Running',
    startTime: at,
    hostIP: '10.0.0.1',
    hostIPs: [{ ip: '10.0.0.1' }],
    podIP: ip,
    podIPs: [{ ip }],
    conditions: types.map((type) => ({ type, status: 'True', lastTransitionTime: at })),
    containerStatuses: ['app', 'proxy'].map((name) => ({
      name,
      image: `example.com/shop/${name}:1`,
      imageID: `example.com/shop/${name}@sha256:${'0123456789abcdef'.repeat(4)}`,
      containerID: `containerd://${'0123456789abcdef'.repeat(4)}`,
      ready: true,
      started: true,
      restartCount: 0,
      state: { running: { startedAt: at } },
    })),
  };
}

/** As the client reads it. */
function readJsonList(body: Buffer): readonly Pod[] {
  // The server was asked for pods.
  return (parseJson(body.toString('utf8')) as { items: Pod[] }).items;
}

function readProtobufList(body: Buffer): readonly Pod[] {
  return kubeMessage<{ items?: Pod[] }>('PodList').decode(openEnvelope(body).bytes).items ?? [];
}

function readJsonEvents(body: Buffer): readonly Pod[] {
  const pods: Pod[] = [];
  for (let start = 0; start < body.length; ) {
    const end = body.indexOf(0x0a, start);
    const line = body.toString('utf8', start, end);
    start = end + 1;
    // The server was asked for pods.
    const { type, object } = parseJson(line) as { type: string; object: Pod };
    if (type === 'ADDED') pods.push(object);
  }
  return pods;
}

/** Each event has its length before it; its object is in field 2, in a message with the bytes in field 1. */
function readProtobufEvents(body: Buffer): readonly Pod[] {
  const pods: Pod[] = [];
  for (let start = 0; start < body.length; ) {
    const length = body.readUInt32BE(start);
    const reader = new WireReader(body.subarray(start + 4, start + 4 + length));
    start += 4 + length;
    let type = '';
    let raw: Uint8Array = new Uint8Array(0);
    while (reader.position < reader.length) {
      const tag = reader.uint32(reader.length);
      if (tag >> 3 === 1) type = reader.string(reader.length);
      else if (tag >> 3 === 2) raw = rawOf(reader.bytes(reader.length));
      else reader.skip(tag, reader.length);
    }
    if (type === 'ADDED') pods.push(kubeMessage<Pod>('Pod').decode(openEnvelope(raw).bytes));
  }
  return pods;
}

function rawOf(extension: Uint8Array): Uint8Array {
  const reader = new WireReader(extension);
  reader.uint32(reader.length);
  return reader.bytes(reader.length);
}

/** JSON has `null` for a time that is not set, protobuf nothing. Managed fields are not compared: nothing here reads them. */
function checkSame(json: readonly Pod[], protobuf: readonly Pod[]): void {
  const plain = (pods: readonly Pod[]): unknown =>
    JSON.parse(
      JSON.stringify(
        pods.map(({ metadata, spec, status }) => ({ metadata, spec, status })),
        (key, value: unknown) => (value === null || key === 'managedFields' ? undefined : value),
      ),
    );
  const byName = (a: Pod, b: Pod): number => (a.metadata.name < b.metadata.name ? -1 : 1);
  if (!isDeepStrictEqual(plain([...json].sort(byName)), plain([...protobuf].sort(byName))))
    throw new Error('the two forms of the same pods are read differently');
}

function sizes(name: string, { json, protobuf }: Encoded): Measure[] {
  const ratio = (what: string, ours: number, theirs: number): Measure => ({
    name: `${name}, ${what}: protobuf / JSON`,
    unit: 'ratio',
    value: ours / theirs,
    compared: { unit: 'kB', ours: ours / 1000, theirs: theirs / 1000 },
  });
  return [
    ratio('bytes', protobuf.length, json.length),
    ratio('bytes packed by gzip', gzipSync(protobuf).length, gzipSync(json).length),
  ];
}

/** The sides take turns; the least of each counts, as what disturbs a sample makes it dearer and never cheaper. */
function compare(
  name: string,
  protobuf: () => unknown,
  json: () => unknown,
  { quick }: BenchOptions,
): Measure {
  const samples = { protobuf: [] as number[], json: [] as number[] };
  const times = { protobuf: timesFor(protobuf), json: timesFor(json) };
  for (let round = 0; round < (quick === true ? 1 : rounds); round++) {
    samples.protobuf.push(cpuUs(protobuf, times.protobuf));
    samples.json.push(cpuUs(json, times.json));
  }
  const [ours, theirs] = [Math.min(...samples.protobuf), Math.min(...samples.json)];
  return {
    name: `${name}, CPU: protobuf / JSON`,
    unit: 'ratio',
    value: ours / theirs,
    samples: samples.protobuf.map((us, round) => us / (samples.json[round] ?? Number.NaN)),
    compared: { unit: 'µs', ours, theirs },
  };
}

/** How often a sample repeats the work; it also has the work compiled. */
function timesFor(work: () => unknown): number {
  const untilMs = performance.now() + 10 * sampleMs;
  let times = 0;
  for (; performance.now() < untilMs; times++) work();
  return Math.max(1, Math.round(times / 10));
}

function cpuUs(work: () => unknown, times: number): number {
  const before = process.cpuUsage();
  for (let time = 0; time < times; time++) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}
