/**
 * A node whose pods, driver, agent, machine and API come and go at random: no data is lost, no volume is touched while it is
 * used, and nothing is left at rest. NODELET_SOAK_SEEDS and NODELET_SOAK_STEPS make it longer.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { resources } from '../../src/kube-client/index.js';
import { CsiClusterMachine, type CsiMember } from './csi-cluster-machine.js';
import type { CsiFaultEffect, CsiMethod } from './csi-driver.js';
import { isStagingPath } from './csi-driver-volumes.js';
import { endNodes, minute, second } from './node.js';
import { seededRandom } from './seeded-random.js';

afterEach(endNodes);

const seedCount = Number(process.env.NODELET_SOAK_SEEDS ?? 2);
const steps = Number(process.env.NODELET_SOAK_STEPS ?? 100);

const claims = ['disk', 'shared', 'single', 'other'];
const methods: readonly CsiMethod[] = [
  'nodeGetCapabilities',
  'nodeStageVolume',
  'nodePublishVolume',
  'nodeUnpublishVolume',
  'nodeUnstageVolume',
];
const effects: readonly CsiFaultEffect[] = [
  { kind: 'error', code: 'Internal' },
  { kind: 'error', code: 'Aborted' },
  { kind: 'error', code: 'DeadlineExceeded' },
  { kind: 'hang' },
  { kind: 'lost' },
  { kind: 'killed', downMs: 15 * second },
];

class Soak {
  readonly cluster = new CsiClusterMachine();
  readonly happened: string[] = [];
  /** By volume and file. */
  readonly #written = new Map<string, string>();
  readonly #random: () => number;
  #agent: CsiMember | undefined;
  #seed: number;
  #pods = 0;
  #backMs = 0;

  constructor(seed: number) {
    this.#seed = seed * 1000;
    this.#random = seededRandom(seed);
  }

  get agent(): CsiMember {
    return this.#agent!;
  }

  async begin(): Promise<void> {
    const { cluster } = this;
    await cluster.begin();
    await cluster.volume('disk', ['ReadWriteOnce']);
    await cluster.volume('other', ['ReadWriteOnce']);
    await cluster.volume('shared', ['ReadWriteMany']);
    await cluster.volume('single', ['ReadWriteOncePod']);
    await this.#start();
  }

  async step(): Promise<void> {
    const { cluster } = this;
    if (!cluster.driver.isUp && this.#random() < 0.3) await this.#restartDriver();
    const chance = this.#random();
    if (chance < 0.3) await this.#createPod();
    else if (chance < 0.52) await this.#deletePod();
    else if (chance < 0.68) this.#failDriver();
    else if (chance < 0.74) await this.#restartDriver();
    else if (chance < 0.82) await this.#crash();
    else if (chance < 0.86) this.#loseApi();
    else if (chance < 0.87) await this.#reboot();
    else await this.#write();
    await this.pass(1 + Math.floor(this.#random() * 10));
    await this.#checkData();
    expect([...cluster.violations], this.happened.slice(-30).join('\n')).toEqual([]);
  }

  /** Seconds go by. */
  async pass(seconds: number): Promise<void> {
    const { cluster } = this;
    for (let at = 0; at < seconds; at++) {
      await this.agent.member.node.advance(second);
      if (!cluster.isReachable && this.agent.member.node.clock.now() >= this.#backMs)
        cluster.setReachable(true);
      await cluster.check();
      await cluster.control();
    }
  }

  /** Everything works again, and all pods go. */
  async rest(): Promise<void> {
    const { cluster } = this;
    cluster.driver.mend();
    cluster.setReachable(true);
    await cluster.driver.start();
    await this.pass(5);
    for (const name of await this.#podNames()) await cluster.on.delete(name);
    for (let waitedMs = 0; waitedMs < 20 * minute; waitedMs += 20 * second) {
      await this.pass(20);
      if ((await cluster.remains()).length === 0) break;
    }
    const seen = `${this.happened.join('\n')}\n${this.agent.member.node.describe()}`;
    expect(await cluster.remains(), seen).toEqual([]);
    expect([...cluster.violations]).toEqual([]);
    await this.#checkData();
  }

  async #start(): Promise<void> {
    this.#agent = await this.cluster.start({ seed: this.#seed++ });
  }

  async #podNames(): Promise<string[]> {
    const { items } = await this.cluster.on.api.list(resources.pods);
    return items
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name ?? '');
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)]!;
  }

  async #createPod(): Promise<void> {
    if (!this.cluster.isReachable || (await this.#podNames()).length >= 6) return;
    const name = `p${this.#pods++}`;
    const claimName = this.#pick(claims);
    const isInline = this.#random() < 0.15;
    const volume = isInline
      ? { name: 'data', csi: { driver: this.cluster.driver.name } }
      : { name: 'data', persistentVolumeClaim: { claimName } };
    this.#note(`create ${name} with ${isInline ? 'an inline volume' : claimName}`);
    await this.cluster.on.create(name, {
      containers: [{ name: 'app', image: 'app:1', volumeMounts: [{ name: 'data', mountPath: '/v' }] }],
      graceSeconds: 1,
      spec: { volumes: [volume] },
    });
  }

  async #deletePod(): Promise<void> {
    if (!this.cluster.isReachable) return;
    const names = await this.#podNames();
    if (names.length === 0) return;
    const name = this.#pick(names);
    const isForced = this.#random() < 0.2;
    this.#note(`delete ${name}${isForced ? ' by force' : ''}`);
    await this.cluster.on.delete(name, ...(isForced ? [0] : []));
  }

  #failDriver(): void {
    const effect = this.#pick(effects);
    const fault = {
      method: this.#pick(methods),
      effect,
      when: this.#random() < 0.5 ? ('before' as const) : ('after' as const),
      // A driver that hangs for minutes again and again would leave nothing to see.
      times: effect.kind === 'hang' || effect.kind === 'killed' ? 1 : 1 + Math.floor(this.#random() * 6),
    };
    this.#note(`driver: ${JSON.stringify(fault)}`);
    this.cluster.driver.fail(fault);
  }

  async #restartDriver(): Promise<void> {
    const { driver } = this.cluster;
    this.#note(driver.isUp ? 'stop the driver' : 'start the driver');
    if (driver.isUp && this.#random() < 0.5) await driver.stop();
    else if (driver.isUp) driver.kill();
    else await driver.start();
  }

  async #crash(): Promise<void> {
    this.#note('kill the agent');
    await this.agent.crash();
    await this.#start();
  }

  async #reboot(): Promise<void> {
    this.#note('reboot');
    await this.agent.crash();
    await this.cluster.reboot();
    await this.#start();
  }

  #loseApi(): void {
    this.#note('lose the API');
    this.cluster.setReachable(false);
    this.#backMs = this.agent.member.node.clock.now() + Math.floor(this.#random() * minute);
  }

  /** A container writes into its volume. */
  async #write(): Promise<void> {
    for (const [volumeId, paths] of await this.cluster.driver.volumes.mounted()) {
      const path = paths.find(
        (one) => !isStagingPath(one) && this.cluster.on.machine.usersOf(one).length > 0,
      );
      if (path === undefined || !volumeId.startsWith('vol-')) continue;
      const file = `f${Math.floor(this.#random() * 20)}`;
      const text = String(this.#random());
      await this.cluster.outside.write(`${path}/${file}`, text);
      this.#written.set(`${volumeId} ${file}`, text);
    }
  }

  async #checkData(): Promise<void> {
    for (const [key, text] of this.#written) {
      const [volumeId = '', file = ''] = key.split(' ');
      expect(await this.cluster.driver.volumes.read(volumeId, file), key).toBe(text);
    }
  }

  #note(text: string): void {
    this.happened.push(`${this.#agent?.member.node.clock.monotonic()} ${text}`);
  }
}

describe('a node with a storage driver, at random', () => {
  it.each(Array.from({ length: seedCount }, (_, index) => index + 1))(
    'seed %d',
    { timeout: 1000 * steps * 10 },
    async (seed) => {
      const soak = new Soak(seed);
      await soak.begin();
      for (let at = 0; at < steps; at++) await soak.step();
      await soak.rest();
      const calls = soak.cluster.driver.log();
      expect(calls.filter((call) => call === 'nodePublishVolume').length).toBeGreaterThan(steps / 20);
    },
  );
});
