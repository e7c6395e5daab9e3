/** A storage driver in a process of its own, so that it can be killed at any moment and started again. */
import { mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { GrpcConnection, type Init, type MethodInfo } from '../../../src/grpc/index.js';
import { callNames, csiEndpoint, defaultDriverName, type TestCsiDriverOptions } from '../csi-driver.js';
import { unmountBelow } from '../mounts.js';
import { ServerProcess } from '../server-process.js';
import type { CleanupStack } from '../tempdir.js';
import {
  type CsiCall,
  type CsiFault,
  type CsiMethod,
  type JournalLine,
  journalIn,
  type NamedFault,
  readJournal,
  writeFaults,
} from './calls.js';
import { detachLoopDevices, type LoopDevice, loopDevicesBelow } from './loop-devices.js';

export interface CsiDriverProcessOptions extends Omit<TestCsiDriverOptions, 'journal' | 'storage'> {
  /** Takes the driver away when it is run. */
  readonly cleanups: CleanupStack;
}

const startTimeoutMs = 60_000;
const callTimeoutMs = 30_000;

/** Volumes are on loop devices, and outlive the process. */
export class CsiDriverProcess {
  readonly name: string;
  readonly endpoint: string;
  readonly dataDir: string;
  readonly #journal;
  readonly #server: ServerProcess;
  readonly #faults: NamedFault[] = [];
  #faultCount = 0;
  #forgotten = 0;

  constructor({ cleanups, ...options }: CsiDriverProcessOptions) {
    const { rootDir, dataDir, name = defaultDriverName } = options;
    this.name = name;
    this.dataDir = dataDir;
    this.endpoint = csiEndpoint(rootDir, name);
    const journalDir = path.join(dataDir, '.journal');
    mkdirSync(journalDir, { recursive: true });
    this.#journal = journalIn(journalDir);
    const given: TestCsiDriverOptions = { ...options, storage: 'loop', journal: this.#journal };
    this.#server = new ServerProcess({
      name: `the storage driver ${name}`,
      program: process.execPath,
      args: ['--import', import.meta.resolve('tsx'), mainPath, JSON.stringify(given)],
      logPath: path.join(journalDir, 'driver.log'),
      isReady: () => accepts(this.endpoint),
      startTimeoutMs,
    });
    cleanups.defer(`the storage driver ${name}`, () => this.remove());
  }

  get isRunning(): boolean {
    return this.#server.isRunning;
  }

  /** What it printed in all its lives. */
  get output(): string {
    return this.#server.logs();
  }

  start(): Promise<void> {
    return this.#server.start();
  }

  /** Both sockets go, as when the driver's pod ends. */
  stop(): Promise<void> {
    return this.#server.stop();
  }

  /** Both sockets stay and nobody answers there. */
  kill9(): Promise<void> {
    return this.#server.kill();
  }

  fail(fault: CsiFault): void {
    this.#faults.push({ ...fault, id: `fault-${++this.#faultCount}` });
    writeFaults(this.#journal, this.#faults);
  }

  mend(): void {
    this.#faults.length = 0;
    writeFaults(this.#journal, this.#faults);
  }

  /** Since the last `forget`, over all lives of the process. */
  get calls(): CsiCall[] {
    return callsOf(readJournal(this.#journal)).slice(this.#forgotten);
  }

  forget(): void {
    this.#forgotten += this.calls.length;
  }

  /** The calls of these methods in order; without names all but questions for capabilities. */
  log(...methods: readonly CsiMethod[]): string[] {
    return callNames(this.calls, methods);
  }

  /** What the kubelet said about its registrations. */
  get told(): { readonly pluginRegistered: boolean; readonly error: string }[] {
    return readJournal(this.#journal).filter((line) => line.kind === 'told');
  }

  /** Calls the Controller service, as the controllers of a cluster do. */
  async controller<Request extends object, Response extends object>(
    method: MethodInfo<Request, Response>,
    request: Init<Request>,
  ): Promise<Response> {
    const connection = new GrpcConnection(this.endpoint);
    try {
      return await connection.unary(method, request, { timeoutMs: callTimeoutMs });
    } finally {
      connection.close();
    }
  }

  /** The devices of its volumes. */
  loopDevices(): LoopDevice[] {
    return loopDevicesBelow(this.dataDir);
  }

  /** Ends it for good and takes its devices off. */
  async remove(): Promise<void> {
    await this.kill9();
    await unmountBelow(this.dataDir);
    for (const { backingFile } of this.loopDevices()) await detachLoopDevices(backingFile);
  }
}

const mainPath = fileURLToPath(new URL('main.ts', import.meta.url));

function callsOf(lines: readonly JournalLine[]): CsiCall[] {
  const calls = new Map<string, CsiCall>();
  for (const line of lines) {
    if (line.kind === 'call') {
      calls.set(line.id, { method: line.method, request: line.request, code: undefined });
    }
    const ended = line.kind === 'end' ? calls.get(line.id) : undefined;
    if (ended !== undefined && line.kind === 'end') ended.code = line.code;
  }
  return [...calls.values()];
}

function accepts(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
