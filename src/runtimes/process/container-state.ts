/** The state of a container in its `state.json`, written by whoever learns it first. */
import type { ContainerExit } from '../pod-store.js';
import type { Cover } from './covers.js';

/** A process, distinguishable from a later one with the same pid. */
export interface ProcessIdentity {
  readonly pid: number;
  /** As the operating system reports it; empty if unknown, which matches no process. */
  readonly startTime: string;
}

/**
 *     created ─► starting ─► running ─► exited
 *        ▲          │                     ▲
 *        └──────────┴─────────────────────┘  an unclaimed start is taken back, a failed one ends
 *
 * The agent writes `created` and `starting`, the supervisor `running` and `exited`. Only when
 * the supervisor is gone does the agent write `exited`.
 */
export type RecordedState =
  | { readonly kind: 'created' }
  | {
      readonly kind: 'starting';
      /** Names the claim file; whoever creates that file first decides whether the container starts. */
      readonly token: string;
      readonly bootId: string;
    }
  | {
      readonly kind: 'running';
      readonly bootId: string;
      readonly supervisor: ProcessIdentity;
      /** The container's first process; its pid is also its process group and session id. */
      readonly process: ProcessIdentity;
      readonly startedAt: bigint;
    }
  | RecordedExit;

export type RecordedExit = {
  readonly kind: 'exited';
  /** Log records that could not be written, such as on a full disk. */
  readonly lostLogRecords?: number;
} & ContainerExit;

/** What the supervisor needs to run a container. */
export interface LaunchSpec {
  readonly containerId: string;
  /** The command as in the pod, and its arguments. */
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly workingDir: string;
  /** Absent: the agent's user. */
  readonly user?: {
    readonly uid: number;
    readonly gid: number;
    /** Supplemental groups. */
    readonly groups?: readonly number[];
  };
  /** Whether setuid programs must not gain privileges. */
  readonly noNewPrivileges?: boolean;
  /** Directories closed to that user, with what it gets to see of them. */
  readonly covers?: readonly Cover[];
  /** Empty: output is dropped. */
  readonly logPath: string;
  /** Whether the container reads input, and whether that ends with the first client that ends its own. */
  readonly stdin?: 'kept' | 'once';
  /** Whether it runs on a terminal. */
  readonly tty?: boolean;
}

/** The variable that identifies every process of a container, wherever it went. */
export const containerIdVariable = 'NODELET_CONTAINER_ID';

/** Reported for a container whose exit nobody saw. */
export const unknownExit = { exitCode: 255, reason: 'Unknown' } as const;

/** The exit of a container whose first process never ran. */
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
      throw new TypeError(`${JSON.stringify(fields.kind)} is not a container state`);
  }
}

/** Who decided first about a start. */
export type StartClaim =
  | { readonly by: 'supervisor'; readonly supervisor: ProcessIdentity }
  /** The agent: no supervisor will start the container with this token. */
  | { readonly by: 'agent' };

export function parseClaim(text: string): StartClaim {
  const fields = record(JSON.parse(text));
  if (fields.by === 'agent') return { by: 'agent' };
  return { by: 'supervisor', supervisor: identity(fields.supervisor) };
}

/** An agent alone in its own container may be pid 1. */
export function parseAgentIdentity(text: string): ProcessIdentity {
  return identity(JSON.parse(text), 1);
}

function identity(value: unknown, lowestPid = 2): ProcessIdentity {
  const { pid, startTime } = record(value);
  const checked = number(pid);
  // To kill(2), -1 means all processes, and 0 its own group.
  if (!Number.isInteger(checked) || checked < lowestPid)
    throw new TypeError(`${checked} is not a process id`);
  return { pid: checked, startTime: string(startTime) };
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new TypeError('expected an object');
  // Any object can be read as a record of unknown values.
  return value as Readonly<Record<string, unknown>>;
}

function string(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`expected a string, not ${typeof value}`);
  return value;
}

function number(value: unknown): number {
  if (typeof value !== 'number') throw new TypeError(`expected a number, not ${typeof value}`);
  return value;
}
