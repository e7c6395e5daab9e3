/** What happens when a CSI driver registers and when it goes: the handler of plugins of the type CSIPlugin. */
import { errorText } from '../../async/index.js';
import { goQuote } from '../../kube/index.js';
import { type CsiClientOptions, csiStep } from './client.js';
import { isDriverName } from './names.js';
import { type DriverNodeInfo, judgeNodeInfo } from './node-info.js';
import { chooseVersion, compareVersions, parseVersion } from './versions.js';

/** A driver by its own account, as the plugin manager has checked it. */
export interface CsiClaim {
  readonly name: string;
  readonly endpoint: string;
  readonly versions: readonly string[];
}

/** Where the cluster learns which drivers the node has; a node without a cluster tells nobody. */
export interface DriverNotice {
  install(driver: string, info: DriverNodeInfo, signal: AbortSignal): Promise<void>;
  uninstall(driver: string, signal: AbortSignal): Promise<void>;
  /** Tells what a registered driver says now of the volumes that it can attach. */
  update?(driver: string, info: DriverNodeInfo, signal: AbortSignal): Promise<void>;
}

export interface CsiRegistrationOptions extends CsiClientOptions {
  readonly notice?: DriverNotice | undefined;
}

export class CsiRegistration {
  readonly #options: CsiRegistrationOptions;

  constructor(options: CsiRegistrationOptions) {
    this.#options = options;
  }

  refusal(claim: CsiClaim): string | undefined {
    const problem = this.#problem(claim);
    if (problem === undefined) return undefined;
    const text = `kubernetes.io/csi: ValidatePlugin for CSI driver ${goQuote(claim.name)} failed. ${problem}`;
    return `validation failed for CSI Driver ${claim.name} at endpoint ${claim.endpoint}: ${text}`;
  }

  async register(claim: CsiClaim, signal: AbortSignal): Promise<void> {
    const { drivers, notice } = this.#options;
    const { name, endpoint } = claim;
    // Again, as another socket may have claimed the name since; from here to `add` nothing waits.
    const problem = this.#problem(claim);
    const chosen = chooseVersion(claim.versions);
    if (problem !== undefined || chosen.kind === 'refused') {
      throw new Error(
        `kubernetes.io/csi: RegisterPlugin for CSI driver ${goQuote(name)} failed. ${problem ?? ''}`,
      );
    }
    drivers.add({
      name,
      endpoint,
      version: parseVersion(chosen.version) ?? [1],
      versionText: chosen.version,
      owner: claim,
    });
    try {
      const info = judgeNodeInfo(await csiStep(this.#options, name, signal).info());
      await notice?.install(name, info, signal);
    } catch (error) {
      const wasOurs = drivers.remove(name, claim);
      let problem = errorText(error);
      if (wasOurs && !signal.aborted) {
        await notice?.uninstall(name, signal).catch((left: unknown) => {
          problem += `; what the cluster was told of it could not be taken back: ${errorText(left)}`;
        });
      }
      throw new Error(`error adding CSI driver node info: ${problem}`, { cause: error });
    }
    drivers.ready(name);
  }

  /** Mounts and unmounts fail from now on until the driver is back; running pods are not touched. */
  async deregister(claim: CsiClaim, signal: AbortSignal): Promise<void> {
    const { drivers, notice } = this.#options;
    if (!drivers.remove(claim.name, claim)) return;
    await notice?.uninstall(claim.name, signal);
  }

  #problem({ name, versions }: CsiClaim): string | undefined {
    if (!isDriverName(name)) return `${goQuote(name)} is no name of a CSI driver`;
    const chosen = chooseVersion(versions);
    if (chosen.kind === 'refused') return chosen.problem;
    const known = this.#options.drivers.get(name);
    const isHigher =
      known === undefined || compareVersions(parseVersion(chosen.version) ?? [], known.version) > 0;
    return isHigher
      ? undefined
      : `Another driver with the same name is already registered with a higher supported version: ${goQuote(known.versionText)}`;
  }
}
