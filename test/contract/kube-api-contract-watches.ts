/** Watches: what they tell, from where on, and how they end. */
import { describe, expect, it } from 'vitest';
import { Cancelled } from '../../src/async/index.js';
import type { ConfigMap, KubeObject } from '../../src/kube/index.js';
import {
  ApiUnreachable,
  isGone,
  resources,
  type WatchEvent,
  type WatchOptions,
} from '../../src/kube-client/index.js';
import type { KubeApiContract } from './kube-api-contract.js';
import { uniqueName } from './kube-api-contract-objects.js';
import { newPod } from './kube-api-contract-pods.js';

function shown(event: WatchEvent<KubeObject>): string {
  if (event.type === 'BOOKMARK') return 'BOOKMARK';
  return event.type === 'ERROR' ? `ERROR ${event.error.code}` : `${event.type} ${event.object.metadata.name}`;
}

export function describeWatches({ api, namespace, subject }: KubeApiContract): void {
  const maps = resources.configMaps;
  const create = (name: string, labels: Record<string, string> = {}): Promise<ConfigMap> =>
    api().create(maps, { metadata: { name, namespace: namespace(), labels }, data: { a: '1' } });
  const now = async (): Promise<string> =>
    (await api().list(maps, { namespace: namespace() })).metadata!.resourceVersion!;
  /** The first events of a watch, without bookmarks. */
  const take = async (count: number, options: WatchOptions): Promise<WatchEvent<ConfigMap>[]> => {
    const events: WatchEvent<ConfigMap>[] = [];
    for await (const event of api().watch(maps, { namespace: namespace(), timeoutSeconds: 60, ...options })) {
      if (event.type !== 'BOOKMARK') events.push(event);
      if (events.length === count) break;
    }
    return events;
  };

  describe('a watch', () => {
    it('tells what happened since its version, and what happens', async () => {
      const [name, other] = [uniqueName(), uniqueName()];
      const resourceVersion = await now();
      const first = await create(name);
      const watching = take(4, { resourceVersion });
      await api().patch(
        maps,
        { namespace: namespace(), name },
        { type: 'merge', body: { data: { a: '2' } } },
      );
      await create(other);
      await api().delete(maps, { namespace: namespace(), name });
      const events = await watching;
      expect(events.map(shown)).toEqual([
        `ADDED ${name}`,
        `MODIFIED ${name}`,
        `ADDED ${other}`,
        `DELETED ${name}`,
      ]);
      const versions = events.map((event) =>
        event.type === 'ADDED' || event.type === 'MODIFIED' || event.type === 'DELETED'
          ? event.object.metadata.resourceVersion!
          : '',
      );
      expect(versions[0]).toBe(first.metadata.resourceVersion);
      expect(versions.map(BigInt)).toEqual([...versions.map(BigInt)].sort((a, b) => (a < b ? -1 : 1)));
      expect(events[1]).toMatchObject({ object: { apiVersion: 'v1', kind: 'ConfigMap', data: { a: '2' } } });
    });
    it('from any version begins with all there is', async () => {
      const mark = uniqueName('mark');
      const name = uniqueName();
      await create(name, { mark });
      const later = uniqueName();
      const watching = take(2, { resourceVersion: '0', labelSelector: `mark=${mark}` });
      await create(later, { mark });
      expect((await watching).map(shown)).toEqual([`ADDED ${name}`, `ADDED ${later}`]);
    });
    it('tells of objects that enter and leave its selection', async () => {
      const mark = uniqueName('mark');
      const name = uniqueName();
      const resourceVersion = await now();
      await create(name);
      const label = (value: string | null) =>
        api().patch(
          maps,
          { namespace: namespace(), name },
          { type: 'merge', body: { metadata: { labels: { mark: value } } } },
        );
      await label(mark);
      await api().patch(
        maps,
        { namespace: namespace(), name },
        { type: 'merge', body: { data: { a: '2' } } },
      );
      const last = await label(null);
      const events = await take(3, { resourceVersion, labelSelector: `mark=${mark}` });
      expect(events.map(shown)).toEqual([`ADDED ${name}`, `MODIFIED ${name}`, `DELETED ${name}`]);
      expect(events[2]).toMatchObject({
        object: { metadata: { resourceVersion: last.metadata.resourceVersion } },
      });
    });
    it('of the pods of a node sees a pod bound to it', async () => {
      const nodeName = uniqueName('node');
      const { metadata } = await api().list(resources.pods, { fieldSelector: `spec.nodeName=${nodeName}` });
      await api().create(resources.pods, newPod(namespace(), 'another'));
      const pod = await api().create(resources.pods, newPod(namespace(), nodeName));
      const options = {
        fieldSelector: `spec.nodeName=${nodeName}`,
        resourceVersion: metadata!.resourceVersion!,
        timeoutSeconds: 60,
      };
      for await (const event of api().watch(resources.pods, options)) {
        expect(shown(event)).toBe(`ADDED ${pod.metadata.name}`);
        break;
      }
    });
    it('ends after its time without an error, and its bookmarks, if any come, are not behind it', async () => {
      const name = uniqueName();
      const resourceVersion = await now();
      await create(name);
      const events: string[] = [];
      const fieldSelector = `metadata.name=${name}`;
      const options = { namespace: namespace(), fieldSelector, timeoutSeconds: 3, resourceVersion };
      for await (const event of api().watch(maps, { ...options, allowBookmarks: true })) {
        events.push(shown(event));
        if (event.type === 'BOOKMARK') {
          expect(BigInt(event.resourceVersion)).toBeGreaterThanOrEqual(BigInt(resourceVersion));
        }
      }
      expect(events.filter((text) => text !== 'BOOKMARK')).toEqual([`ADDED ${name}`]);
    }, 30_000);
    it('that begins with all objects says when they are all', async () => {
      const mark = uniqueName('mark');
      const [name, other, later] = [uniqueName(), uniqueName(), uniqueName()];
      await create(name, { mark });
      const last = await create(other, { mark });
      const events: string[] = [];
      const options = { namespace: namespace(), labelSelector: `mark=${mark}`, timeoutSeconds: 60 };
      const streaming = { ...options, allowBookmarks: true, sendInitialEvents: true };
      for await (const event of api().watch(maps, streaming)) {
        if (event.type === 'BOOKMARK' && event.initialEventsEnd === true) {
          expect([...events].sort()).toEqual([`ADDED ${name}`, `ADDED ${other}`].sort());
          const newest = BigInt(last.metadata.resourceVersion!);
          expect(BigInt(event.resourceVersion)).toBeGreaterThanOrEqual(newest);
          await create(later, { mark });
        } else if (event.type !== 'BOOKMARK') events.push(shown(event));
        if (events.length === 3) break;
      }
      expect(events).toEqual([expect.any(String), expect.any(String), `ADDED ${later}`]);
    });
    it('from a forgotten version is told so', async () => {
      await create(uniqueName());
      await subject().forgetChanges();
      const [event] = await take(1, { resourceVersion: '1' });
      expect(event?.type === 'ERROR' && isGone(event.error)).toBe(true);
    });
    it('ends at once when its caller wants no more', async () => {
      const stop = new AbortController();
      const watching = take(99, { resourceVersion: await now(), signal: stop.signal });
      setTimeout(() => stop.abort(), 50);
      await expect(watching).rejects.toBeInstanceOf(Cancelled);
    });
    it('that is cut fails, and goes on from its last version without loss', async ({ skip }) => {
      const cut = subject().cutWatches;
      if (cut === undefined) skip('there is no connection to cut');
      const resourceVersion = await now();
      const [a, b] = [uniqueName(), uniqueName()];
      const seen: string[] = [];
      let last = resourceVersion;
      const follow = async (): Promise<void> => {
        for await (const event of api().watch(maps, {
          namespace: namespace(),
          resourceVersion: last,
          timeoutSeconds: 60,
        })) {
          if (event.type === 'BOOKMARK' || event.type === 'ERROR') continue;
          seen.push(shown(event));
          last = event.object.metadata.resourceVersion!;
          if (seen.length === 1) await cut?.();
          if (seen.length === 2) return;
        }
      };
      await create(a);
      await expect(follow()).rejects.toBeInstanceOf(ApiUnreachable);
      await create(b);
      await follow();
      expect(seen).toEqual([`ADDED ${a}`, `ADDED ${b}`]);
    });
  });
}
