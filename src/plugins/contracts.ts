/** What plugins are to the rest of the node: who they say they are, who uses them, and how they are reached. */

/** A plugin by its own account, within bounds. */
export interface PluginClaim {
  /** `CSIPlugin`, `DevicePlugin`, `DRAPlugin` */
  readonly type: string;
  readonly name: string;
  /** The socket of its service. */
  readonly endpoint: string;
  readonly versions: readonly string[];
}

/** What uses the plugins of one type. */
export interface PluginHandler {
  /** Why this plugin is not taken; undefined if it is. Decides without waiting. */
  refusal(plugin: PluginClaim): string | undefined;
  /** Rejects if the plugin cannot be used; then nothing of it is left. Two sockets may claim one name at the same time. */
  register(plugin: PluginClaim, signal: AbortSignal): Promise<void>;
  /** The plugin has gone. Leaves alone what another plugin of the name has registered since. */
  deregister(plugin: PluginClaim, signal: AbortSignal): Promise<void>;
}

/** What a plugin says when asked; nothing of it is checked. */
export interface PluginAnswer {
  readonly type: string;
  readonly name: string;
  readonly endpoint: string;
  readonly supportedVersions: readonly string[];
}

/** A connection to a plugin's registration socket. */
export interface PluginConnection {
  info(options: { readonly timeoutMs: number; readonly signal: AbortSignal }): Promise<PluginAnswer>;
  notify(
    status: { readonly pluginRegistered: boolean; readonly error: string },
    options: { readonly timeoutMs: number; readonly signal: AbortSignal },
  ): Promise<void>;
  /** Idempotent. */
  close(): void;
}

/** The way to registration sockets: gRPC on the machine, or a simulation. */
export type OpenPluginSocket = (socketPath: string) => PluginConnection;
