/** What the main port needs of the kubelet and of whoever starts it. */
import type { FeatureGates, KubeletConfiguration } from '../../config/index.js';
import type { CriRuntime } from '../../cri/index.js';
import type { KubeApi } from '../../kube-client/index.js';
import type { Registry } from '../../metrics/index.js';
import type { ApiKubelet } from '../api/index.js';
import type { ServerKubelet } from '../contracts.js';
import type { ListenOptions } from '../listen.js';
import type { ServingCertificate } from '../tls/secure-serving.js';

/** A `Kubelet` with statistics and a runtime that may be asked for checkpoints, too. */
export interface MainKubelet extends ServerKubelet, ApiKubelet {
  readonly nodeName: string;
  /** Gets the metrics of the requests to this port. */
  readonly registry: Registry;
  readonly runtime: ApiKubelet['runtime'] & Partial<Pick<CriRuntime, 'checkpointContainer'>>;
}

export interface KubeletApiOptions extends Pick<ListenOptions, 'timeline' | 'clock' | 'limits'> {
  /** Effective and validated; address, port, TLS, authentication, authorization and the switches of handlers are used. */
  readonly config: KubeletConfiguration;
  /** What `/configz` shows instead of `config`: as it was given, before anything of the machine was worked in. */
  readonly publishedConfig?: KubeletConfiguration;
  readonly gates: FeatureGates;
  /**
   * Asked with each connection: the certificate to show now, the same object while it is the same one. Undefined
   * refuses the handshake; the port stays open.
   */
  readonly servingCertificate: () => ServingCertificate | undefined;
  /** For reviews of tokens and of access; needed for webhook authentication and authorization. */
  readonly api?: Pick<KubeApi, 'create'> | undefined;
  /** Below which checkpoints are kept. */
  readonly rootDir: string;
  readonly version: string;
  /** Command-line flags by name, for `/flagz`; no value may be secret. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Changes how much is logged from now on; without it `/debug/flags/v` answers that it is disabled. */
  readonly setVerbosity?: (verbosity: number) => void;
  /** Where `/logs/` reads. Default: `/var/log`. */
  readonly nodeLogsDir?: string;
  /** Resolves when the log took everything so far; tried regularly for the `log` health check. */
  readonly flushLog?: () => Promise<void>;
}
