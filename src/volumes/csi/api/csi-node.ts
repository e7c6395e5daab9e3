/** Tells the cluster which CSI drivers this node has: by the CSINode, and by annotation and labels of the Node. */
import { Cancelled, type Clock, errorText, Gate, isCancelled, jitter, sleep } from '../../../async/index.js';
import { goQuote } from '../../../kube/index.js';
import { ApiError, type CsiNode, type KubeApi, resources } from '../../../kube-client/index.js';
import type { Timeline } from '../../../timeline/index.js';
import {
  type DriverNodeInfo,
  foreignOwner,
  newCsiNode,
  nodeChange,
  nodeRemoval,
  type OwningNode,
  withDriver,
  withMigratedPlugins,
  withoutDriver,
} from '../node-info.js';
import type { DriverNotice } from '../registration.js';

export interface ApiCsiNodeOptions {
  readonly api: KubeApi;
  readonly clock: Clock;
  readonly timeline: Timeline;
  readonly nodeName: string;
  readonly random?: (() => number) | undefined;
}

const tries = { count: 4, firstMs: 10, factor: 5 } as const;
const startPause = { firstMs: 100, longestMs: 5_000 } as const;

export class ApiCsiNode implements DriverNotice {
  readonly #options: ApiCsiNodeOptions;
  /** One change at a time: two drivers would overwrite each other's entries. */
  readonly #turn = new Gate(1);
  #isReady = false;
  #problem = 'CSINode is not yet initialized';
  #onReady: (() => void)[] = [];

  constructor(options: ApiCsiNodeOptions) {
    this.#options = options;
  }

  /** Why the node is not ready for volumes yet. */
  get error(): string | undefined {
    return this.#isReady ? undefined : this.#problem;
  }

  /** Makes the CSINode what it should be, as soon as the node is registered; ends then. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, timeline, random } = this.#options;
    for (let pauseMs: number = startPause.firstMs; !this.#isReady; ) {
      try {
        const owner = await this.#readOwner(signal);
        await this.#turn.run(() => this.#update(owner, (csiNode) => csiNode, signal), { signal });
        this.#isReady = true;
        for (const ready of this.#onReady.splice(0)) ready();
      } catch (error) {
        if (isCancelled(error)) throw error;
        const problem = `failed to initialize CSINode: ${errorText(error)}`;
        // A node that is just being registered is no problem.
        const isNews = problem !== this.#problem && !isNotFound(error);
        if (!isNotFound(error)) this.#problem = problem;
        if (isNews) timeline.record({ kind: 'problem', what: 'csi.node', level: 'warn', message: problem });
        await sleep(clock, jitter(pauseMs, random, 0.1), signal);
        pauseMs = Math.min(pauseMs * 2, startPause.longestMs);
      }
    }
  }

  install(driver: string, info: DriverNodeInfo, signal: AbortSignal): Promise<void> {
    return this.#exclusively(signal, async (owner) => {
      await this.#patchNode((node) => nodeChange(node, driver, info), signal).catch((error: unknown) => {
        throw wrapped('error updating Node object with CSI driver node info: error updating node', error);
      });
      await this.#update(owner, (csiNode) => withDriver(csiNode, driver, info) ?? csiNode, signal).catch(
        (error: unknown) => {
          throw wrapped('error updating CSINode object with CSI driver node info', error);
        },
      );
    });
  }

  update(driver: string, info: DriverNodeInfo, signal: AbortSignal): Promise<void> {
    return this.#exclusively(signal, async (owner) => {
      // A driver that has gone meanwhile must not come back into the list.
      if (signal.aborted) throw new Cancelled();
      await this.#update(owner, (csiNode) => withDriver(csiNode, driver, info) ?? csiNode, signal);
    });
  }

  uninstall(driver: string, signal: AbortSignal): Promise<void> {
    return this.#exclusively(signal, async (owner) => {
      await this.#update(owner, (csiNode) => withoutDriver(csiNode, driver) ?? csiNode, signal);
      await this.#patchNode((node) => nodeRemoval(node, driver), signal);
    });
  }

  async #exclusively(signal: AbortSignal, work: (owner: OwningNode) => Promise<void>): Promise<void> {
    await this.#whenReady(signal);
    // Someone may have deleted the Node and made it anew, with another UID.
    await this.#turn.run(async () => work(await this.#readOwner(signal)), { signal });
  }

  /** Without the node's UID a good CSINode would look like one of another node. */
  async #whenReady(signal: AbortSignal): Promise<void> {
    if (!this.#isReady) {
      await new Promise<void>((resolve) => {
        const done = (): void => {
          signal.removeEventListener('abort', done);
          resolve();
        };
        this.#onReady.push(done);
        signal.addEventListener('abort', done, { once: true });
      });
    }
    if (!this.#isReady) throw new Error(this.#problem);
  }

  async #readOwner(signal: AbortSignal): Promise<OwningNode> {
    const { api, nodeName: name } = this.#options;
    const node = await api.get(resources.nodes, { name }, { signal });
    const { uid = '' } = node.metadata;
    return { name, uid };
  }

  #patchNode(
    change: (node: Parameters<typeof nodeChange>[0]) => object | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { api, nodeName: name } = this.#options;
    return this.#retried(signal, async () => {
      const metadata = change(await api.get(resources.nodes, { name }, { signal }));
      if (metadata === undefined) return;
      await api.patch(
        resources.nodes,
        { name },
        { type: 'strategic', body: { metadata } },
        { subresource: 'status', signal },
      );
    });
  }

  /** Makes the object if it is missing, repairs it, and writes it only if it changes. */
  #update(owner: OwningNode, change: (csiNode: CsiNode) => CsiNode, signal: AbortSignal): Promise<void> {
    const { api } = this.#options;
    return this.#retried(signal, async () => {
      const found = await this.#find(owner, signal);
      const repaired = (found && withMigratedPlugins(found)) ?? found ?? newCsiNode(owner);
      const wanted = change(repaired);
      if (found === undefined) await api.create(resources.csiNodes, wanted, { signal });
      else if (wanted !== found) await api.update(resources.csiNodes, wanted, { signal });
    });
  }

  async #find(owner: OwningNode, signal: AbortSignal): Promise<CsiNode | undefined> {
    const { api } = this.#options;
    const ref = { name: owner.name };
    let found: CsiNode;
    try {
      found = await api.get(resources.csiNodes, ref, { signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
    const other = foreignOwner(found, owner);
    if (other === undefined) return found;
    const { uid } = found.metadata;
    await api.delete(resources.csiNodes, ref, {
      signal,
      ...(uid === undefined ? {} : { preconditions: { uid } }),
    });
    throw new Error(
      `CSINode ${goQuote(owner.name)} was owned by different node (oldNodeID=${goQuote(other)}, newNodeID=${goQuote(owner.uid)}), deleted it`,
    );
  }

  async #retried(signal: AbortSignal, work: () => Promise<void>): Promise<void> {
    const { clock, random } = this.#options;
    for (let left = tries.count, pauseMs: number = tries.firstMs; ; left--, pauseMs *= tries.factor) {
      try {
        return await work();
      } catch (error) {
        if (isCancelled(error) || left <= 1) throw error;
        await sleep(clock, jitter(pauseMs, random, 0.1), signal);
      }
    }
  }
}

function isNotFound(error: unknown): boolean {
  return error instanceof ApiError && error.code === 404;
}

function wrapped(what: string, error: unknown): Error {
  return new Error(`${what}: ${errorText(error)}`, { cause: error });
}
