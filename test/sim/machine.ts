/** The machine that outlives kubelets: a simulated runtime that a test can look at without calling it. */
import { expect } from 'vitest';
import { VirtualClock } from '../../src/async/index.js';
import type { Pod } from '../../src/kube/index.js';
import { SimRuntime, type SimRuntimeOptions } from '../../src/runtimes/sim/index.js';

export interface SeenContainer {
  readonly id: string;
  readonly podUid: string;
  readonly podName: string;
  readonly name: string;
  readonly attempt: number;
  readonly sandboxId: string;
  readonly state: 'created' | 'starting' | 'running' | 'exited';
  readonly exitCode: number | undefined;
  readonly image: string;
}

export interface SeenSandbox {
  readonly id: string;
  readonly podUid: string;
  readonly podName: string;
  readonly attempt: number;
  readonly ready: boolean;
}

export class Machine extends SimRuntime {
  readonly time: VirtualClock;
  readonly violations = new Set<string>();

  constructor(options: Omit<SimRuntimeOptions, 'clock'> = {}) {
    const time = new VirtualClock();
    super({ ...options, clock: time });
    this.time = time;
  }

  seenContainers(podName?: string): SeenContainer[] {
    return [...this.store.containers.values()]
      .map(({ id, config, sandbox, state }) => ({
        id,
        podUid: sandbox.config.metadata?.uid ?? '',
        podName: sandbox.config.metadata?.name ?? '',
        name: config.metadata?.name ?? '',
        attempt: config.metadata?.attempt ?? 0,
        sandboxId: sandbox.id,
        state: state.kind,
        exitCode: state.kind === 'exited' ? state.exitCode : undefined,
        image: config.image?.userSpecifiedImage ?? '',
      }))
      .filter((container) => podName === undefined || container.podName === podName);
  }

  seenSandboxes(podName?: string): SeenSandbox[] {
    return [...this.store.sandboxes.values()]
      .map(({ id, config, ready }) => ({
        id,
        podUid: config.metadata?.uid ?? '',
        podName: config.metadata?.name ?? '',
        attempt: config.metadata?.attempt ?? 0,
        ready,
      }))
      .filter((sandbox) => podName === undefined || sandbox.podName === podName);
  }

  /** The running containers that were given a path of the machine. */
  usersOf(path: string): string[] {
    return [...this.store.containers.values()]
      .filter(
        ({ state, config }) =>
          state.kind === 'running' && config.mounts.some(({ hostPath }) => hostPath === path),
      )
      .map(({ sandbox, config }) => `${sandbox.config.metadata?.name}/${config.metadata?.name}`);
  }

  /** The running containers that were given a CDI device. */
  usersOfDevice(cdiName: string): string[] {
    return [...this.store.containers.values()]
      .filter(
        ({ state, config }) =>
          state.kind === 'running' && config.cdiDevices.some(({ name }) => name === cdiName),
      )
      .map(({ sandbox, config }) => `${sandbox.config.metadata?.name}/${config.metadata?.name}`);
  }

  /** Notes containers that run twice and pods with two sandboxes, neither of which may ever be. */
  checkNothingTwice(): void {
    const seen = new Set<string>();
    const note = (what: string): void => {
      if (seen.has(what)) this.violations.add(`${what} is there twice`);
      seen.add(what);
    };
    for (const { podUid } of this.ready()) note(`the sandbox of ${podUid}`);
    for (const { podUid, name } of this.running()) note(`container ${name} of ${podUid}`);
  }

  running(podName?: string): SeenContainer[] {
    return this.seenContainers(podName).filter(({ state }) => state === 'running');
  }

  ready(podName?: string): SeenSandbox[] {
    return this.seenSandboxes(podName).filter(({ ready }) => ready);
  }
}

/** Holds that the machine runs these pods and nothing else: one sandbox each, and each container once in it. */
export function expectRunning(machine: Machine, pods: readonly Pod[]): void {
  expect(whatRuns(machine)).toEqual(whatShouldRun(pods));
}

/** Whether `expectRunning` would hold. */
export function isRunning(machine: Machine, pods: readonly Pod[]): boolean {
  return whatRuns(machine).join('\n') === whatShouldRun(pods).join('\n');
}

function whatRuns(machine: Machine): string[] {
  const sandboxes = machine.ready();
  const ids = new Set(sandboxes.map(({ id }) => id));
  return [
    ...sandboxes.map(({ podUid }) => `sandbox of ${podUid}`),
    ...machine
      .running()
      .map(
        ({ podUid, name, image, sandboxId }) =>
          `${name} of ${podUid} with ${image}${ids.has(sandboxId) ? '' : ' in a dead sandbox'}`,
      ),
  ].sort();
}

function whatShouldRun(pods: readonly Pod[]): string[] {
  return pods
    .flatMap(({ metadata: { uid }, spec }) => {
      const sidecars = (spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
      return [
        `sandbox of ${uid}`,
        ...[...sidecars, ...spec.containers].map(({ name, image }) => `${name} of ${uid} with ${image}`),
      ];
    })
    .sort();
}

/** Holds that these containers run on as they did. */
export function expectUntouched(machine: Machine, before: readonly SeenContainer[]): void {
  const now = new Map(machine.running().map((container) => [container.id, container]));
  for (const container of before) expect(now.get(container.id)).toEqual(container);
}
