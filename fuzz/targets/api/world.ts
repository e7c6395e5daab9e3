/** A served API with a few objects, to which a fuzz target sends what it likes. */
import { VirtualClock } from '../../../src/async/index.js';
import type { ApiResponse } from '../../../src/kube-api/http/contracts.js';
import { Discovery } from '../../../src/kube-api/http/discovery.js';
import { ApiHandler } from '../../../src/kube-api/http/handler.js';
import { openApiResponses } from '../../../src/kube-api/http/openapi-responses.js';
import { postedResponses } from '../../../src/kube-api/http/posted-responses.js';
import { scaleResponses } from '../../../src/kube-api/http/scale.js';
import { serverFacts } from '../../../src/kube-api/http/server-facts.js';
import { servedKinds } from '../../../src/kube-api/kinds/kinds.js';
import { Storage, type StorageSnapshot } from '../../../src/kube-api/objects/storage.js';
import type { ApiUser } from '../../../src/kube-api/posted/contracts.js';
import { postedKinds } from '../../../src/kube-api/posted/posted-kinds.js';
import { PostedObjects } from '../../../src/kube-api/posted/responder.js';
import { ServedApi } from '../../../src/kube-api/server.js';
import { tablePrinter } from '../../../src/kube-api/tables/printer.js';
import { type Resource, resources } from '../../../src/kube-client/index.js';
import { holds } from '../../target.js';

export const owner: ApiUser = { name: 'owner', groups: ['system:masters', 'system:authenticated'] };
/** Of a pod's account, which may see nothing that is stored. */
export const stranger: ApiUser = {
  name: 'system:serviceaccount:shop:default',
  groups: ['system:serviceaccounts', 'system:authenticated'],
};
/** In a Secret and a ConfigMap of each world. */
export const marker = 'only-for-its-owner';

export const podSpec = {
  containers: [
    {
      name: 'app',
      image: 'web:1',
      env: [
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
      ],
      ports: [{ containerPort: 80, protocol: 'TCP' }],
      resources: { requests: { cpu: '100m' } },
    },
  ],
};
const template = { metadata: { labels: { app: 'web' } }, spec: podSpec };

const objects: readonly (readonly [Resource, object])[] = [
  [resources.configMaps, { metadata: { name: 'settings' }, data: { key: marker } }],
  [
    resources.secrets,
    { metadata: { name: 'secret' }, data: { key: Buffer.from(marker).toString('base64') } },
  ],
  [resources.pods, { metadata: { name: 'web', labels: { app: 'web', tier: 'front' } }, spec: podSpec }],
  [
    resources.deployments,
    {
      metadata: { name: 'web' },
      spec: { replicas: 2, selector: { matchLabels: { app: 'web' } }, template },
    },
  ],
  [
    resources.services,
    {
      metadata: { name: 'web' },
      spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
    },
  ],
];

/** OpenAPI documents take long to make, and are the same for all worlds. */
const openApi = openApiResponses({ kinds: servedKinds, kubernetesVersion: 'v1.37.1' });

/** What each world begins with: stored objects are never changed, so all may share them. */
let first: StorageSnapshot | undefined;

export class ApiWorld {
  readonly clock = new VirtualClock();
  readonly api: ServedApi;
  readonly handler: ApiHandler;
  /** Nothing that is older was made by the input. */
  readonly startRevision: number;

  private constructor(storage: Storage) {
    this.startRevision = storage.revision;
    this.api = new ServedApi({ clock: this.clock, storage });
    const posted = new PostedObjects(this.api, {
      issue: () => ({ token: 'token', expiresMs: 0 }),
      verify: () => undefined,
    });
    this.handler = new ApiHandler({
      api: this.api,
      discovery: new Discovery({ kinds: this.api.kinds, posted: postedKinds, serverAddress: '127.0.0.1:1' }),
      printer: tablePrinter,
      others: [
        serverFacts({ kubernetesVersion: 'v1.37.1', platform: 'linux/amd64' }),
        openApi,
        postedResponses(this.api, posted),
        scaleResponses(this.api),
      ],
    });
  }

  static async open(): Promise<ApiWorld> {
    first ??= await ApiWorld.#first();
    const storage = new Storage();
    storage.restore(first);
    return new ApiWorld(storage);
  }

  static async #first(): Promise<StorageSnapshot> {
    const world = new ApiWorld(new Storage());
    await world.api.create(resources.namespaces, { metadata: { name: 'shop' } }, undefined);
    await world.api.create(resources.serviceAccounts, { metadata: { name: 'default' } }, 'shop');
    for (const [resource, object] of objects)
      await world.api.create(resource, structuredClone(object) as never, 'shop');
    return world.api.storage.snapshot();
  }

  /** A whole answer, its text; watches end after what they have to tell at once. */
  async ask(
    method: string,
    target: string,
    body?: Buffer,
    headers: Readonly<Record<string, string>> = {},
    user: ApiUser = owner,
  ): Promise<{ readonly status: number; readonly text: string; readonly value: unknown }> {
    const mark = target.indexOf('?');
    const asked = this.handler.handle({
      method,
      path: mark < 0 ? target : target.slice(0, mark),
      query: new URLSearchParams(mark < 0 ? '' : target.slice(mark + 1)),
      headers,
      user,
      ...(body === undefined ? {} : { readBody: () => Promise.resolve(body) }),
    });
    const response = await this.#inTime(asked);
    const text = await this.#textOf(response);
    const isJson = (response.headers['Content-Type'] ?? '').startsWith('application/json');
    const isStream = typeof response.body !== 'string' && !(response.body instanceof Uint8Array);
    let value: unknown;
    if (isJson && text !== '' && !isStream) value = JSON.parse(text);
    holds(response.status !== 500, `no request makes a mistake of ours: ${text.slice(0, 300)}`);
    holds(!('polluted' in Object.prototype), 'nothing reaches the prototype of all objects');
    return { status: response.status, text, value };
  }

  /** Waits of the API itself end at once. */
  async #inTime<T>(work: Promise<T>): Promise<T> {
    let isOver = false;
    const settled = work.finally(() => {
      isOver = true;
    });
    settled.catch(() => undefined);
    for (let turn = 0; !isOver; turn++) {
      await new Promise((resolve) => setImmediate(resolve));
      if (turn > 2 && !isOver) await this.clock.advance(2_000);
    }
    return settled;
  }

  async #textOf({ body }: ApiResponse): Promise<string> {
    if (typeof body === 'string') return body;
    if (body instanceof Uint8Array) return Buffer.from(body).toString('latin1');
    const stop = new AbortController();
    const pieces: Buffer[] = [];
    const write = async (bytes: Buffer): Promise<void> => void pieces.push(bytes);
    const streaming = body.stream({ write }, stop.signal).catch((error: unknown) => {
      const failure = body.failed(error).body;
      pieces.push(Buffer.from(typeof failure === 'string' ? failure : ''));
    });
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    await streaming;
    for (const line of Buffer.concat(pieces).toString().split('\n')) if (line !== '') JSON.parse(line);
    return Buffer.concat(pieces).toString();
  }
}
