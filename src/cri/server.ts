/** Serves any `CriRuntime` on a unix socket, so that runtimes inside the process can be used from outside. */
import { once } from 'node:events';
import { lstat, mkdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import {
  type handleServerStreamingCall,
  type handleUnaryCall,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceDefinition,
  type StatusObject,
} from '@grpc/grpc-js';
import { Cancelled, systemClock } from '../async/index.js';
import { asCriError } from './checked.js';
import type { MethodInfo } from './codec.js';
import { CriError } from './errors.js';
import { ImageService, RuntimeService } from './gen/cri.js';
import type { CallOptions, CriRuntime } from './runtime.js';
import { MAX_MESSAGE_BYTES } from './transport.js';

export interface ServeCriOptions {
  readonly socketPath: string;
}

export interface CriServer {
  readonly endpoint: string;
  /** Aborts the calls in flight, drops every connection and removes the socket. */
  close(): Promise<void>;
}

type AnyCall = ServerUnaryCall<object, object> | ServerWritableStream<object, object>;
type UnaryMethod = (request: object, options: CallOptions) => Promise<object>;
type StreamMethod = (request: object, options: CallOptions) => AsyncIterable<object>;

/** Resolves when the socket accepts connections. A socket left behind at the path is replaced. */
export async function serveCri(runtime: CriRuntime, { socketPath }: ServeCriOptions): Promise<CriServer> {
  const server = new Server({
    'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
    'grpc.max_send_message_length': -1,
  });
  for (const service of [RuntimeService, ImageService]) {
    server.addService(definitionOf(service), handlersOf(service, runtime));
  }
  await mkdir(path.dirname(socketPath), { recursive: true });
  await removeStaleSocket(socketPath);
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${socketPath}`, ServerCredentials.createInsecure(), (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
  return {
    endpoint: `unix://${socketPath}`,
    close: () =>
      new Promise((resolve, reject) => {
        server.tryShutdown((error) => {
          if (error === undefined) resolve();
          else reject(error);
        });
        // Clients hold their connections open; only dropping these lets the shutdown above complete.
        server.forceShutdown();
      }),
  };
}

async function removeStaleSocket(socketPath: string): Promise<void> {
  const found = await lstat(socketPath).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isSocket()) throw new Error(`${socketPath} exists and is not a socket`);
  await unlink(socketPath);
}

function definitionOf(service: Readonly<Record<string, MethodInfo<object, object>>>): ServiceDefinition {
  return Object.fromEntries(
    Object.entries(service).map(([name, { path: methodPath, request, response, serverStreaming }]) => [
      name,
      {
        path: methodPath,
        requestStream: false,
        responseStream: serverStreaming,
        requestSerialize: (value: object) => request.encode(value),
        requestDeserialize: (bytes: Buffer) => request.decode(bytes),
        responseSerialize: (value: object) => response.encode(value),
        responseDeserialize: (bytes: Buffer) => response.decode(bytes),
      },
    ]),
  );
}

function handlersOf(
  service: Readonly<Record<string, MethodInfo<object, object>>>,
  runtime: CriRuntime,
): Record<string, handleUnaryCall<object, object> | handleServerStreamingCall<object, object>> {
  // The method tables name exactly the methods of CriRuntime, with the messages that they carry.
  const unary = runtime as unknown as Readonly<Record<string, UnaryMethod>>;
  const streams = runtime as unknown as Readonly<Record<string, StreamMethod>>;
  return Object.fromEntries(
    Object.entries(service).map(([name, { path: methodPath, serverStreaming }]) => {
      const missing = new CriError('Unimplemented', `unknown method ${methodPath}`);
      const handler: handleUnaryCall<object, object> = (call, callback) => {
        Promise.resolve(unary[name]?.(call.request, optionsOf(call)) ?? Promise.reject(missing)).then(
          (response) => callback(null, response),
          (error) => callback(statusOf(error)),
        );
      };
      const streamHandler: handleServerStreamingCall<object, object> = (call) => {
        const options = optionsOf(call);
        const messages = streams[name]?.(call.request, options);
        if (messages === undefined) call.emit('error', statusOf(missing));
        else {
          sendAll(messages, call, options.signal).then(
            () => call.end(),
            (error) => call.emit('error', statusOf(error)),
          );
        }
      };
      return [name, serverStreaming ? streamHandler : handler];
    }),
  );
}

/** A client that goes away or gives up aborts the signal. */
function optionsOf(call: AnyCall): CallOptions & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  call.on('cancelled', () => controller.abort(new Cancelled()));
  const remainingMs = Number(call.getDeadline()) - systemClock.now();
  return { signal: controller.signal, timeoutMs: Number.isFinite(remainingMs) ? remainingMs : undefined };
}

/** Takes the next message only when the connection has room for it. */
async function sendAll(
  messages: AsyncIterable<object>,
  call: ServerWritableStream<object, object>,
  signal: AbortSignal,
): Promise<void> {
  for await (const message of messages) {
    if (signal.aborted) return;
    if (!call.write(message)) await once(call, 'drain', { signal });
  }
}

function statusOf(error: unknown): Partial<StatusObject> {
  const { code, details } = asCriError(error);
  return { code, details };
}
