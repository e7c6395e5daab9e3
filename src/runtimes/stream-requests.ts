/** Exec, Attach and PortForward of in-process runtimes: checks the request and returns the URL. */
import {
  type AttachRequest,
  type AttachResponse,
  CriError,
  type ExecRequest,
  type ExecResponse,
  type PortForwardRequest,
  type PortForwardResponse,
} from '../cri/index.js';
import type { LoopbackStreaming, StreamRequest, WantedStreams } from '../streaming/index.js';

export interface StreamRequestsOptions {
  readonly streaming: LoopbackStreaming;
  /** Throws when no command can run in the container, or nobody can attach to it. */
  readonly checkContainer: (id: string) => void;
  /** Throws when no port of the sandbox can be reached. */
  readonly checkSandbox: (id: string) => void;
}

export class RuntimeStreamRequests {
  readonly #options: StreamRequestsOptions;

  constructor(options: StreamRequestsOptions) {
    this.#options = options;
  }

  async exec({ containerId, cmd, ...wanted }: ExecRequest): Promise<ExecResponse> {
    this.#check(containerId, wanted);
    return this.#answer({ kind: 'exec', containerId, command: cmd, ...streamsOf(wanted) });
  }

  async attach({ containerId, ...wanted }: AttachRequest): Promise<AttachResponse> {
    this.#check(containerId, wanted);
    return this.#answer({ kind: 'attach', containerId, ...streamsOf(wanted) });
  }

  async portForward({ podSandboxId, port }: PortForwardRequest): Promise<PortForwardResponse> {
    if (podSandboxId === '') throw new CriError('InvalidArgument', 'missing required pod_sandbox_id');
    this.#options.checkSandbox(podSandboxId);
    return this.#answer({ kind: 'portforward', podSandboxId, ports: port });
  }

  #check(containerId: string, wanted: WantedStreams): void {
    if (containerId === '') throw new CriError('InvalidArgument', 'missing required container_id');
    if (wanted.tty && wanted.stderr) {
      throw new CriError('InvalidArgument', 'tty and stderr cannot both be true');
    }
    if (!wanted.stdin && !wanted.stdout && !wanted.stderr) {
      throw new CriError('InvalidArgument', 'one of stdin, stdout, or stderr must be set');
    }
    this.#options.checkContainer(containerId);
  }

  async #answer(request: StreamRequest): Promise<{ url: string }> {
    const url = await this.#options.streaming.url(request);
    if (url !== undefined) return { url };
    throw new CriError('ResourceExhausted', 'maximum number of in-flight requests exceeded');
  }
}

function streamsOf({ stdin, stdout, stderr, tty }: WantedStreams): WantedStreams {
  return { stdin, stdout, stderr, tty };
}
