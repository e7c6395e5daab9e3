/** Every call to a storage driver of the tests: noted, and failed where a test asked for it, also across processes. */
import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CallOptions, type GrpcCodeName, GrpcError } from '../../../src/grpc/index.js';
import type { Node } from '../../../src/volumes/csi/gen/csi.js';
import type { Controller } from './gen/controller.js';

export type CsiMethod = keyof typeof Node | keyof typeof Controller;

export interface CsiFault {
  readonly method: CsiMethod;
  /** Only calls for this volume. Default: for every one. */
  readonly volumeId?: string;
  /** How many calls it hits. Default: all from now on. */
  readonly times?: number;
  /** How long the driver waits before anything else. With neither `code` nor `dies`, it then does the work as usual. */
  readonly delayMs?: number;
  /** What the call fails with; without a code and a delay it hangs until the caller gives up. */
  readonly code?: GrpcCodeName;
  /** Whether the work is done all the same. */
  readonly doesWork?: boolean;
  /** The driver's process kills itself, after the work if that is done. Only for a driver with a process of its own. */
  readonly dies?: boolean;
}

export interface CsiCall {
  readonly method: CsiMethod;
  readonly request: object;
  /** The outcome: `OK`, or the code. Undefined while it is under way, and for ever if the driver died meanwhile. */
  code: string | undefined;
}

/** Where the calls of a driver with a process of its own are noted, and its faults are read from. */
export interface CsiJournal {
  readonly callsFile: string;
  readonly faultsFile: string;
}

export function journalIn(dir: string): CsiJournal {
  return { callsFile: path.join(dir, 'calls.jsonl'), faultsFile: path.join(dir, 'faults.json') };
}

export type JournalLine =
  | {
      readonly kind: 'call';
      readonly id: string;
      readonly method: CsiMethod;
      readonly request: object;
      readonly fault?: string;
    }
  | { readonly kind: 'end'; readonly id: string; readonly code: string }
  | { readonly kind: 'told'; readonly pluginRegistered: boolean; readonly error: string };

export type NamedFault = CsiFault & { readonly id: string };

/** A line that its writer did not finish is none. */
export function readJournal({ callsFile }: CsiJournal): JournalLine[] {
  if (!existsSync(callsFile)) return [];
  const lines = readFileSync(callsFile, 'utf8').split('\n').slice(0, -1);
  return lines.filter((line) => line.startsWith('{') && line.endsWith('}')).map((line) => JSON.parse(line));
}

export function writeFaults({ faultsFile }: CsiJournal, faults: readonly NamedFault[]): void {
  writeFileSync(`${faultsFile}.new`, JSON.stringify(faults));
  renameSync(`${faultsFile}.new`, faultsFile);
}

type Work = (request: object) => Promise<object>;

/** The calls to one driver. */
export class CsiCalls {
  readonly calls: CsiCall[] = [];
  readonly #journal: CsiJournal | undefined;
  readonly #hits = new Map<string, number>();
  #faults: NamedFault[] = [];
  #lastId = 0;

  constructor(journal?: CsiJournal) {
    this.#journal = journal;
    // Faults that an earlier life of the process ran into stay used up.
    for (const line of journal === undefined ? [] : readJournal(journal)) {
      if (line.kind === 'call' && line.fault !== undefined) this.#hit(line.fault);
    }
  }

  fail(fault: CsiFault): void {
    this.#faults.push({ ...fault, id: `fault-${++this.#lastId}` });
  }

  mend(): void {
    this.#faults.length = 0;
  }

  told(pluginRegistered: boolean, error: string): void {
    this.#note({ kind: 'told', pluginRegistered, error });
  }

  /** A service whose methods are noted and may fail. */
  observed(service: object): object {
    return Object.fromEntries(
      Object.entries(service).map(([method, work]) => [
        method,
        (request: object, { signal }: CallOptions = {}) =>
          // A service has one function for each method of its table, and the server calls it with the method's request.
          this.#answer(method as CsiMethod, request, signal, work as Work),
      ]),
    );
  }

  async #answer(
    method: CsiMethod,
    request: object,
    signal: AbortSignal | undefined,
    work: Work,
  ): Promise<object> {
    const call: CsiCall = { method, request, code: undefined };
    this.calls.push(call);
    const fault = this.#faultFor(method, request);
    const id = `${process.pid}-${this.calls.length}`;
    this.#note({ kind: 'call', id, method, request, ...(fault === undefined ? {} : { fault: fault.id }) });
    try {
      const response = await (fault === undefined ? work(request) : failing(fault, request, signal, work));
      call.code = 'OK';
      return response;
    } catch (error) {
      call.code = error instanceof GrpcError ? error.codeName : 'Internal';
      if (error instanceof GrpcError) throw error;
      throw new GrpcError('Internal', String(error), { cause: error });
    } finally {
      this.#note({ kind: 'end', id, code: call.code ?? 'Internal' });
    }
  }

  #faultFor(method: CsiMethod, request: object): NamedFault | undefined {
    const { faultsFile } = this.#journal ?? {};
    if (faultsFile !== undefined && existsSync(faultsFile)) {
      this.#faults = JSON.parse(readFileSync(faultsFile, 'utf8'));
    }
    const volumeId = 'volumeId' in request ? request.volumeId : undefined;
    const fault = this.#faults.find(
      (candidate) =>
        candidate.method === method &&
        (candidate.volumeId === undefined || candidate.volumeId === volumeId) &&
        (this.#hits.get(candidate.id) ?? 0) < (candidate.times ?? Number.POSITIVE_INFINITY),
    );
    if (fault !== undefined) this.#hit(fault.id);
    return fault;
  }

  #hit(id: string): void {
    this.#hits.set(id, (this.#hits.get(id) ?? 0) + 1);
  }

  #note(line: JournalLine): void {
    if (this.#journal !== undefined) appendFileSync(this.#journal.callsFile, `${JSON.stringify(line)}\n`);
  }
}

async function failing(
  { delayMs, code, doesWork, dies }: CsiFault,
  request: object,
  signal: AbortSignal | undefined,
  work: Work,
): Promise<object> {
  if (delayMs !== undefined) await sleep(delayMs);
  if (doesWork) await work(request);
  if (dies) process.kill(process.pid, 'SIGKILL');
  if (code !== undefined) throw new GrpcError(code, 'injected');
  if (delayMs !== undefined) return work(request);
  if (signal?.aborted === false) {
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  }
  throw new GrpcError('Canceled', 'the caller gave up');
}
