/** The line between one process of a kubelet and the device plugin of its machine. */
import { sleep } from '../../src/async/index.js';
import { type GrpcCodeName, GrpcError } from '../../src/grpc/index.js';
import type {
  DevicePluginClient,
  OpenDevicePlugin,
  PluginCallOptions,
  ServeDeviceRegistration,
} from '../../src/resources/device-manager/index.js';
import type { DevicePluginProcess } from '../world/device-plugin.js';
import type { Director } from './director.js';
import { type KubeletProcess, untilDeath } from './process.js';

export interface DevicePort {
  readonly open: OpenDevicePlugin;
  readonly serve: ServeDeviceRegistration;
}

export function devicePort(
  plugin: DevicePluginProcess,
  process: KubeletProcess,
  director: Director,
): DevicePort {
  const unary = <T>(
    name: string,
    about: string,
    { signal, timeoutMs }: PluginCallOptions,
    effect: () => Promise<T>,
  ): Promise<T> =>
    process.call({
      port: 'device',
      name,
      about,
      // What a plugin has given is nowhere but in the kubelet's own record.
      isChange: name === 'allocate',
      isRepeatable: true,
      signal,
      effect,
      // A plan names codes of this port only.
      failure: (code) => new GrpcError(code as GrpcCodeName, `${name} fails by chance`),
      lostAnswer: () => new GrpcError('Unavailable', 'error reading from server: EOF'),
      patienceMs: timeoutMs,
      givenUp: () => new GrpcError('DeadlineExceeded', 'context deadline exceeded'),
    });
  return {
    open: (socketPath): DevicePluginClient => {
      const target = plugin.sockets.open(socketPath);
      return {
        options: (call) => unary('options', '', call, () => target.options(call)),
        preferred: (request, call) =>
          unary('preferred', request.availableDeviceIDs.join(), call, () => target.preferred(request, call)),
        allocate: (ids, call) => unary('allocate', ids.join(), call, () => target.allocate(ids, call)),
        preStart: (ids, call) => unary('preStart', ids.join(), call, () => target.preStart(ids, call)),
        listAndWatch: (signal) => reports(target, signal, { plugin, process, director }),
        close: () => target.close(),
      };
    },
    serve: async (path, register) => {
      // Whoever closes the server ends the calls that it serves.
      const closing = new AbortController();
      const server = await plugin.serve(path, async (request) => {
        process.journal.event('arrival', 'register', process.clock.monotonic());
        await whileAlive(process, () => register(request, closing.signal));
      });
      process.ended.addEventListener('abort', () => void server.close(), { once: true });
      return {
        failure: () => server.failure(),
        close: () => {
          closing.abort();
          return server.close();
        },
      };
    },
  };
}

async function* reports(
  target: DevicePluginClient,
  given: AbortSignal,
  { plugin, process, director }: { plugin: DevicePluginProcess; process: KubeletProcess; director: Director },
): ReturnType<DevicePluginClient['listAndWatch']> {
  for await (const report of untilDeath(process, given, (signal) => target.listAndWatch(signal))) {
    process.journal.event('message', 'devices', 0);
    const { effect } = director.verdict('device', 'report', false);
    if (effect !== undefined) process.journal.event('fault', effect.do, 0);
    if (effect?.do === 'fail' || effect?.do === 'hang' || effect?.do === 'lose') {
      // A plugin that sees its stream end registers again.
      plugin.noticed();
      throw new GrpcError('Unavailable', 'error reading from server: EOF');
    }
    if (effect?.do === 'delay' || effect?.do === 'late') await sleep(process.clock, effect.ms, given);
    yield report;
    if (effect?.do === 'twice') yield report;
  }
}

/** The caller hears of the process's death; what the process was doing ends with it. */
async function whileAlive(process: KubeletProcess, act: () => Promise<void>): Promise<void> {
  const gone = new GrpcError('Unavailable', 'error reading from server: EOF');
  if (!process.alive) throw gone;
  await new Promise<void>((resolve, reject) => {
    const onEnd = (): void => reject(gone);
    process.ended.addEventListener('abort', onEnd, { once: true });
    act()
      .finally(() => process.ended.removeEventListener('abort', onEnd))
      .then(resolve, reject);
  });
}
