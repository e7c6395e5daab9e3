/** Sandboxes and containers of the process runtime, in memory and as files that outlive the agent. */
import {
  ContainerConfig,
  type LinuxContainerResources,
  LinuxContainerResources as LinuxContainerResourcesType,
  PodSandboxConfig,
} from '../../cri/index.js';
import {
  type ContainerExit,
  containerName,
  type StoredContainer,
  type StoredSandbox,
  sandboxName,
} from '../pod-store.js';
import type { ContainerFiles } from './container-files.js';
import type { LaunchSpec, ProcessIdentity } from './container-state.js';

export interface ProcessSandbox extends StoredSandbox {
  readonly bootId: string;
  readonly containers: Set<ProcessContainer>;
  /** Set while it is being stopped: nothing may start in it. */
  stopping: boolean;
}

export type ProcessContainerState =
  | { readonly kind: 'created' }
  | { readonly kind: 'starting'; readonly token: string }
  | {
      readonly kind: 'running';
      readonly startedAt: bigint;
      readonly supervisor: ProcessIdentity;
      readonly process: ProcessIdentity;
    }
  | ({ readonly kind: 'exited' } & ContainerExit);

export interface ProcessContainer extends StoredContainer<ProcessSandbox> {
  readonly files: ContainerFiles;
  readonly launch: LaunchSpec;
  readonly account: { readonly uid: number; readonly gid: number };
  /** Called at every change of its state. */
  readonly changeWaiters: Set<() => void>;
  resources: LinuxContainerResources | undefined;
  state: ProcessContainerState;
  removed: boolean;
}

export function formatSandbox(sandbox: ProcessSandbox): string {
  return `${JSON.stringify({
    pod: `${sandbox.config.metadata?.namespace}/${sandbox.config.metadata?.name}`,
    runtimeHandler: sandbox.runtimeHandler,
    createdAt: String(sandbox.createdAt),
    ready: sandbox.ready,
    ip: sandbox.ip,
    bootId: sandbox.bootId,
    config: base64(PodSandboxConfig.encode(sandbox.config)),
  })}\n`;
}

/** Throws when the text is not a sandbox. After another boot it is not ready and has no address. */
export function parseSandbox(id: string, text: string, bootId: string): ProcessSandbox {
  const fields = object(text);
  const config = PodSandboxConfig.decode(bytes(fields.config));
  if (config.metadata === undefined) throw new TypeError('the sandbox has no metadata');
  const ready = fields.ready === true && fields.bootId === bootId;
  return {
    id,
    name: sandboxName(config.metadata),
    config,
    runtimeHandler: string(fields.runtimeHandler),
    createdAt: BigInt(string(fields.createdAt)),
    bootId: string(fields.bootId),
    ready,
    ip: ready ? string(fields.ip) : '',
    containers: new Set(),
    stopping: false,
    view: undefined,
  };
}

export function formatContainer(container: ProcessContainer): string {
  return `${JSON.stringify({
    container: container.config.metadata?.name,
    sandboxId: container.sandbox.id,
    imageId: container.imageId,
    imageRef: container.imageRef,
    createdAt: String(container.createdAt),
    account: container.account,
    config: base64(ContainerConfig.encode(container.config)),
    ...(container.resources && {
      resources: base64(LinuxContainerResourcesType.encode(container.resources)),
    }),
  })}\n`;
}

/** A container as read from disk; its sandbox may be gone. */
export interface ReadContainer {
  readonly sandboxId: string;
  readonly with: (sandbox: ProcessSandbox) => ProcessContainer;
}

/** Throws when the texts are not a container. */
export function parseContainer(
  id: string,
  files: ContainerFiles,
  { record, launch }: { readonly record: string; readonly launch: string },
): ReadContainer {
  const fields = object(record);
  const config = ContainerConfig.decode(bytes(fields.config));
  const { metadata } = config;
  if (metadata === undefined) throw new TypeError('the container has no metadata');
  const account = fields.account;
  if (!isAccount(account)) throw new TypeError('the container has no account');
  const resources =
    fields.resources === undefined
      ? config.linux?.resources
      : LinuxContainerResourcesType.decode(bytes(fields.resources));
  const parts = {
    id,
    files,
    config,
    account,
    imageId: string(fields.imageId),
    imageRef: string(fields.imageRef),
    createdAt: BigInt(string(fields.createdAt)),
    // Written beside the record by `planLaunch`; only the supervisor reads it.
    launch: JSON.parse(launch) as LaunchSpec,
  };
  return {
    sandboxId: string(fields.sandboxId),
    with: (sandbox) => ({
      ...parts,
      name: containerName(metadata, sandbox.config.metadata),
      sandbox,
      changeWaiters: new Set(),
      resources,
      state: { kind: 'created' },
      removed: false,
      view: undefined,
    }),
  };
}

function isAccount(value: unknown): value is ProcessContainer['account'] {
  return (
    typeof value === 'object' &&
    value !== null &&
    'uid' in value &&
    'gid' in value &&
    typeof value.uid === 'number' &&
    typeof value.gid === 'number'
  );
}

function object(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text);
  if (typeof value !== 'object' || value === null) throw new TypeError('expected an object');
  // Any object can be read as a record of unknown values.
  return value as Readonly<Record<string, unknown>>;
}

function string(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError(`expected a string, not ${typeof value}`);
  return value;
}

function bytes(value: unknown): Buffer {
  return Buffer.from(string(value), 'base64');
}

function base64(encoded: Uint8Array): string {
  return Buffer.from(encoded).toString('base64');
}
