/** Starts a private containerd for tests, demos and benchmarks, and leaves nothing of it on the machine. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { containerdConfig } from '../../src/runtimes/containerd/containerd-config.js';
import { type OciImage, splitReference } from '../../src/runtimes/containerd/oci.js';
import { formatToml, mergeToml, type TomlTable } from '../../src/runtimes/containerd/toml.js';
import {
  type CommandOptions,
  type CommandResult,
  lastLines,
  runCommand,
  systemEnvironment,
} from './command.js';
import { type ContainerdRelease, chosenRelease, containerdEnvironment } from './containerd-programs.js';
import { dropOwnDirIfEmpty } from './directories.js';
import { callGrpc, GrpcCallError } from './grpc-call.js';
import { archiveImages, buildTestImages, testImages } from './images.js';
import { type ContainerdLayout, createLayout } from './layout.js';
import { cniBinDir, removeCniConfiguration, reserveSubnet, writeCniConfiguration } from './network.js';
import { ensurePackages } from './packages.js';
import { pollUntil } from './poll.js';
import { signalProcess } from './processes.js';
import { packagesFor } from './programs.js';
import { protobuf, protobufField } from './protobuf.js';
import { endWorkload, removeContainerd, sweepLeftovers } from './teardown.js';
import type { CleanupStack } from './tempdir.js';

export interface ContainerdOptions {
  /** Default: what `NODELET_TEST_CONTAINERD` says, else the machine's packaged one. */
  readonly release?: ContainerdRelease;
  /** Give pods a network. Default: yes; without, the runtime reports its network as not ready. */
  readonly cni?: boolean;
  /** Images to have at the start. Default: all of `testImages`. The sandbox image is always there. */
  readonly images?: readonly OciImage[];
  /** Laid over the configuration file, as in `{ debug: { level: 'debug' } }`. */
  readonly config?: TomlTable;
  /** Added to the environment of containerd. */
  readonly env?: Readonly<Record<string, string>>;
  /** Stops the containerd when it is run. */
  readonly cleanups?: CleanupStack;
}

export interface RunContainerOptions {
  readonly id: string;
  readonly image: string;
  readonly args?: readonly string[];
  /** More flags of `ctr run`, as in `['--net-host']`. */
  readonly flags?: readonly string[];
}

const startTimeoutMs = 30_000;
const stopTimeoutMs = 15_000;
const criNamespace = 'k8s.io';
/** The gRPC status of a service that is not there and will not come. */
const unimplemented = 12;

/** Returns when the runtime answers CRI calls and knows its images. */
export async function startContainerd(options: ContainerdOptions = {}): Promise<TestContainerd> {
  await ensurePackages(packagesFor('base', 'unit', 'containerd'));
  const release = options.release ?? chosenRelease();
  const environment = { ...(await containerdEnvironment(release)), ...options.env };
  await sweepLeftovers();
  const built = await buildTestImages();
  const layout = createLayout();
  const subnet = await reserveSubnet(layout);
  const containerd = new TestContainerd(layout, subnet, release, environment);
  options.cleanups?.defer(`containerd ${layout.id}`, () => containerd.stop());
  try {
    const config = containerdConfig(layout, {
      sandboxImage: testImages.pause,
      cniBinDir,
      // Where the tests run, no process may become less likely to be killed than the one that started it.
      restrictOomScore: true,
    });
    const settings = mergeToml(config, release === 'newer' ? newerSettings(layout) : {});
    writeFileSync(layout.config, formatToml(mergeToml(settings, options.config ?? {})));
    containerd.setNetworkReady(options.cni ?? true);
    await containerd.start();
    const images = options.images ?? Object.values(built);
    await containerd.importImages([built.pause, ...images.filter(({ name }) => name !== testImages.pause)]);
    return containerd;
  } catch (error) {
    await containerd.stop();
    throw error;
  }
}

/** Devices are described in a directory of the test's, never in those of the machine. */
function newerSettings(layout: ContainerdLayout): TomlTable {
  return {
    plugins: { 'io.containerd.grpc.v1.cri': { enable_cdi: true, cdi_spec_dirs: [layout.cdiSpecDir] } },
  };
}

export class TestContainerd {
  /** As `--container-runtime-endpoint` takes it. */
  readonly endpoint: string;
  /** containerd's namespace for everything made through CRI; `ctr` looks there too. */
  readonly namespace = criNamespace;
  #process: ChildProcess | undefined;

  constructor(
    readonly layout: ContainerdLayout,
    /** Where pods get their addresses from. */
    readonly subnet: string,
    readonly release: ContainerdRelease,
    /** Where the programs of the release are found. */
    readonly environment: Readonly<Record<string, string>>,
  ) {
    this.endpoint = `unix://${layout.socket}`;
  }

  /** The cgroup to give to a kubelet as its root: removed with all below it by `stop`. */
  get cgroupParent(): string {
    return this.layout.cgroupParent;
  }

  /** The directory that a reboot keeps. */
  get root(): string {
    return this.layout.root;
  }

