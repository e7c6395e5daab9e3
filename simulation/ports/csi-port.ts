/** The line between one process of a kubelet and the CSI driver of its machine. */
import { type GrpcCodeName, GrpcError } from '../../src/grpc/index.js';
import type { OpenPluginSocket } from '../../src/plugins/index.js';
import type { CallCsi } from '../../src/volumes/index.js';
import type { SimulatedCsiDriver } from '../../test/sim/csi-driver.js';
import type { KubeletProcess } from './process.js';

export interface CsiPort {
  readonly call: CallCsi;
  readonly openPluginSocket: OpenPluginSocket;
}

/** `served` is told after each call that the driver has served. */
export function csiPort(driver: SimulatedCsiDriver, process: KubeletProcess, served: () => void): CsiPort {
  const unary = <T>(
    name: string,
    about: string,
    { timeoutMs, signal }: { readonly timeoutMs?: number; readonly signal?: AbortSignal },
    effect: () => Promise<T>,
  ): Promise<T> =>
    process.call({
      port: 'csi',
      name,
      about,
      isChange: !name.startsWith('NodeGet') && name !== 'info',
      isRepeatable: true,
      signal,
      effect,
      // A plan names codes of this port only.
      failure: (code) => new GrpcError(code as GrpcCodeName, `${name} fails by chance`),
      lostAnswer: () => new GrpcError('Unavailable', 'error reading from server: EOF'),
      ...(timeoutMs === undefined ? {} : { patienceMs: timeoutMs }),
      givenUp: () =>
        signal?.aborted
          ? new GrpcError('Canceled', 'context canceled')
          : new GrpcError('DeadlineExceeded', 'context deadline exceeded'),
    });
  const up = (socketPath: string): SimulatedCsiDriver => {
    if (socketPath === driver.socketPath && driver.isUp) return driver;
    throw new GrpcError('Unavailable', `${socketPath} refuses`);
  };
  return {
    call: (endpoint, method, request, options) => {
      const name = method.path.slice(method.path.lastIndexOf('/') + 1);
      const given = method.request.create(request);
      return unary(name, aboutOf(given), options, async () => {
        if (endpoint !== driver.endpoint) throw new GrpcError('Unavailable', `no socket ${endpoint}`);
        try {
          const answer = await driver.answer(method, given, {});
          // The driver answers with the fields of the method's response.
          return method.response.create(answer as never);
        } finally {
          served();
        }
      });
    },
    openPluginSocket: (socketPath) => ({
      info: (options) =>
        unary('info', socketPath, options, async () => {
          const { name, endpoint, versions } = up(socketPath);
          return { type: 'CSIPlugin', name, endpoint, supportedVersions: versions };
        }),
      notify: (status, options) =>
        unary('notify', String(status.pluginRegistered), options, async () => {
          up(socketPath);
        }),
      close: () => undefined,
    }),
  };
}

function aboutOf(request: object): string {
  const { volumeId = '', targetPath = '' } = request as {
    readonly volumeId?: string;
    readonly targetPath?: string;
  };
  return `${volumeId} ${targetPath}`;
}
