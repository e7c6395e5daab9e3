/** What manifests make of the objects of an API, and what they leave alone. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../async/index.js';
import type { KubeObject } from '../../kube/index.js';
import { ServedApi } from '../../kube-api/index.js';
import { type Resource, resources } from '../../kube-client/index.js';
import { type ApiManifestNews, ApiManifests } from './follow-manifests.js';
import { readManifest } from './read-manifest.js';

const configMap = (name: string, data: Record<string, string>, namespace?: string): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data });

class World {
  readonly api = new ServedApi();
  readonly #manifests: ApiManifests;
  #news: ApiManifestNews[] = [];
  #files: Record<string, string> = {};

  constructor(api?: ServedApi) {
    if (api !== undefined) this.api = api;
    this.#manifests = new ApiManifests({
      api: this.api,
      clock: systemClock,
      inputs: ['m'],
      onNews: (news) => this.#news.push(news),
    });
  }

  async start(): Promise<this> {
    await this.create(resources.namespaces, { metadata: { name: 'default' } });
    return this;
  }

  create<T extends KubeObject>(resource: Resource<T>, object: T): Promise<T> {
    return this.api.create(resource, object, object.metadata.namespace, { fieldManager: 'somebody' });
  }

  /** The files as they are now; what is told of that. */
  async take(files: Record<string, string>, problems: Record<string, string> = {}): Promise<string[]> {
    const changed = Object.entries(files).filter(([file, text]) => this.#files[file] !== text);
    this.#files = files;
    this.#news = [];
    await this.#manifests.take({
      files: Object.keys(files),
      changed: new Map(changed),
      problems: new Map(Object.entries(problems)),
    });
    return this.#news.flatMap(({ errors, notes }) => [...errors.map((error) => `! ${error}`), ...notes]);
  }

  data(): Record<string, unknown> {
    const { items } = this.api.list(resources.configMaps);
    return Object.fromEntries(items.map(({ metadata, data }) => [metadata.name, data]));
  }
}

let world: World;
beforeEach(async () => {
  world = await new World().start();
});

describe('manifests', () => {
  it('create, change and remove objects', async () => {
    expect(
      await world.take({ 'a.yaml': configMap('a', { x: '1', y: '1' }), 'b.yaml': configMap('b', {}) }),
    ).toEqual(['ConfigMap default/a created', 'ConfigMap default/b created']);
    expect(await world.take({ 'a.yaml': configMap('a', { x: '2' }), 'b.yaml': configMap('b', {}) })).toEqual([
      'ConfigMap default/a configured',
    ]);
    expect(world.data().a).toEqual({ x: '2' });
    expect(await world.take({ 'a.yaml': configMap('a', { x: '2' }) })).toEqual([
      'ConfigMap default/b deleted, as no manifest has it any more',
    ]);
    expect(Object.keys(world.data())).toEqual(['a']);
  });

  it('make a namespace before what is in it, whatever their order, and leave it when they go', async () => {
    const namespace = '{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}';
    await world.take({ 'a.yaml': `${configMap('a', {}, 'shop')}\n---\n${namespace}` });
    await world.take({});
    expect(world.api.list(resources.namespaces).items.map(({ metadata }) => metadata.name)).toContain('shop');
    expect(world.data()).toEqual({});
  });

  it('never touch what others made', async () => {
    await world.create(resources.configMaps, {
      metadata: { name: 'theirs', namespace: 'default' },
      data: { x: 'theirs' },
    });
    expect(await world.take({ 'a.yaml': configMap('theirs', { x: 'ours' }) })).toEqual([
      '! a.yaml:1:51: metadata.name: ConfigMap default/theirs was made by somebody else, and is left alone; give this one another name, or delete the other',
    ]);
    await world.take({});
    expect(world.data()).toEqual({ theirs: { x: 'theirs' } });
  });

  it('take no field from another manager', async () => {
    await world.take({ 'a.yaml': configMap('a', { x: '1' }) });
    const patch = { type: 'merge', body: { data: { x: 'other' } } } as const;
    const ref = { name: 'a', namespace: 'default' };
    await world.api.patch(resources.configMaps, ref, patch, { fieldManager: 'kubectl' });
    const told = await world.take({ 'a.yaml': configMap('a', { x: '2' }) });
    expect(told.join()).toContain('data.x: conflict with "kubectl" using v1; remove the field here, or let');
    expect(world.data()).toEqual({ a: { x: 'other' } });
    // It is still ours.
    await world.take({});
    expect(world.data()).toEqual({});
  });

  it('remove nothing while nobody knows what a file asks for, also after a restart', async () => {
    await world.take({ 'a.yaml': configMap('a', {}), 'b.yaml': configMap('b', {}) });
    const again = new World(world.api);
    const told = await again.take({ 'a.yaml': 'kind: [', 'b.yaml': configMap('b', {}) }, { m: 'EIO' });
    expect(told.every((line) => line.startsWith('! '))).toBe(true);
    expect(Object.keys(world.data())).toEqual(['a', 'b']);
    await again.take({ 'a.yaml': configMap('c', {}), 'b.yaml': configMap('b', {}) });
    expect(Object.keys(world.data())).toEqual(['b', 'c']);
  });

  it('with an error keep what their file gave before, and tell it once', async () => {
    await world.take({ 'a.yaml': configMap('a', { x: '1' }), 'b.yaml': configMap('b', {}) });
    const wrong = configMap('a', { x: '2' }).replace('"data"', '"dat"');
    expect(await world.take({ 'a.yaml': wrong })).toEqual([
      '! a.yaml:1:63: dat: ConfigMap has no such field; remove it, or correct its name',
      '! a.yaml: until this is right, what it said before holds',
      'ConfigMap default/b deleted, as no manifest has it any more',
    ]);
    expect(await world.take({ 'a.yaml': wrong })).toEqual([]);
    expect(world.data()).toEqual({ a: { x: '1' } });
    expect(await world.take({ 'a.yaml': configMap('a', { x: '2' }) })).toEqual([
      'ConfigMap default/a configured',
      'a.yaml is right again',
    ]);
  });

  it('that name one object twice: the first counts', async () => {
    const told = await world.take({
      'a.yaml': configMap('a', { x: '1' }),
      'b.yaml': configMap('a', { x: '2' }),
    });
    expect(told.join()).toContain(
      'b.yaml:1:51: metadata.name: ConfigMap default/a is defined before, which counts',
    );
    expect(world.data()).toEqual({ a: { x: '1' } });
  });

  it('that the API refuses are told at their field', async () => {
    const service = `apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  ports:
  - port: 99999
`;
    const [told] = await world.take({ 'a.yaml': service });
    expect(told).toMatch(/^! a\.yaml:6:5: spec\.ports\[0\]\.port: Invalid value: 99999/);
  });
});

