/** The types that the users of the streaming client and server share. */
import type { Duplex, Readable, Writable } from 'node:stream';
import type { ConnectionOptions } from 'node:tls';

/** Where a streaming request goes: a server on a unix socket, or an http or https URL. */
export type StreamTarget =
  | {
      readonly socketPath: string;
      /** Includes the query. */
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

/** Which streams a command has. `stderr` and `tty` exclude each other. */
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
  /** The ports of a WebSocket client. A SPDY client names the port in the headers of each stream. */
  readonly ports: readonly number[];
}

export type StreamRequest = ExecStreamRequest | AttachStreamRequest | PortForwardStreamRequest;

/** The server side of a command's streams. Streams that were not requested are absent. */
export interface CommandStreams {
  /** Ends when the client closes its side. */
  readonly stdin?: Readable;
  readonly stdout?: Writable;
  readonly stderr?: Writable;
  /** The sizes of the client's terminal; skips sizes that were not read in time. Ends with the session. */
  readonly resize: AsyncIterable<TerminalSize>;
}

/** Runs the requests of a streaming server. The signal aborts when the client has disconnected. */
export interface StreamingBackend {
  /** Resolves with the exit code after all output was written. Rejects when there is no exit code. */
  exec(request: ExecStreamRequest, streams: CommandStreams, signal: AbortSignal): Promise<number>;
  /** Resolves when the container has ended. */
  attach(request: AttachStreamRequest, streams: CommandStreams, signal: AbortSignal): Promise<void>;
  /** Resolves when both directions have ended. Rejects with the error for the client. */
  portForward(podSandboxId: string, port: number, stream: Duplex, signal: AbortSignal): Promise<void>;
}

export interface RemoteCommandOptions {
  readonly target: StreamTarget;
  /** Its end closes the command's standard input. */
  readonly stdin?: Readable | undefined;
  readonly stdout?: Writable | undefined;
  /** Unused with `tty`: a terminal has one output. */
  readonly stderr?: Writable | undefined;
  readonly tty: boolean;
  readonly resize?: AsyncIterable<TerminalSize> | undefined;
  /** Aborting ends the session; the promise rejects with `Cancelled`. */
  readonly signal?: AbortSignal | undefined;
}

/** How a command ended. An attach has exit code 0. */
export interface RemoteCommandResult {
  readonly exitCode: number;
  /** The server's message for an exit code other than 0. */
  readonly message?: string;
}

export interface OpenPortForwardOptions {
  readonly target: StreamTarget;
  readonly signal?: AbortSignal | undefined;
}

export interface PortForward {
  /** Opens one connection to the port of the pod. It fails with the server's error text, if there is one. */
  open(port: number): Promise<Duplex>;
  /** Resolves when the connection to the server has ended. Never rejects. */
  readonly closed: Promise<void>;
  close(): Promise<void>;
}

/** The server refused the upgrade. */
export class UpgradeRefused extends Error {
  override readonly name = 'UpgradeRefused';
  readonly statusCode: number;
  /** The body of the response. */
  readonly body: string;

  constructor(statusCode: number, body: string) {
    super(`unable to upgrade connection: ${body.trim() || `the server answered ${statusCode}`}`);
    this.statusCode = statusCode;
    this.body = body;
  }
}
