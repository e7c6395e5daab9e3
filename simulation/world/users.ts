/** What users of a simulated cluster did, and what they may expect of it. */
import type { Pod } from '../../src/kube/index.js';
import { resources } from '../../src/kube-client/index.js';
import type { PodDraft } from '../plan/step.js';
import { deviceResource } from './device-plugin.js';
import { fateOf, manifestOf, podOfDraft } from './pod-of-draft.js';
import type { SimulatedNode } from './simulated-node.js';

export interface WantedPod {
  readonly uid: string;
  readonly name: string;
  readonly draft: PodDraft;
}

const namespace = 'default';
/** The pod that a node is given when it has come to rest. */
export const lastPodName = 'last';

export class Users {
  /** By UID: all pods that ever were. */
  readonly pods = new Map<string, WantedPod>();
  readonly statics = new Map<string, Pod>();
  /** By UID: pods that were taken out of the API before they had ended. */
  readonly forced = new Set<string>();
  /** By name: pods whose containers were asked to be resized. */
  readonly resized = new Set<string>();
  /** The machine has had too little for its pods. */
  hadPressure = false;
  #hasGuaranteed = false;
  #sawDevices = false;
  /** The shortest grace that each pod was given. */
  readonly #graceSeconds = new Map<string, number>();
  readonly #node: SimulatedNode;

  constructor(node: SimulatedNode) {
    this.#node = node;
  }

  graceSeconds(uid: string): number | undefined {
    return this.#graceSeconds.get(uid);
  }

  async create(name: string, draft: PodDraft): Promise<void> {
    const { api } = this.#node;
    if ((await this.find(name)) !== undefined) return;
    if (draft.devices !== undefined && !(await this.#hadDevices())) return;
    if (draft.volumes === true) await this.configure(name, 'first');
    if (draft.claim !== undefined)
      await this.#node.storage?.claim(draft.claim, draft.claim.startsWith('pod-') ? 'pod' : 'node');
    this.#node.load?.add(name);
    this.#hasGuaranteed ||= draft.guaranteed === true;
    const pod = await api.create(resources.pods, podOfDraft(name, draft));
    const { uid } = pod.metadata;
    this.pods.set(uid, { uid, name, draft });
    this.#graceSeconds.set(uid, draft.graceSeconds);
  }

  /** A scheduler gives no pod to a node that has never offered what the pod asks for. */
  async #hadDevices(): Promise<boolean> {
    if (this.#sawDevices) return true;
    const { items } = await this.#node.api.list(resources.nodes);
    this.#sawDevices = items.some(({ status }) => (status?.capacity?.[deviceResource] ?? '0') !== '0');
    return this.#sawDevices;
  }

  /** A node at rest takes one more pod. */
  async createLast(): Promise<void> {
    await this.create(lastPodName, { containers: 1, graceSeconds: 1, memory: '1Mi' });
  }

  async configure(name: string, value: string): Promise<void> {
    const { api } = this.#node;
    const metadata = { name, namespace };
    const map = { metadata, data: { key: value } };
    const secret = { metadata, data: { token: Buffer.from(value).toString('base64') } };
    await api.create(resources.configMaps, map).catch(() => api.update(resources.configMaps, map));
    await api.create(resources.secrets, secret).catch(() => api.update(resources.secrets, secret));
  }

  async delete(name: string, graceSeconds: number | undefined): Promise<void> {
    const pod = await this.find(name);
    if (pod === undefined) return;
    if (graceSeconds !== undefined) this.#shorten(pod.metadata.uid, graceSeconds);
    if (graceSeconds === 0) this.forced.add(pod.metadata.uid);
    await this.#node.api.delete(
      resources.pods,
      { namespace, name },
      graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds },
    );
  }

  async edit(name: string, image: string): Promise<void> {
    await this.#patch(name, { spec: { containers: [{ name: 'app', image }] } });
  }

  async resize(name: string, cpu: string): Promise<void> {
    this.resized.add(name);
    const resized = { requests: { cpu }, limits: { cpu } };
    await this.#patch(name, { spec: { containers: [{ name: 'app', resources: resized }] } }, 'resize');
  }

  manifest(name: string, image: string | undefined, graceSeconds: number): void {
    if (image === undefined) {
      this.statics.delete(name);
      return;
    }
    const pod = manifestOf(name, image, graceSeconds);
    this.statics.set(name, pod);
    this.#shorten(pod.metadata.uid, graceSeconds);
  }

  async find(name: string): Promise<Pod | undefined> {
    const found = await this.#node.api.list(resources.pods, { fieldSelector: `metadata.name=${name}` });
    return found.items[0];
  }

  async list(): Promise<readonly Pod[]> {
    return (await this.#node.api.list(resources.pods)).items;
  }

  /** What this pod must come to when it is left alone. */
  fate(uid: string): 'runs' | 'ends' | 'unsettled' {
    const pod = this.pods.get(uid);
    if (pod === undefined) return 'runs';
    const fate = fateOf(pod.draft);
    // What is not started again may have ended by any of the faults.
    return fate === 'runs' && (pod.draft.restartPolicy ?? 'Always') !== 'Always' ? 'unsettled' : fate;
  }

  /** Whether a node that does what it should may refuse or evict the pod for that reason. */
  mayFail(uid: string, reason: string | undefined): boolean {
    if (reason === 'Evicted') return this.hadPressure;
    const draft = this.pods.get(uid)?.draft;
    if (draft === undefined) return false;
    const { devices, hostPort, cpu } = draft;
    switch (reason) {
      case 'NodePorts':
        return hostPort !== undefined;
      case 'OutOfcpu':
        return cpu !== undefined && this.#hasGuaranteed;
      case `OutOf${deviceResource}`:
        return devices !== undefined;
      case 'UnexpectedAdmissionError':
        return devices !== undefined || draft.guaranteed === true;
      default:
        return false;
    }
  }

  /** What an admitted pod holds may be gone at the next start of a kubelet, which refuses it then and gives it no grace. */
  orphaned(uid: string): void {
    const draft = this.pods.get(uid)?.draft;
    if (draft?.devices !== undefined || draft?.guaranteed === true) this.#shorten(uid, 0);
  }

  /** The kubelet ends a pod for the sake of the node. */
  evicted(uid: string, graceSeconds: number): void {
    this.#shorten(uid, graceSeconds);
  }

  #shorten(uid: string, graceSeconds: number): void {
    this.#graceSeconds.set(uid, Math.min(graceSeconds, this.#graceSeconds.get(uid) ?? graceSeconds));
  }

  async #patch(name: string, body: object, subresource?: 'resize'): Promise<void> {
    if ((await this.find(name)) === undefined) return;
    await this.#node.api.patch(
      resources.pods,
      { namespace, name },
      { type: 'strategic', body },
      subresource === undefined ? {} : { subresource },
    );
  }
}
