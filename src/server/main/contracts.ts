/** What the main port needs from the kubelet and from its caller. */
import type { FeatureGates, KubeletConfiguration } from '../../config/index.js';
import type { CriRuntime } from '../../cri/index.js';
import type { KubeApi } from '../../kube-client/index.js';
import type { Kubelet, WhatIf } from '../../kubelet/index.js';
import type { Registry } from '../../metrics/index.js';
import type { Tracer } from '../../tracing/index.js';
import type { ApiKubelet } from '../api/index.js';
import type { ServerKubelet } from '../contracts.js';
import type { ListenOptions, ListenTarget } from '../listen.js';
import type { CaBundle } from '../tls/ca-bundle.js';
import type { ServingKeyPair } from '../tls/secure-serving.js';

/** A `Kubelet` with statistics and a runtime that can make checkpoints. */
export interface MainKubelet
  extends ServerKubelet,
    ApiKubelet,
    Pick<Kubelet, 'describeNode' | 'allocatedPods' | 'onStatus' | 'onPods'> {
  readonly nodeName: string;
  readonly whatIf: WhatIf;
  /** Receives the metrics of the requests to this port. */
  readonly registry: Registry;
  readonly runtime: ApiKubelet['runtime'] & Partial<Pick<CriRuntime, 'checkpointContainer'>>;
}

export interface KubeletApiOptions extends Pick<ListenOptions, 'timeline' | 'clock' | 'limits'> {
  /**
   * Effective and validated; uses address, port, TLS, authentication, authorization and the handler switches.
   */
  readonly config: KubeletConfiguration;
  /** What `/configz` shows instead of `config`: as given, before facts of the machine were added. */
  readonly publishedConfig?: KubeletConfiguration;
  readonly gates: FeatureGates;
  /**
   * Called for each connection: the current serving certificate, the same object while it does not change.
   * Undefined refuses the handshake; the port stays open.
   */
  readonly servingCertificate: () => ServingKeyPair | undefined;
  /** Whom client certificates are verified with, instead of the file that `config` names. */
  readonly clientAuthorities?: CaBundle;
  /** For token and access reviews; required for webhook authentication and authorization. */
  readonly api?: Pick<KubeApi, 'create'> | undefined;
  /** Where to listen instead of at `config.address`:`config.port`. */
  readonly place?: ListenTarget;
  /** Checkpoints are kept below this directory. */
  readonly rootDir: string;
  readonly version: string;
  /** Flags by name with their values, for `/flagz`; no value may be secret. */
  readonly flags?: Readonly<Record<string, string>>;
  /** Changes the log verbosity; absent: `/debug/flags/v` responds that it is disabled. */
  readonly setVerbosity?: (verbosity: number) => void;
  /** The directory of `/logs/`. Default: `/var/log`. */
  readonly nodeLogsDir?: string;
  /** @default requests are no spans */
  readonly tracer?: Tracer | undefined;
  /** Resolves when the log has taken everything so far; called regularly for the `log` health check. */
  readonly flushLog?: () => Promise<void>;
}