describe('a manifest', () => {
  it.each<[string, string, string]>([
    ['no object', 'hello', 'a.yaml:1:1: expected an object; begin with "apiVersion:" and "kind:"'],
    ['no kind', 'apiVersion: v1', 'a.yaml:1:1: kind: is missing; add for example "kind: Pod"'],
    [
      'an unknown kind',
      'apiVersion: v1\nkind: Ingres\nmetadata: {name: a}',
      'a.yaml:2:1: kind: no "Ingres" is served by this node; remove it, or correct the name',
    ],
    [
      'another version',
      'apiVersion: apps/v1beta1\nkind: Deployment',
      'a.yaml:1:1: apiVersion: write "apiVersion: apps/v1"',
    ],
    [
      'no name',
      'apiVersion: v1\nkind: Pod',
      'a.yaml:1:1: metadata.name: a Pod needs a name; add for example "name: web"',
    ],
    [
      'a namespace of a namespace',
      'apiVersion: v1\nkind: Namespace\nmetadata: {name: a, namespace: b}',
      'a.yaml:3:21: metadata.namespace: a Namespace has no namespace; remove it',
    ],
    ['nothing', '', 'a.yaml: it is empty; write an object into it'],
  ])('with %s is refused with place and fix', (_what, text, expected) => {
    const { problems } = readManifest(text, 'a.yaml', new ServedApi().kinds);
    expect(
      problems.map(
        ({ file, line, column, field, message }) =>
          `${file}:${line === 0 ? '' : `${line}:${column}:`}${field === '' ? '' : ` ${field}:`} ${message}`,
      ),
    ).toEqual([expected]);
  });

  it('may be a list', () => {
    const list = `{"apiVersion": "v1", "kind": "List", "items": [${configMap('a', {})}, ${configMap('b', {})}]}`;
    expect(readManifest(list, 'a.yaml', new ServedApi().kinds).content.map(({ ref }) => ref.name)).toEqual([
      'a',
      'b',
    ]);
  });
});

describe('following', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp('/tmp/nodelet-manifests-');
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  it('applies a directory and its changes', async () => {
    await writeFile(path.join(dir, 'a.yaml'), configMap('a', { x: '1' }));
    const stop = new AbortController();
    const manifests = new ApiManifests({
      api: world.api,
      clock: systemClock,
      inputs: [dir],
      onNews: () => {},
    });
    void manifests.run(stop.signal);
    await expect.poll(() => world.data(), { timeout: 10_000 }).toEqual({ a: { x: '1' } });
    await writeFile(path.join(dir, 'a.yaml'), configMap('a', { x: '2' }));
    await expect.poll(() => world.data(), { timeout: 10_000 }).toEqual({ a: { x: '2' } });
    await rm(path.join(dir, 'a.yaml'));
    await expect.poll(() => world.data(), { timeout: 10_000 }).toEqual({});
    stop.abort();
  });
});
