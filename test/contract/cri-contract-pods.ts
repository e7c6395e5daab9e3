/** The pods that the CRI contract runs: how their sandboxes and containers are described, and their removal. */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ContainerState,
  type ContainerStatus,
  CriError,
  type CriRuntime,
  criLabels,
  type Init,
  NamespaceMode,
  type PodSandboxConfig,
} from '../../src/cri/index.js';

/** A runtime that the contract is held against. */
export interface CriContractSubject {
  readonly runtime: CriRuntime;
  /** On the node already, named with its tag; has `sh`, `sleep`, `true` and `false`. */
  readonly image: string;
  /** Neither on the node nor to be had. */
  readonly missingImage: string;
  /** The runtime's words for an image that it cannot find. Default: `failed to resolve reference`. */
  readonly notResolved?: string;
  /** A real directory for container logs. */
  readonly logRoot: string;
  /** Whether sandboxes get an address of their own. */
  readonly podNetwork: boolean;
  /** Whether GetContainerEvents is there. */
  readonly containerEvents: boolean;
  /** The cgroup for all pods. */
  readonly cgroupParent?: string;
  /** Whether a container that wants more memory than its limit is killed for it. */
  readonly memoryLimits?: boolean;
  /** Ends the process that holds a sandbox, behind the runtime's back; absent where there is none. */
  readonly killSandboxProcess?: (podSandboxId: string) => Promise<void>;
  /** Ends the first process of a container, behind the runtime's back. */
  readonly killContainerProcess?: (containerId: string) => Promise<void>;
  /** A container that gives back on the port whatever is sent to it, and closes when the client has. */
  readonly echoServer: (port: number) => ContractContainerOptions;
  /** Whether terminals have a size. */
  readonly terminals?: boolean;
  /** Restarts the machine under the runtime, where that can be played. */
  readonly reboot: () => Promise<void>;
  close(): Promise<void>;
}

/** What the parts of the suite share. */
export interface Contract {
  readonly subject: () => CriContractSubject;
  readonly cri: () => CriRuntime;
  /** The pods of the test that calls it, removed at its end. */
  readonly fresh: () => ContractPods;
}

export const waitsForTerm = (exitCode: number): string[] => [
  'sh',
  '-c',
  `trap 'exit ${exitCode}' TERM; sleep 1000 & wait`,
];
export const runsForever = waitsForTerm(0);
/** A signal that is ignored stays so in the programs that are run from there. */
export const ignoresTerm = ['sh', '-c', "trap '' TERM; sleep 1000"];

/** The error that the call ends with. */
export async function fails(call: Promise<unknown>): Promise<unknown> {
  try {
    await call;
  } catch (error) {
    return error;
  }
  throw new Error('the call should have failed');
}

export interface ContractPodOptions {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly hostNetwork?: boolean;
}

export interface ContractContainerOptions {
  readonly command: readonly string[];
  readonly name?: string;
  readonly attempt?: number;
  readonly image?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly memoryLimitBytes?: number;
  readonly stdin?: boolean;
  readonly stdinOnce?: boolean;
  readonly tty?: boolean;
}

const exitTimeoutMs = 20_000;

/** The pods of one test. */
export class ContractPods {
  readonly #subject: CriContractSubject;
  readonly #run = randomUUID();
  readonly #pods: ContractPod[] = [];

  constructor(subject: CriContractSubject) {
    this.#subject = subject;
  }

