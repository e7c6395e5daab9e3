/** The line between one kubelet and the CSI drivers of its machine: it counts the calls, and it can be cut as a crash would. */
import { GrpcError } from '../../src/grpc/index.js';
import type { OpenPluginSocket } from '../../src/plugins/index.js';
import type { CallCsi } from '../../src/volumes/index.js';
import type { SimulatedCsiDriver } from './csi-driver.js';
import type { Cut } from './runtime-line.js';

export interface CsiLineOptions {
  readonly drivers: readonly SimulatedCsiDriver[];
  readonly cutAt?: Cut | undefined;
  /** Called when the line is cut. */
  readonly onCut?: () => void;
}

export class CsiLine {
  /** The path of each call. */
  readonly calls: string[] = [];
  readonly #options: CsiLineOptions;
  readonly #down = new AbortController();

  constructor(options: CsiLineOptions) {
    this.#options = options;
  }

  get isCut(): boolean {
    return this.#down.signal.aborted;
  }

  /** From now on nothing gets through in either direction; a call that is under way goes on at the driver. */
  cut(): void {
    if (this.isCut) return;
    this.#down.abort();
    this.#options.onCut?.();
  }

  readonly call: CallCsi = async (endpoint, method, request, { timeoutMs, signal }) => {
    const isLast = this.#enter(method.path);
    const driver = this.#options.drivers.find((one) => one.endpoint === endpoint);
    if (driver === undefined) throw new GrpcError('Unavailable', `no socket ${endpoint}`);
    const given = method.request.create(request);
    const signals = [this.#down.signal, ...(signal === undefined ? [] : [signal])];
    const work = driver.answer(method, given, { timeoutMs, signal: AbortSignal.any(signals) });
    const answer = await work.catch((error: unknown) => {
      throw this.isCut ? gone() : error;
    });
    if (isLast) this.cut();
    if (this.isCut) throw gone();
    // The driver answers with the fields of the method's response.
    return method.response.create(answer as never);
  };

  readonly openPluginSocket: OpenPluginSocket = (socketPath) => {
    const driver = (): SimulatedCsiDriver => {
      if (this.isCut) throw gone();
      const found = this.#options.drivers.find((one) => one.socketPath === socketPath);
      if (found?.isUp !== true) throw new GrpcError('Unavailable', `${socketPath} refuses`);
      return found;
    };
    return {
      info: async () => {
        const { name, endpoint, versions } = driver();
        return { type: 'CSIPlugin', name, endpoint, supportedVersions: versions };
      },
      notify: async (status) => void driver().told.push(status),
      close: () => {},
    };
  };

  #enter(path: string): boolean {
    if (this.isCut) throw gone();
    this.calls.push(path);
    const { cutAt } = this.#options;
    const isLast = this.calls.length === cutAt?.call;
    if (!isLast || cutAt?.withEffect === true) return isLast;
    this.cut();
    throw gone();
  }
}

function gone(): GrpcError {
  return new GrpcError('Unavailable', 'the kubelet is gone');
}
