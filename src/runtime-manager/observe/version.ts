/** Asks a runtime for its version and rejects one with another CRI version. */
import type { CriRuntime } from '../../cri/index.js';

export const supportedVersion = '0.1.0';

export interface RuntimeVersion {
  /** The prefix of container ids in the API: `containerd` in `containerd://<id>`. */
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly runtimeApiVersion: string;
}

export async function readVersion(cri: CriRuntime): Promise<RuntimeVersion> {
  const { version, runtimeName, runtimeVersion, runtimeApiVersion } = await cri.version({
    version: supportedVersion,
  });
  if (version !== supportedVersion) throw new Error('runtime api version is not supported');
  return { runtimeName, runtimeVersion, runtimeApiVersion };
}
