/** What the two ends of exec, attach and port-forward agree on with those who use this room. */
import type { Duplex, Readable, Writable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';

/** Where a streaming request goes: a server on a unix socket, or an http or https URL. */
export type StreamTarget =
  | {
      readonly socketPath: string;
      /** With its query. */
      readonly path: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | {
      readonly url: string;
      readonly tls?: ConnectionOptions;
      readonly headers?: Readonly<Record<string, string>>;
    };

/** In characters. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** Which streams a command has. `stderr` is never there together with `tty`. */
export interface WantedStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export interface ExecStreamRequest extends WantedStreams {
  readonly kind: 'exec';
  readonly containerId: string;
  readonly command: readonly string[];
}

export interface AttachStreamRequest extends WantedStreams {
  readonly kind: 'attach';
  readonly containerId: string;
}

export interface PortForwardStreamRequest {
  readonly kind: 'portforward';
  readonly podSandboxId: string;
  /** The ports of a WebSocket client; SPDY clients name a port with every stream. */
  readonly ports: readonly number[];
}

export type StreamRequest = ExecStreamRequest | AttachStreamRequest | PortForwardStreamRequest;

/** The server's side of a command's streams; those that were not wanted are absent. */
export interface CommandStreams {
  /** Ends when the client closes its side. */
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  /** The sizes of the client's terminal, the newest only when nobody took them in time; ends with the session. */
  readonly resize: AsyncIterable<TerminalSize>;
}

/** What a streaming server plays its streams on. The signals are aborted when the client is gone. */
export interface StreamingBackend {
  /** Resolves with the exit code; rejects when there is none. Output must have been written by then. */
  exec(request: ExecStreamRequest, streams: CommandStreams, signal: AbortSignal): Promise<number>;
  /** Resolves when the container has ended. */
  attach(request: AttachStreamRequest, streams: CommandStreams, signal: AbortSignal): Promise<void>;
  /** Resolves when both directions are over; rejects with what the client is to read. */
  portForward(podSandboxId: string, port: number, stream: Duplex, signal: AbortSignal): Promise<void>;
}

export interface RemoteCommandOptions {
  readonly target: StreamTarget;
  /** Its end is told to the command as the end of its input. */
  readonly stdin?: Readable | undefined;
  readonly stdout?: Writable | undefined;
  /** Not with `tty`, where the terminal has one output. */
  readonly stderr?: Writable | undefined;
  readonly tty: boolean;
  readonly resize?: AsyncIterable<TerminalSize> | undefined;
  /** Aborting ends the session; the promise rejects with `Cancelled`. */
  readonly signal?: AbortSignal | undefined;
}

/** How a command ended. An attach that ended has exit code 0. */
export interface RemoteCommandResult {
  readonly exitCode: number;
  /** The server's words about an exit code that is not 0. */
  readonly message?: string;
}

export interface OpenPortForwardOptions {
  readonly target: StreamTarget;
  readonly signal?: AbortSignal | undefined;
}

export interface PortForward {
  /** One connection to the port in the pod; ended with the server's error text if that has one to tell. */
  open(port: number): Promise<Duplex>;
  /** Resolves when the connection to the server is gone, whoever ended it; rejects never. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** The server's answer to a request that is not what the caller hoped for. */
export class UpgradeRefused extends Error {
  override readonly name = 'UpgradeRefused';
  readonly statusCode: number;
  /** The server's words. */
  readonly body: string;

  constructor(statusCode: number, body: string) {
    super(`unable to upgrade connection: ${body.trim() || `the server answered ${statusCode}`}`);
    this.statusCode = statusCode;
    this.body = body;
  }
}