  /** `undefined` while it is down. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Starts it if it is down, and returns when CRI calls are answered. */
  async start(): Promise<void> {
    if (this.#process !== undefined) {
      return;
    }
    mkdirSync(this.layout.root, { recursive: true, mode: 0o711 });
    const log = openSync(this.layout.log, 'a');
    // It must not outlive this process, whatever ends it, and not get the terminal's signals before us.
    const child = spawn('setpriv', ['--pdeathsig', 'KILL', 'containerd', '--config', this.layout.config], {
      stdio: ['ignore', log, log],
      env: systemEnvironment(this.environment),
      detached: true,
    });
    closeSync(log);
    child.unref();
    this.#process = child;
    child.once('exit', () => {
      if (this.#process === child) {
        this.#process = undefined;
      }
    });
    await pollUntil(`containerd ${this.layout.id} serves`, () => this.#serves(child), {
      timeoutMs: startTimeoutMs,
      detail: () => this.#complaints(),
    });
  }

  async #serves(child: ChildProcess): Promise<true | undefined> {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`containerd ended at its start:\n${this.#complaints()}`);
    }
    try {
      // Unlike `Version`, this is answered only when all that was there before has been loaded.
      await this.callCri('RuntimeService/Status', Buffer.alloc(0));
      return true;
    } catch (error) {
      if (error instanceof GrpcCallError && error.code !== unimplemented) {
        return undefined;
      }
      throw new Error(`containerd does not serve CRI:\n${this.#complaints()}`, { cause: error });
    }
  }

  /** One CRI call with the bytes of its request, as in `callCri('RuntimeService/Version', protobuf([1, 'v1']))`. */
  callCri(method: string, request: Buffer): Promise<Buffer> {
    return callGrpc(this.layout.socket, `runtime.v1.${method}`, request);
  }

  /** containerd's own client, in the CRI namespace. */
  ctr(args: readonly string[], options?: CommandOptions): Promise<CommandResult> {
    return runCommand('ctr', ['--address', this.layout.socket, '--namespace', this.namespace, ...args], {
      ...options,
      env: { ...this.environment, ...options?.env },
    });
  }

  /** Runs a container that is in no pod, in the background. */
  async runContainer({ id, image, args = [], flags = [] }: RunContainerOptions): Promise<void> {
    const own = ['--cgroup', `${this.cgroupParent}/${id}`, '--runc-root', this.layout.runcRoot];
    await this.ctr(['run', '--detach', '--null-io', ...own, ...flags, image, id, ...args]);
  }

  /** Returns when CRI knows the images by name. */
  async importImages(images: readonly OciImage[]): Promise<void> {
    await this.ctr(['images', 'import', await archiveImages(images)]);
    for (const { name } of images) {
      const request = protobuf([1, protobuf([1, name])]);
      // CRI learns of an import from an event.
      await pollUntil(
        `CRI knows ${name}`,
        async () => protobufField(await this.callCri('ImageService/ImageStatus', request), 1),
        { timeoutMs: startTimeoutMs, intervalMs: 5 },
      );
    }
  }

  /** Pull images of `host` from `url`: for plain http, or to let a name stand for another registry. */
  useRegistry(host: string, url: string): void {
    splitReference(`${host}/any:1`);
    const dir = join(this.layout.registryHostsDir, host);
    mkdirSync(dir, { recursive: true });
    const config = { server: url, host: { [url]: { capabilities: ['pull', 'resolve'] } } };
    writeFileSync(join(dir, 'hosts.toml'), formatToml(config));
  }

  /** Installs or removes the pod network's configuration; the runtime notices by itself. */
  setNetworkReady(ready: boolean): void {
    if (ready) {
      writeCniConfiguration(this.layout, this.subnet);
    } else {
      removeCniConfiguration(this.layout);
    }
  }

  /** Everything containerd has written since the first start. */
  logs(): string {
    return readFileSync(this.layout.log, 'utf8');
  }

  /** The lines of the log that say what is wrong, for the message of an error. */
  #complaints(): string {
    const lines = this.logs().split('\n');
    return lastLines(lines.filter((line) => !/level=(debug|info)/.test(line)).join('\n'), 15);
  }

  /** Sends a signal to containerd alone; waits for its end if the signal is one that ends it. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.#process;
    if (child?.pid === undefined) {
      return;
    }
    child.ref();
    const ends = ['SIGKILL', 'SIGTERM', 'SIGINT', 'SIGQUIT'].includes(signal);
    const exited = ends ? once(child, 'exit', { signal: AbortSignal.timeout(stopTimeoutMs) }) : undefined;
    signalProcess(child.pid, signal);
    await exited;
  }

  /** Stops containerd in an orderly way and starts it again; containers run on meanwhile. */
  async restart(): Promise<void> {
    await this.kill('SIGTERM');
    await this.start();
  }

  /** What a reboot does: all containers end, the state directory is lost, then containerd starts again. */
  async wipeState(): Promise<void> {
    await this.kill();
    await endWorkload(this.layout);
    await this.start();
  }

  /** Removes every process, mount, network and file of this containerd; may be called again. */
  async stop(): Promise<void> {
    await this.kill();
    await removeContainerd(this.layout);
    dropOwnDirIfEmpty();
  }
}
