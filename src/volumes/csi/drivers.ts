/** The CSI drivers that are registered on this node. */
import type { CsiVersion } from './versions.js';

export interface RegisteredDriver {
  readonly name: string;
  readonly endpoint: string;
  readonly version: CsiVersion;
  readonly versionText: string;
  /** What registered it; nothing else may take it away. */
  readonly owner: object;
}

export class CsiDrivers {
  readonly #drivers = new Map<string, RegisteredDriver>();
  readonly #listeners = new Set<(name: string) => void>();
  readonly #goneListeners = new Set<(name: string) => void>();

  get(name: string): RegisteredDriver | undefined {
    return this.#drivers.get(name);
  }

  names(): readonly string[] {
    return [...this.#drivers.keys()];
  }

  add(driver: RegisteredDriver): void {
    this.#drivers.set(driver.name, driver);
  }

  /** Returns whether the driver was the owner's. */
  remove(name: string, owner: object): boolean {
    if (this.#drivers.get(name)?.owner !== owner) return false;
    this.#drivers.delete(name);
    for (const listener of this.#goneListeners) listener(name);
    return true;
  }

  /** Calls back when a driver can be used from now on; returns how to end that. */
  onReady(listener: (name: string) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The same when a driver has gone. */
  onGone(listener: (name: string) => void): () => void {
    this.#goneListeners.add(listener);
    return () => void this.#goneListeners.delete(listener);
  }

  ready(name: string): void {
    for (const listener of this.#listeners) listener(name);
  }
}