  /** The labels that everything of this test has. */
  get runSelector(): Record<string, string> {
    return { 'contract-run': this.#run };
  }

  pod(options: ContractPodOptions): ContractPod {
    const pod = new ContractPod(this.#subject, options, this.runSelector);
    this.#pods.push(pod);
    return pod;
  }

  async removeAll(): Promise<void> {
    for (const pod of this.#pods.splice(0)) await pod.remove();
  }
}

export class ContractPod {
  readonly uid = randomUUID();
  readonly name = `pod-${this.uid.slice(0, 8)}`;
  readonly logDirectory: string;
  readonly #subject: CriContractSubject;
  readonly #options: ContractPodOptions;
  readonly #labels: Readonly<Record<string, string>>;
  readonly #sandboxes: { readonly id: string; readonly config: Init<PodSandboxConfig> }[] = [];

  constructor(
    subject: CriContractSubject,
    options: ContractPodOptions,
    runLabels: Readonly<Record<string, string>>,
  ) {
    this.#subject = subject;
    this.#options = options;
    this.logDirectory = join(subject.logRoot, `contract_${this.name}_${this.uid}`);
    this.#labels = { ...runLabels, ...this.uidSelector };
  }

  get uidSelector(): Record<string, string> {
    return { [criLabels.podUid]: this.uid };
  }

  async run({ attempt = 0 } = {}): Promise<string> {
    mkdirSync(this.logDirectory, { recursive: true });
    const hostNetwork = this.#options.hostNetwork ?? !this.#subject.podNetwork;
    const config: Init<PodSandboxConfig> = {
      metadata: { name: this.name, namespace: 'contract', uid: this.uid, attempt },
      hostname: hostNetwork ? '' : this.name,
      logDirectory: this.logDirectory,
      labels: {
        ...this.#options.labels,
        ...this.#labels,
        [criLabels.podName]: this.name,
        [criLabels.podNamespace]: 'contract',
      },
      annotations: this.#options.annotations,
      linux: {
        cgroupParent: this.#subject.cgroupParent,
        securityContext: {
          namespaceOptions: {
            network: hostNetwork ? NamespaceMode.NODE : NamespaceMode.POD,
            pid: NamespaceMode.CONTAINER,
          },
        },
      },
    };
    const { podSandboxId } = await this.#subject.runtime.runPodSandbox({ config });
    this.#sandboxes.unshift({ id: podSandboxId, config });
    return podSandboxId;
  }

  /** In the newest sandbox. */
  async create(options: ContractContainerOptions): Promise<string> {
    const sandbox = this.#sandboxes[0]!;
    const { command, name = 'main', attempt = 0, image = this.#subject.image, annotations } = options;
    mkdirSync(join(this.logDirectory, name), { recursive: true });
    const { containerId } = await this.#subject.runtime.createContainer({
      podSandboxId: sandbox.id,
      sandboxConfig: sandbox.config,
      config: {
        metadata: { name, attempt },
        image: { image },
        command,
        labels: {
          ...this.#labels,
          [criLabels.podName]: this.name,
          [criLabels.podNamespace]: 'contract',
          [criLabels.containerName]: name,
        },
        annotations,
        logPath: join(name, `${attempt}.log`),
        stdin: options.stdin,
        stdinOnce: options.stdinOnce,
        tty: options.tty,
        linux: {
          resources: { memoryLimitInBytes: options.memoryLimitBytes },
          securityContext: { namespaceOptions: sandbox.config.linux?.securityContext?.namespaceOptions },
        },
      },
    });
    return containerId;
  }

  async start(options: ContractContainerOptions): Promise<string> {
    const containerId = await this.create(options);
    await this.#subject.runtime.startContainer({ containerId });
    return containerId;
  }

  async status(containerId: string): Promise<ContainerStatus> {
    return (await this.#subject.runtime.containerStatus({ containerId })).status!;
  }

  /** Its status once it has exited. */
  async exited(containerId: string): Promise<ContainerStatus> {
    const status = await until(`${containerId} has exited`, async () => {
      const current = await this.status(containerId);
      return current.state === ContainerState.CONTAINER_EXITED ? current : undefined;
    });
    return status;
  }

  /** The lines of a log, once there are so many. */
  logLines(path: string, count: number): Promise<string[]> {
    return until(`${path} has ${count} lines`, async () => {
      const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
      return lines.length >= count ? lines : undefined;
    });
  }

  /** Gives a process that was just started the time to set its signal handlers. */
  async settled(): Promise<void> {
    await sleep(300);
  }

  async remove(): Promise<void> {
    for (const { id } of this.#sandboxes.splice(0)) {
      // Removing a sandbox stops it, and is no error when it is gone.
      await until(`sandbox ${id} is removed`, () => this.#tryRemove(id));
    }
  }

  /** Undefined if the shim of a container was about to end by itself: the agent, too, tries again then. */
  async #tryRemove(podSandboxId: string): Promise<true | undefined> {
    try {
      await this.#subject.runtime.removePodSandbox({ podSandboxId });
      return true;
    } catch (error) {
      if (error instanceof CriError && error.details.includes('ttrpc: closed')) return undefined;
      throw error;
    }
  }
}

async function until<T>(what: string, probe: () => Promise<T | undefined>): Promise<T> {
  const deadlineMs = performance.now() + exitTimeoutMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined) return value;
    if (performance.now() > deadlineMs) throw new Error(`${what}: not within ${exitTimeoutMs} ms`);
    await sleep(20);
  }
}
