/** The configuration of the agent of a node that is its own cluster. */
import path from 'node:path';
import { readConfiguration } from '../../agent/index.js';
import type { LoadedConfiguration } from '../../config/index.js';
import { yamlText } from '../../kube-api/files/yaml-writer.js';
import { ServiceAddresses } from '../../services/addresses/service-addresses.js';
import { UsageError } from '../client/usage-error.js';
import type { RuntimeEndpoint } from './open-endpoint.js';
import type { UpOptions } from './options.js';
import { writeOwnFile } from './own-file.js';
import { rootStateDir } from './state-dir.js';

export const clusterDomain = 'cluster.local';

/** What the agent of such a node needs; whoever gives one of these after "--" wins. */
export async function agentConfiguration(
  { stateDir, serviceCidr, agentFlags }: Pick<UpOptions, 'stateDir' | 'serviceCidr' | 'agentFlags'>,
  { endpoint, usesCgroups }: Pick<RuntimeEndpoint, 'endpoint' | 'usesCgroups'>,
  more: Readonly<Record<string, unknown>> = {},
): Promise<LoadedConfiguration> {
  const file = path.join(stateDir, 'agent.yaml');
  await writeOwnFile(
    file,
    yamlText({
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      address: '127.0.0.1',
      readOnlyPort: 0,
      // A node removes the logs of pods that it does not know: another one must not share the usual place.
      ...(stateDir === rootStateDir ? {} : { podLogsDir: path.join(stateDir, 'logs') }),
      containerRuntimeEndpoint: endpoint,
      // A machine that somebody has at hand is taken as it is.
      failCgroupV1: false,
      failSwapOn: false,
      ...(usesCgroups ? {} : { cgroupsPerQOS: false, enforceNodeAllocatable: [] }),
      authentication: {
        anonymous: { enabled: false },
        webhook: { enabled: true },
        x509: { clientCAFile: path.join(stateDir, 'pki', 'ca.crt') },
      },
      authorization: { mode: 'Webhook' },
      clusterDNS: [new ServiceAddresses(serviceCidr).dnsAddress],
      clusterDomain,
      ...more,
    }),
  );
  const loaded = await readConfiguration({
    argv: [
      `--config=${file}`,
      // Makes it a node of a cluster; the API itself is in this process.
      `--kubeconfig=${path.join(stateDir, 'kubeconfig')}`,
      `--root-dir=${path.join(stateDir, 'kubelet')}`,
      `--cert-dir=${path.join(stateDir, 'kubelet', 'pki')}`,
      ...agentFlags,
    ],
  });
  if (loaded.kind !== 'run') throw new UsageError('--help and --version are no flags to run a node with');
  return loaded;
}
