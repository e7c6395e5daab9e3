/** The kubelet API of hollow nodes: logs, exec, statistics and metrics, as every kubelet serves them on its port. */
import type { Clock } from '../../async/index.js';
import { baselineConfiguration, type FeatureGates, type KubeletConfiguration } from '../../config/index.js';
import { selfSignedPair } from '../../node/index.js';
import { readCaBundle, type ServingKeyPair, startKubeletApi } from '../../server/index.js';
import type { NodeApiServer } from './contracts.js';
import { hollowStats } from './usage.js';

export interface HollowKubeletApi {
  /** The address of this machine that nodes listen on, and that they report as theirs. */
  readonly address: string;
  /**
   * The authorities of client certificates, such as the one that the API server shows; PEM.
   * @default no certificate is asked for
   */
  readonly clientCa?: string;
  /**
   * Whether everybody who reaches a port may do everything; for clusters on one machine that is nobody else's.
   * @default tokens and rights are reviewed by the cluster
   */
  readonly isOpen?: boolean;
  /**
   * The certificate of all nodes.
   * @default one that is signed by itself
   */
  readonly certificate?: ServingKeyPair;
}

export interface KubeletApiInput {
  readonly clock: Clock;
  readonly gates: FeatureGates;
  readonly config: Partial<KubeletConfiguration>;
  readonly version: string;
}

export function hollowKubeletApi(
  { address, clientCa = '', isOpen = false, certificate }: HollowKubeletApi,
  { clock, gates, config: given, version }: KubeletApiInput,
): NodeApiServer {
  const pair = certificate ?? selfSignedPair(address, clock.now());
  const baseline = { ...baselineConfiguration(gates), ...given };
  const config: KubeletConfiguration = {
    ...baseline,
    authentication: {
      ...baseline.authentication,
      anonymous: { enabled: isOpen },
      webhook: { ...baseline.authentication.webhook, enabled: !isOpen },
      x509: { clientCAFile: '' },
    },
    authorization: { ...baseline.authorization, mode: isOpen ? 'AlwaysAllow' : 'Webhook' },
  };
  const authorities = clientCa === '' ? {} : { clientAuthorities: readCaBundle(clientCa) };
  return {
    address,
    serve: (kubelet, runtime, { machine, bootTimeMs, api }) => {
      const { nodeName, timeline } = kubelet;
      const stats = hollowStats({ runtime, clock, nodeName, machine, bootTimeMs, version });
      return (bind) =>
        startKubeletApi(
          { ...kubelet, stats, keptLog: (containerId) => runtime.memoryLog(containerId) },
          {
            config: { ...config, port: kubelet.config.port, maxPods: kubelet.config.maxPods },
            gates,
            timeline,
            clock,
            servingCertificate: () => pair,
            api,
            ...authorities,
            rootDir: '/nonexistent/nodelet-hollow',
            // A hollow node has no logs of its own; those of this machine are none of its clients' business.
            nodeLogsDir: '/nonexistent/nodelet-hollow/log',
            version,
            flushLog: async () => {},
            place: { text: `the port of ${nodeName}`, bind },
          },
        );
    },
  };
}
