/** The network of probes on a hollow node: the simulated container answers by its script, and nothing is sent. */
import { Cancelled, sleep } from '../../async/index.js';
import { HttpGetError } from '../../http-get/index.js';
import { runtimeContainerId } from '../../kube/index.js';
import type { ProbeNetwork } from '../../probes/index.js';
import type { SimProbeAnswer, SimProbeRequest } from '../../runtimes/sim/index.js';

/** Who knows what containers answer; `SimRuntime` does. */
export interface ProbedRuntime {
  probe(containerId: string, request: SimProbeRequest): SimProbeAnswer | undefined;
}

type ProbeLimits = Parameters<ProbeNetwork['http']>[1];

export function hollowProbeNetwork(runtime: ProbedRuntime): ProbeNetwork {
  const nowhere: ProbeNetwork = containerNetwork(() => ({ kind: 'refused' }));
  return {
    ...nowhere,
    forContainer: (containerId) => {
      const id = runtimeContainerId(containerId);
      return containerNetwork((request) => runtime.probe(id, request) ?? { kind: 'refused' });
    },
  };
}

function containerNetwork(
  answerTo: (request: SimProbeRequest) => SimProbeAnswer,
): Pick<ProbeNetwork, 'http' | 'tcp' | 'grpc'> {
  return {
    async http({ url }, limits) {
      const port = url.port ?? (url.scheme === 'https' ? 443 : 80);
      const [path = '/'] = url.target.split('?');
      const answer = answerTo({ port, path });
      switch (answer.kind) {
        case 'status':
          return { status: answer.status, body: '' };
        case 'refused':
          throw new HttpGetError(`dial tcp ${url.hostname}:${port}: connect: connection refused`);
        case 'silent':
          await silence(limits);
          throw new HttpGetError(
            `Get "${url.scheme}://${url.hostname}:${port}${url.target}": context deadline exceeded (Client.Timeout exceeded while awaiting headers)`,
          );
      }
    },
    async tcp({ host, port }, limits) {
      const answer = answerTo({ port, path: undefined });
      if (answer.kind === 'silent') {
        await silence(limits);
        throw new Error(`dial tcp ${host}:${port}: i/o timeout`);
      }
      // A port that answers with an error of HTTP is open; a script that says `fail` means the probe.
      if (answer.kind === 'refused' || isBad(answer.status))
        throw new Error(`dial tcp ${host}:${port}: connect: connection refused`);
    },
    async grpc({ port }, limits) {
      const answer = answerTo({ port, path: undefined });
      switch (answer.kind) {
        case 'status':
          return { kind: 'status', status: isBad(answer.status) ? 'NOT_SERVING' : 'SERVING' };
        case 'refused':
          return { kind: 'dial-error', message: 'connection refused' };
        case 'silent':
          await silence(limits);
          return { kind: 'no-connection' };
      }
    },
  };
}

/** As probes of HTTP judge. */
function isBad(status: number): boolean {
  return status < 200 || status >= 400;
}

/** Until the caller has waited for as long as it does. */
async function silence({ clock, timeoutMs, signal }: ProbeLimits): Promise<void> {
  if (signal.aborted) throw new Cancelled();
  await sleep(clock, timeoutMs, signal);
}
