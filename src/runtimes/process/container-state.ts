/** The state of a container as it is kept in its `state.json`, by whoever comes to know it first. */
import type { ContainerExit } from '../pod-store.js';
import type { Cover } from './covers.js';

/** A process that cannot be mistaken for a later one that got the same number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** As the operating system tells it; empty when it could not be told, which matches no process. */
  readonly startTime: string;
}

/**
 *     created ─► starting ─► running ─► exited
 *        ▲          │                     ▲
 *        └──────────┴─────────────────────┘  a start that nobody claimed is taken back, one that fails ends
 *
 * The agent writes `created` and `starting`, the supervisor `running` and `exited`. For a supervisor
 * that is gone, and only then, the agent writes `exited`.
 */
export type RecordedState =
  | { readonly kind: 'created' }
  | {
      readonly kind: 'starting';
      /** Names the claim file; whoever makes that file first decides whether the container starts. */
      readonly token: string;
      readonly bootId: string;
    }
  | {
      readonly kind: 'running';
      readonly bootId: string;
      readonly supervisor: ProcessIdentity;
      /** The container's first process; its number is also that of its process group and session. */
      readonly process: ProcessIdentity;
      readonly startedAt: bigint;
    }
  | RecordedExit;

export type RecordedExit = {
  readonly kind: 'exited';
  /** Log records that could not be written, for example because the disk was full. */
  readonly lostLogRecords?: number;
} & ContainerExit;

/** What the supervisor needs to know to run a container. */
export interface LaunchSpec {
  readonly containerId: string;
  /** The command as the pod names it, and its arguments. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string;
  /** Absent: the user that the agent runs as. */
  readonly user?: {
    readonly uid: number;
    readonly gid: number;
    /** All others that it is in. */
    readonly groups?: readonly number[];
  };
  /** Whether programs with more rights than their user (setuid) are to give none. */
  readonly noNewPrivileges?: boolean;
  /** Directories that are closed to that user, with what it gets to see of them. */
  readonly covers?: readonly Cover[];
  /** Empty: output is dropped. */
  readonly logPath: string;
  /** Whether the container reads input, and whether that ends with the first client that ends its own. */
  readonly stdin?: 'kept' | 'once';
  /** Whether it runs on a terminal. */
  readonly tty?: boolean;
}

/** The variable by which every process of a container is known, wherever it went. */
export const containerIdVariable = 'NODELET_CONTAINER_ID';

/** What is told of a container whose end nobody saw. */
export const unknownExit = { exitCode: 255, reason: 'Unknown' } as const;

/** The end of a container whose first process never ran. */
export function failedStart(message: string, finishedAt: bigint): RecordedExit {
  return { kind: 'exited', startedAt: 0n, finishedAt, exitCode: 128, reason: 'StartError', message };
}

export function exitReason(exitCode: number): string {
  return exitCode === 0 ? 'Completed' : 'Error';
}

export function formatState(state: RecordedState): string {
  return `${JSON.stringify(state, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))}\n`;
}

/** Throws when the text is not a state. */
export function parseState(text: string): RecordedState {
  const value: unknown = JSON.parse(text);
  const fields = record(value);
  switch (fields.kind) {
    case 'created':
      return { kind: 'created' };
    case 'starting':
      return { kind: 'starting', token: string(fields.token), bootId: string(fields.bootId) };
    case 'running':
      return {
        kind: 'running',
        bootId: string(fields.bootId),
        supervisor: identity(fields.supervisor),
        process: identity(fields.process),
        startedAt: BigInt(string(fields.startedAt)),
      };
    case 'exited':
      return {
        kind: 'exited',
        startedAt: BigInt(string(fields.startedAt)),
        finishedAt: BigInt(string(fields.finishedAt)),
        exitCode: number(fields.exitCode),
        reason: string(fields.reason),
        message: string(fields.message),
        ...(fields.lostLogRecords === undefined ? {} : { lostLogRecords: number(fields.lostLogRecords) }),
      };
    default:
      throw new TypeError(`${JSON.stringify(fields.kind)} is no state of a container`);
  }
}

/** Who was first to decide about a start. */
export type StartClaim =
  | { readonly by: 'supervisor'; readonly supervisor: ProcessIdentity }
  /** The agent: nobody will start the container by this token. */
  | { readonly by: 'agent' };

export function parseClaim(text: string): StartClaim {
  const fields = record(JSON.parse(text));
  if (fields.by === 'agent') return { by: 'agent' };
  return { by: 'supervisor', supervisor: identity(fields.supervisor) };
}

/** An agent that is alone in its own container may be process 1. */
export function parseAgentIdentity(text: string): ProcessIdentity {
  return identity(JSON.parse(text), 1);
}

function identity(value: unknown, lowestPid = 2): ProcessIdentity {
  const { pid, startTime } = record(value);
  const checked = number(pid);
  // To kill(2), -1 means every process there is, and 0 its own group.
  if (!Number.isInteger(checked) || checked < lowestPid) throw new TypeError(`${checked} is no such process`);
  return { pid: checked, startTime: string(startTime) };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new TypeError('an object is wanted');
  // Any object can be read as a record of unknown values.
  return value as Readonly<Record<string, unknown>>;
}

function string(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`a string is wanted, not ${typeof value}`);
  return value;
}

function number(value: unknown): number {
  if (typeof value !== 'number') throw new TypeError(`a number is wanted, not ${typeof value}`);
  return value;
}
