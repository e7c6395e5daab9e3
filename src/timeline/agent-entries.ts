/** The entries about the agent itself: its start and end, its loop, its files and its servers. */
import type { NoData } from './entry-data.js';

export interface AgentEntries {
  /** The agent was asked to stop. */
  'agent.stop': { reason: string };
  /** The agent waits for its lock file, or holds it. */
  'agent.lock': NoData;
  /** The agent waits for the container runtime. */
  'agent.runtime': NoData;
  /** The agent does not run as root. */
  'agent.user': NoData;
  /** The agent runs in a user namespace. */
  'agent.userns': NoData;
  /** No source of pods is configured. */
  'agent.sources': NoData;
  /** The agent's own OOM score could not be set. */
  'agent.oom': NoData;
  /** The agent's own limit of open files could not be set. */
  'agent.openFiles': NoData;
  /** Where what comes in is recorded, and why a recording has ended. */
  'agent.record': NoData;
  /** The collector does not take traces, or does again: then with the spans that were lost. */
  'tracing.export': { lostSpans: number } | NoData;
  /** A defect in the agent. */
  'agent.task': NoData;
  /** A defect in the kubelet. */
  'kubelet.task': NoData;
  /** The whole configuration in force, as YAML without its secrets. */
  'config.effective': { configuration: string };
  /** A warning about the configuration. */
  'config.warning': NoData;
  /** Settings have no effect. */
  'config.inert': NoData;
  /** A setting opens the node further than needed. */
  'config.insecure': NoData;
  /** systemd was not told that the agent is well. */
  watchdog: NoData;
  /** The log cannot be written, or can be again: then with the lines that were lost. */
  'log.write': { lostLines: number } | NoData;
  /** The timeline cannot be kept on disk, or can be again: then with the entries that were lost. */
  'timeline.disk': { lostEntries: number } | NoData;

  /** A controller could not bring an object to its wanted state, and tries again. */
  'controller.sync': { controller: string; key: string; retryAfterMs: number };
  /** The controllers cannot follow the objects of a kind. */
  'controller.watch': { resource: string };
  /** An event of a controller could not be written. */
  'controller.event': NoData;
  /** A defect in a controller. */
  'controller.task': NoData;

  /** Whether pods are synced; while not, `because` says why. */
  'loop.gate': { open: boolean };
  /** A defect in the sync loop. */
  loop: NoData;
  /** Housekeeping took longer than expected. */
  'housekeeping.slow': NoData;
  /** Pods that are no longer configured are not stopped before all sources have delivered. */
  'housekeeping.wait': NoData;
  /** The directories of pods could not be cleaned up. */
  'directories.clean': NoData;
  /** A checkpoint cannot be written, or can be again. */
  'checkpoint.write': { failures: number; code?: string };

  /** The main port listens, or has a problem. */
  'server.main': NoData;
  /** The port of the node's own API listens, or has a problem. */
  'server.api': NoData;
  /** The read-only port listens, or has a problem. */
  'server.readonly': NoData;
  /** The health port listens, or has a problem. */
  'server.healthz': NoData;
  /** The local socket listens, or has a problem. */
  'server.local': NoData;
  /** The server of the page listens, or has a problem. */
  'server.page': NoData;
  /** A request was refused; `count` stands for further ones of the address. */
  'server.refuse': { remoteAddress: string; status?: number; user?: string; count?: number };
  /** The TLS files of the main port were read again, or cannot be used. */
  'server.tls': NoData;
  /** The statistics cannot be answered. */
  'server.stats': NoData;
}
